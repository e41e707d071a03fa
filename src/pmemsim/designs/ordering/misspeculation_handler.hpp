// PMEM-Spec's handler of misspeculation (ASPLOS 2021, 6.1.1 and 6.2; pmem_spec.hpp, rule 9).
//
//   1  The first alarm sends an interrupt, which starts the handler `interrupt_latency` later.
//      Until the handler has finished, lines of further alarms queue. If the queue is full
//      (`alarm_entries`), the oldest line is lost.
//   2  The handler marks the threads that are in regions.
//   3  When the stores that were in flight at a line's last alarm have arrived, the handler drops
//      the stale line from all caches. (Published: the line stays in the caches.)
//   4  The handler runs again and again until no line is left.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "pmemsim/designs/interface/layer_context.hpp"
#include "pmemsim/designs/interface/stale_lines.hpp"
#include "pmemsim/designs/ordering/pmem_spec_parameters.hpp"
#include "pmemsim/designs/ordering/pmem_spec_statistics.hpp"
#include "pmemsim/designs/ordering/speculation_clock.hpp"

namespace pmemsim {

class MisspeculationHandler {
 public:
  MisspeculationHandler(const PmemSpecParameters& parameters, const SpeculationClock& clock,
                        StaleLines& stale, PmemSpecStatistics& statistics)
      : parameters_(parameters), clock_(clock), stale_(stale), statistics_(statistics) {}
  // The handler calls `mark` to mark the threads in regions, and `finished` when no line is left.
  void connect(const LayerContext& context, Picoseconds window, Completion mark,
               Completion finished);

  void alarm(Line line);
  // Returns the number of misspeculated lines that the handler has not dropped.
  std::size_t lines() const { return alarms_.size(); }

 private:
  struct Alarm {
    Line line;
    Time until;  // time, by the windows' clock, when the stores in flight have arrived
  };

  void interrupt(std::uint64_t, Time now);
  void run(std::uint64_t, Time now);
  bool is_resolved(const Alarm& alarm);

  const PmemSpecParameters parameters_;
  const SpeculationClock& clock_;
  StaleLines& stale_;
  PmemSpecStatistics& statistics_;
  std::optional<LayerContext> context_;
  Picoseconds window_{};
  Completion mark_, finished_;
  std::vector<Alarm> alarms_;
  bool interrupt_ = false;  // true while an interrupt is in flight, or the handler runs
  Time running_since_{};
};

}  // namespace pmemsim
