// Layer 4, precompute: who starts backend operations early?
//
// Calls of hint() and stored() come in each core's program order when the instruction retires.
//   Janus     hint() decodes software's pre-execution requests into lines.
//   PMWeaver  stored() sees every store of the program, volatile ones too, with PC (the site) and
//             value, and predicts; written_back() is what it learns from.
// What they expect goes to Backend::prepare() (LayerContext::pm) and Backend::complete(); outcome()
// says what became of it, once for each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "pmemsim/backend/prediction.hpp"
#include "pmemsim/backend/result_buffer.hpp"
#include "pmemsim/core/mix.hpp"
#include "pmemsim/core/statistics.hpp"
#include "pmemsim/layers/hint_observer.hpp"
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
  std::uint32_t number = 0;         // of the thread's hints, in program order
};

// A store of the program, to DRAM or to PM, as it retires. Locked instructions that write are
// stores, too. What stores more than 8 bytes comes in pieces, each with a site of its own, as the
// stores of compiled code have it; so does what lies in two lines.
struct RetiredStore {
  static constexpr std::uint32_t kMostBytes = 8;
  CoreId core;
  std::uint64_t site;  // stands for the program counter (piece_site())
  std::uint64_t address;
  std::span<const std::byte> value;
};

// Stands for the program counter of a piece of a store: a number of its own for each site and
// piece, whose lower bits may index a table.
constexpr std::uint64_t piece_site(std::uint32_t site, std::uint32_t piece) {
  return mix(std::uint64_t{piece} << 32 | site);
}

// How a line of PM has left the caches.
enum class WriteBack : std::uint8_t {
  kFlush,
  kEviction,
  kSent,  // past them, by the design (CachePort::mark_clean)
};

class Precompute : public PredictionObserver {
 public:
  virtual ~Precompute() = default;
  // Once, before the run.
  virtual void connect(const LayerContext&) {}
  // What of its predictions may be prepared at a time.
  virtual ResultBufferSize result_buffer() const { return {}; }
  virtual std::uint32_t interests() const { return 0; }
  // Instructions that a hint costs the program.
  virtual std::uint32_t hint_instructions() const { return 0; }
  virtual void hint(CoreId, const Hint&, Picoseconds) {}
  // Who wants to know what becomes of hints.
  virtual void observe(HintObserver*) {}
  // The core's thread has ended, or goes back to where its region began.
  virtual void thread_ended(CoreId) {}
  virtual void stored(const RetiredStore&, Picoseconds) {}
  // A modified line of PM has left the caches, by whatever way: the core is the one that has
  // flushed it, or whose stores were evicted or sent.
  virtual void written_back(CoreId, Line, const LineData&, WriteBack, Picoseconds) {}
  virtual void statistics(StatisticsCollector&) const {}
};

class NoPrecompute final : public Precompute {};

}  // namespace pmemsim
