// Layer 3, backend: what must the controller do to a write before it counts?
//
// Every write to PM, whoever sends it, and every read from PM passes here on its way to the
// controller's queues. A backend operation (encryption, integrity, deduplication, ...) is a graph
// of sub-operations with the address, the data or both as external inputs; a write enters the
// write pending queue when the graph is done. Precompute (layer 4) starts nodes early: it hands in
// an address, data or both by prepare() before the write arrives; the backend runs the nodes whose
// inputs are known and keeps their results until a write claims them or a change of what they were
// computed from invalidates them. Janus's intermediate results and PMWeaver's prediction results
// are both that: buffers of the backend, of different sizes and replacement.
#pragma once

#include "pmemsim/mem/memory.hpp"

namespace pmemsim {

// A write that may come: what is known of it.
struct Preparation {
  CoreId core = 0;
  std::uint64_t object = 0;  // Janus: PRE_ID and TransactionID; PMWeaver: number of the prediction
  bool has_address = false, has_data = false;
  Line line;
  LineData data{};
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual void write(const Write& write) = 0;
  virtual void read(Line line, Completion done) = 0;
  virtual void prepare(const Preparation&) {}
  virtual void statistics(StatisticsCollector&) const {}
};

// No operations: straight into the controller's queues.
class NoBackend final : public Backend {
 public:
  explicit NoBackend(Memory& pm) : pm_(pm) {}
  void write(const Write& write) override { pm_.write(write); }
  void read(Line line, Completion done) override { pm_.read(line, done); }

 private:
  Memory& pm_;
};

}  // namespace pmemsim
