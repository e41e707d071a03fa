// Layer 4, precompute: who starts backend operations early?
//
// Calls of hint() and stored() come in each core's program order when the instruction retires.
//   Janus     hint() decodes software's pre-execution requests into lines.
//   PMWeaver  stored() sees every store of the program, volatile ones too, with PC (the site) and
//             value, and predicts; written_back() is what it learns from.
// What they expect goes to Backend::prepare() (LayerContext::pm) and Backend::complete(); outcome()
// says what became of it, once for each.
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
  // Once, before the run.
  virtual void connect(const LayerContext&) {}
  // What of its predictions may be prepared at a time.
  virtual ResultBufferSize result_buffer() const { return {}; }
  virtual std::uint32_t interests() const { return 0; }
  // Instructions that a hint costs the program.
  virtual std::uint32_t hint_instructions() const { return 0; }
  virtual void hint(CoreId, const Hint&, Time) {}
  // Who wants to know what becomes of hints.
  virtual void observe(HintObserver*) {}
  // The core's thread has ended, or goes back to where its region began.
  virtual void thread_ended(CoreId) {}
  virtual void stored(const RetiredStore&, Time) {}
  // A modified line of PM has left the caches, by whatever way: the core is the one that has
  // flushed it, or whose stores were evicted or sent.
  virtual void written_back(CoreId, Line, const LineData&, WriteBack, Time) {}
  virtual void statistics(StatisticsCollector&) const {}
};

class NoPrecompute final : public Precompute {};

}  // namespace pmemsim
