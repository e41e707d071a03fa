// PMEM-Spec's speculation buffers, one at each PM controller, and the pause of all cores while one
// of them is full (ASPLOS 2021, 5.3; pmem_spec.hpp, rules 2, 6 and 8).
//
//   1  A line belongs to one controller, whose buffer alone is notified of its write-backs, reads
//      and stores.
//   2  When a buffer overflows, all cores pause until every buffer has room.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "pmemsim/designs/interface/layer_context.hpp"
#include "pmemsim/designs/ordering/core_pauses.hpp"
#include "pmemsim/designs/ordering/pmem_spec_parameters.hpp"
#include "pmemsim/designs/ordering/pmem_spec_statistics.hpp"
#include "pmemsim/designs/ordering/speculation_buffer.hpp"
#include "pmemsim/designs/ordering/speculation_clock.hpp"

namespace pmemsim {

class SpeculationBuffers {
 public:
  SpeculationBuffers(const SpeculationClock& clock, CorePauses& pauses,
                     PmemSpecStatistics& statistics)
      : clock_(clock), pauses_(pauses), statistics_(statistics) {}
  // After a pause, calls `resumed` for each core, with `argument` set to the core's number.
  void connect(const LayerContext& context, std::uint32_t controllers,
               const SpeculationBuffer& empty, Completion resumed);

  // A write-back has reached the line's controller.
  void write_back(std::uint64_t line, Time now);
  // Records a read. `stale`: true if the read returned bytes that weren't the newest.
  void read(Line line, bool stale);
  // Checks a store. Returns the misspeculation that it reveals, if any.
  std::optional<SpeculationBuffer::Misspeculation> persist(
      const SpeculationBuffer::Persist& persist);
  // True while all cores are paused.
  bool full() const { return full_; }

 private:
  SpeculationBuffer& of(Line line) { return buffers_[context_->pm.channel_of(line)]; }
  void pause_if_full();
  void log_occupancy() const;
  void poll_until_free(const SpeculationBuffer& buffer);
  void resume_when_free(std::uint64_t, Time now);

  const SpeculationClock& clock_;
  CorePauses& pauses_;
  PmemSpecStatistics& statistics_;
  std::optional<LayerContext> context_;
  std::vector<SpeculationBuffer> buffers_;  // by controller
  Completion resumed_;
  bool full_ = false;
  Time full_since_{};
};

}  // namespace pmemsim
