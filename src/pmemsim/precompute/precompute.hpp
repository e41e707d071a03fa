// Layer 4, precompute: who starts backend operations early?
//
// Calls come in each core's program order when the instruction retires.
//   Janus     hint() decodes software's pre-execution requests into lines and prepares them.
//   PMWeaver  stored() sees every store of the program, volatile ones too, with PC (the site) and
//             value, and predicts; written_back() is what it learns from.
// Both hand what they know to Backend::prepare(). Whether a result was right is found out where the
// write arrives, in the backend.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "pmemsim/core/statistics.hpp"
#include "pmemsim/layers/interest.hpp"
#include "pmemsim/layers/layer_context.hpp"
#include "pmemsim/trace/format.hpp"

namespace pmemsim {

// A pre-execution request of the program (Janus, table 2).
struct Hint {
  trace::HintKind kind;
  std::uint32_t object;             // the thread's number for it
  std::uint64_t address;            // of the PM that will be written; 0: not known yet
  std::uint32_t bytes;              // that will be written
  std::span<const std::byte> data;  // as many, or none: not known yet
};

class Precompute {
 public:
  virtual ~Precompute() = default;
  // Once, before the run.
  virtual void connect(const LayerContext&) {}
  virtual std::uint32_t interests() const { return 0; }
  virtual void hint(CoreId, const Hint&, Picoseconds) {}
  virtual void stored(CoreId, std::uint32_t /*site*/, std::uint64_t /*address*/,
                      const std::byte* /*value*/, std::uint32_t /*size*/, Picoseconds) {}
  // A line of PM has left the caches, by a flush or an eviction: the backend tells.
  virtual void written_back(Line, const LineData&, Picoseconds) {}
  virtual void statistics(StatisticsCollector&) const {}
};

class NoPrecompute final : public Precompute {};

}  // namespace pmemsim
