// The execution times of the sub-operations of all operations, for writes that have arrived and for
// predicted ones: the BMO logic of Janus (4.3.2, Figure 7d).
//
//   1  A unit executes the sub-operations of one line at a time, in parallel as far as the graph
//      allows (Janus, Table 3: "4 units per core, at cache-line granularity"). The number of units
//      is limited; 0: as many as are needed. [Open: which line gets a unit. Writes that have
//      arrived take precedence over predicted writes; each kind is served in order. A line that has
//      work to do keeps its unit.]
//   2  A prediction is executed as far as its inputs are known. The unit is released when no
//      further sub-operation can be executed. Any unit continues when more inputs are known.
//   3  A sub-operation that needs a line of metadata that isn't cached waits, on its unit, until
//      the line has been read from PM.
//   4  A write takes over the results of its prediction: all of them if its data were known,
//      otherwise those that depend on the address alone. Running sub-operations continue (4.3.1:
//      "the actual write access can arrive before the BMOs complete"). If a running sub-operation
//      has become useless, its unit finishes it, and then executes it again.
//      A result is lost if other writes have changed the metadata that it was computed from. All
//      results that depend on a lost result are lost, too (4.3.1).
//      If outdated results are recomputed when the other write is accepted, or never
//      (`backend.outdated_results`), the rules of expected_writes.hpp apply to predictions.
//   5  If predicted bytes are replaced, the results that depend on data are lost. The same happens
//      if a newer write coalesces with a write that has arrived.
//   6  If PM already has a write's data at another location, sub-operations that only written data
//      need are skipped.
//   7  If writes are acknowledged on arrival, they are sent at once. Their sub-operations are still
//      executed, and find the duplicate, or none, that existed when the write arrived. (The ideal
//      of Janus's 5.2.2: "write-backs don't block".)
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "pmemsim/common/line_table.hpp"
#include "pmemsim/common/relations.hpp"
#include "pmemsim/common/slab.hpp"
#include "pmemsim/common/stage_log.hpp"
#include "pmemsim/designs/backend/backend_parameters.hpp"
#include "pmemsim/designs/backend/expected_writes.hpp"
#include "pmemsim/designs/backend/metadata_port.hpp"
#include "pmemsim/designs/backend/operation.hpp"
#include "pmemsim/designs/backend/operation_graph.hpp"
#include "pmemsim/designs/backend/work_statistics.hpp"
#include "pmemsim/designs/backend/write_gate.hpp"
#include "pmemsim/designs/backend/write_observer.hpp"

namespace pmemsim {

struct ScheduleStatistics {
  std::uint64_t writes = 0;
  std::uint64_t done_before = 0;
  std::uint64_t executed_before = 0;
  Picoseconds time{};
  Picoseconds unit_wait{};
  std::uint64_t metadata_reads = 0;
  std::uint64_t outdated = 0;
  std::uint64_t coalesced = 0;

  template <class Visitor>
  void describe(Visitor& visit) const {
    visit("writes", writes, "writes", "Writes to PM that required operations",
          share_of("received.operated"));
    visit("done_before", done_before, "writes",
          "Writes whose operations had finished, with valid results, at their arrival",
          part_of("writes"), part_of("executed_before"));
    visit("executed_before", executed_before, "writes",
          "Writes whose sub-operations had all been executed at their arrival, including outdated "
          "ones that are repeated",
          part_of("writes"));
    visit("time_ns", time, "Total time from writes' arrival to the end of their operations",
          at_most("run.drained_ns").times(writes));
    visit("unit_wait_ns", unit_wait,
          "Part of schedule time (time_ns) spent waiting for a free unit", part_of("time_ns"));
    visit("metadata_reads", metadata_reads, "lines",
          "Lines of metadata that sub-operations read from PM");
    visit("outdated", outdated, "sub-operations",
          "Sub-operations executed before their write arrived, and lost because other writes "
          "changed metadata");
    visit("coalesced", coalesced, "writes",
          "Writes that coalesced with an unfinished write of their line; the other counts exclude "
          "them",
          share_of("received.operated"));
  }
};

class OperationSchedule final : public WriteGate {
 public:
  // `operations`: the operations that the graph consists of. `units`: the number for all cores.
  OperationSchedule(std::vector<BackendOperation*> operations, OperationGraph graph,
                    std::uint32_t units, const BackendParameters& parameters);
  void connect(EventQueue& queue, MetadataPort& backend);

  void prepare(PreparedId id, const Prediction& prediction) override;
  bool keeps_outdated() const override { return expected_writes_.has_value(); }
  void discard(PreparedId id) override;
  bool write(const Write& write, const Prepared& prepared, Completion done) override;
  void coalesced(const Write& both, const Completion& done) override;
  void forget(const Completion& done) override;
  void accepted(const Write& write, const Encoded&);
  bool starts_at_once(Completion free) override;
  void observe(WriteObserver* observer) override { observer_ = observer; }
  // Logs which work has a unit, and the sub-operations that it executes.
  void log_stages(StageLog* stages) { stages_ = stages; }

  // Returns the names of the sub-operations, by their numbers in the log.
  std::vector<std::string> names() const;

  void statistics(StatisticsCollector& collector) const;
  std::string pending() const;

 private:
  // The work for a line, from its prediction or arrival until all is done, or until it is
  // discarded.
  struct Work {
    Prediction subject;
    NodeSet done = 0, running = 0;
    NodeSet useless = 0;  // running sub-operations whose results won't be used
    NodeSet skipped = 0;  // skipped sub-operations, which count as done
    std::optional<Line> duplicate_at{};
    std::array<Time, OperationGraph::kMostNodes> done_at{};
    Completion finished{};  // completion of a stalled write
    Time arrived{};         // arrival of the write
    Time waits_since{};
    Picoseconds unit_wait{};
    bool expected = true;  // true if the write is predicted and hasn't arrived
    bool has_unit = false;
    bool waits = false;  // true if the work waits for a unit
    bool needed = true;
    bool starting = false;  // true while execute_ready() runs for this work
  };

  Inputs known(const Work& work) const;
  std::deque<std::uint32_t>& waiting(const Work& work) {
    return work.expected ? expected_waiting_ : writes_waiting_;
  }
  void find_duplicate(Work& work);
  std::uint32_t take_over(const Write& write, const Prepared& prepared, TakenOver& taken);
  void discard_data_results(Work& work);
  void discard_outdated(Work& work, TakenOver& taken);
  void discard_nodes(Work& work, NodeSet nodes);
  std::uint32_t take_over_expected(const Write& write, const Prepared& prepared, TakenOver& taken);
  void look_for_duplicate(Work& work, std::size_t node);
  void execute_ready(std::uint32_t slot);
  bool get_unit(std::uint32_t slot);
  void release_unit(std::uint32_t slot);
  void log_unit(std::uint32_t slot, Stage stage) const;
  void log_sub_operation(std::uint32_t slot, std::uint32_t node, Time end) const;
  void start(std::uint32_t slot, std::uint32_t node);
  void begin(std::uint32_t slot, std::uint32_t node);
  void fetched(std::uint64_t slot_and_node, Time now);
  void node_done(std::uint64_t slot_and_node, Time now);
  void finish_node(std::uint32_t slot, std::uint32_t node);
  bool acknowledges_on_arrival() const { return parameters_.acknowledge == Acknowledge::kArrival; }
  bool complete(const Work& work) const { return work.done == graph_.all(); }
  void end(std::uint64_t slot, Time now);
  bool complete_at_once(std::uint32_t slot, const Completion& done);
  void notify_done(const Completion& done, Picoseconds waited) const {
    if (observer_ != nullptr) observer_->done(done.argument, waited);
  }
  void count_used(const Work& work);
  void abandon(std::uint32_t slot);
  void release_if_idle(std::uint32_t slot);

  EventQueue* queue_ = nullptr;
  MetadataPort* backend_ = nullptr;
  const std::vector<BackendOperation*> operations_;
  const OperationGraph graph_;
  const std::uint32_t units_;
  const BackendParameters parameters_;
  std::uint32_t busy_units_ = 0;
  Slab<Work> works_;
  LineTable<std::uint32_t> expected_;  // work for predictions, keyed by PreparedId::number
  LineTable<std::uint32_t> arrived_;   // work for arrived writes, keyed by Completion::argument
  std::deque<std::uint32_t> writes_waiting_, expected_waiting_;
  Completion free_;  // called when a unit is free
  WriteObserver* observer_ = nullptr;
  StageLog* stages_ = nullptr;
  ScheduleStatistics statistics_;
  WorkStatistics works_done_;
  std::optional<ExpectedWrites> expected_writes_;
};

}  // namespace pmemsim
