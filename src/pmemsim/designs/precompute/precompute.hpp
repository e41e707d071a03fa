// Layer 4, precompute: starts backend operations before their write arrives.
//
// hint() and stored() are called in each core's program order, when the instruction retires, or,
// with kWrittenStores, when the store leaves the store queue.
//   Janus     hint() decodes software's pre-execution requests into lines.
//   PMWeaver  stored() predicts from every store of the program, including volatile ones, with PC
//             (the site) and value; written_back() provides the write-backs that it learns from.
// Predictions are passed to ResultBuffer::prepare() and complete()
// (LayerContext::pm.predictions()). outcome() reports the outcome of each once.
#pragma once

#include <cstdint>

#include "pmemsim/common/statistics.hpp"
#include "pmemsim/designs/backend/prediction.hpp"
#include "pmemsim/designs/backend/result_buffer.hpp"
#include "pmemsim/designs/interface/hint_observer.hpp"
#include "pmemsim/designs/interface/interest.hpp"
#include "pmemsim/designs/interface/layer_context.hpp"
#include "pmemsim/designs/interface/retired_events.hpp"

namespace pmemsim {

class Precompute : public PredictionObserver {
 public:
  virtual ~Precompute() = default;
  // Called once, before the run.
  virtual void connect(const LayerContext&) {}
  // Returns the limits of the result buffer for its predictions.
  virtual ResultBufferSize result_buffer() const { return {}; }
  // Returns what replaces the result buffer's own choice of a result; nullptr: nothing does.
  virtual WriteValidator* validator() { return nullptr; }
  virtual std::uint32_t interests() const { return 0; }
  // Returns the number of instructions that a hint costs the program.
  virtual std::uint32_t hint_instructions() const { return 0; }
  virtual void hint(CoreId, const Hint&, Time) {}
  // Registers an observer of the outcomes of hints.
  virtual void observe(HintObserver*) {}
  // Called when the core's thread has ended, or rolls back to the beginning of its region.
  virtual void thread_ended(CoreId) {}
  virtual void stored(const RetiredStore&, Time) {}
  // Called when a modified line of PM has left the caches, in any way. The core is the one that has
  // flushed it, or whose stores were evicted or sent.
  virtual void written_back(CoreId, Line, const LineData&, WriteBack, Time) {}
  virtual void statistics(StatisticsCollector&) const {}
};

class NoPrecompute final : public Precompute {};

}  // namespace pmemsim
