// When the sub-operations of all operations are done, for writes that have come and for those that
// are expected: the BMO logic of Janus (4.3.2, Figure 7d).
//
//   1  A unit does the sub-operations of one line at a time, side by side as far as the graph lets
//      them (Janus, Table 3: "4 units per core, at cache-line granularity"). There are so many
//      units; 0: as many as are wanted. [Open: who gets one. Writes that have come go before those
//      that are expected, each in their order; nobody gives a unit up that has something to do.]
//   2  What is expected is done as far as its inputs are known. The unit is free again when nothing
//      more can be done; another one goes on when more is known.
//   3  A sub-operation that needs a line of metadata that isn't cached waits for that to be read
//      from PM, on its unit.
//   4  A write takes over what was done for it: everything, if its data were known; otherwise what
//      needs nothing but the address. What is running goes on (4.3.1: "the actual write access can
//      arrive before the BMOs complete"). If what is running has become useless, its unit does it
//      to its end, and then anew.
//      What would come out differently now, since other writes have changed what it was worked out
//      with, is lost, and all that follows from it (4.3.1).
//      Where that is found when the other write is accepted, or never, what is expected is worked
//      out by rules of its own (expected_writes.hpp).
//   5  If bytes that were expected are replaced, what has been done with data is lost. The same if
//      a write that has come brings the data of a newer one, too.
//   6  For a line whose data are elsewhere already, what is only for data that are written falls
//      away.
//   7  Where writes are acknowledged on arrival, they go on at once; their sub-operations are done
//      all the same, and find the duplicate, or none, that was there when the write came. (The
//      ideal of Janus's 5.2.2: "write-backs don't block".)
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "pmemsim/common/line_table.hpp"
#include "pmemsim/common/relations.hpp"
#include "pmemsim/common/slab.hpp"
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
    visit("writes", writes, "writes", "Writes to PM that had operations to do",
          share_of("received.operated"));
    visit("done_before", done_before, "writes", "Of these, all was done when they came",
          part_of("writes"), part_of("executed_before"));
    visit("executed_before", executed_before, "writes",
          "Writes whose sub-operations had all been executed when they came, outdated ones, which "
          "have to be done anew, among them",
          part_of("writes"));
    visit("time_ns", time, "Time of writes from their coming until all is done, in all",
          at_most("run.drained_ns", writes));
    visit("unit_wait_ns", unit_wait, "Of this, until a unit was free", part_of("time_ns"));
    visit("metadata_reads", metadata_reads, "lines",
          "Lines of metadata that sub-operations read from PM");
    visit("outdated", outdated, "sub-operations",
          "Done before their write came, and lost since other writes have changed metadata");
    visit("coalesced", coalesced, "writes",
          "Writes whose data one of their line brought that wasn't done yet; not among the others",
          share_of("received.operated"));
  }
};

class OperationSchedule final : public WriteGate {
 public:
  // `operations` are those that the graph is made of, `units` those of all cores.
  OperationSchedule(std::vector<BackendOperation*> operations, OperationGraph graph,
                    std::uint32_t units, const BackendParameters& parameters);
  void connect(EventQueue& queue, MetadataPort& backend);

  void prepare(PreparedId id, const Prediction& prediction) override;
  bool keeps_outdated() const override { return expected_writes_.has_value(); }
  void discard(PreparedId id) override;
  bool write(const Write& write, const Prepared& prepared, Completion done) override;
  void brings(const Write& both, const Completion& done) override;
  void forget(const Completion& done) override;
  void accepted(const Write& write, const Encoded&);
  bool starts_at_once(Completion free) override;
  void observe(WriteObserver* observer) override { observer_ = observer; }

  void statistics(StatisticsCollector& collector) const;
  std::string pending() const;

 private:
  // A line, from when it is expected or comes until all is done, or nobody wants it any more.
  struct Work {
    Prediction subject;
    NodeSet done = 0, running = 0;
    NodeSet useless = 0;      // of what is running
    NodeSet fallen_away = 0;  // of what counts as done
    std::optional<Line> duplicate_at{};
    std::array<Time, OperationGraph::kMostNodes> done_at{};
    Completion finished{};  // of a write that waits to be answered
    Time came{};            // of a write
    Time waits_since{};
    Picoseconds unit_wait{};
    bool expected = true;  // and hasn't come
    bool has_unit = false;
    bool waits = false;  // for a unit
    bool wanted = true;
    bool starting = false;  // go_on() is at it
  };

  Inputs known(const Work& work) const;
  std::deque<std::uint32_t>& waiting(const Work& work) {
    return work.expected ? expected_waiting_ : writes_waiting_;
  }
  void find_duplicate(Work& work);
  std::uint32_t take_over(const Write& write, const Prepared& prepared, TakenOver& taken);
  void lose_data(Work& work);
  void lose_outdated(Work& work, TakenOver& taken);
  void lose(Work& work, NodeSet nodes);
  std::uint32_t take_over_expected(const Write& write, const Prepared& prepared, TakenOver& taken);
  void look_for_duplicate(Work& work, std::size_t node);
  void go_on(std::uint32_t slot);
  bool get_unit(std::uint32_t slot);
  void give_unit_back(Work& work);
  void start(std::uint32_t slot, std::uint32_t node);
  void begin(std::uint32_t slot, std::uint32_t node);
  void fetched(std::uint64_t slot_and_node, Time now);
  void node_done(std::uint64_t slot_and_node, Time now);
  void finish_node(std::uint32_t slot, std::uint32_t node);
  bool acknowledges_on_arrival() const { return parameters_.acknowledge == Acknowledge::kArrival; }
  bool complete(const Work& work) const { return work.done == graph_.all(); }
  void end(std::uint64_t slot, Time now);
  bool answer_at_once(std::uint32_t slot, const Completion& done);
  void tell_done(const Completion& done, Picoseconds waited) const {
    if (observer_ != nullptr) observer_->done(done.argument, waited);
  }
  void count_used(const Work& work);
  void unwanted(std::uint32_t slot);
  void leave_if_idle(std::uint32_t slot);

  EventQueue* queue_ = nullptr;
  MetadataPort* backend_ = nullptr;
  const std::vector<BackendOperation*> operations_;
  const OperationGraph graph_;
  const std::uint32_t units_;
  const BackendParameters parameters_;
  std::uint32_t busy_units_ = 0;
  Slab<Work> works_;
  LineTable<std::uint32_t> expected_;  // by PreparedId::number: of predictions
  LineTable<std::uint32_t> come_;      // by Completion::argument: of writes
  std::deque<std::uint32_t> writes_waiting_, expected_waiting_;
  Completion free_;  // for who waits to start on something
  WriteObserver* observer_ = nullptr;
  ScheduleStatistics statistics_;
  WorkStatistics works_done_;
  std::optional<ExpectedWrites> expected_writes_;
};

}  // namespace pmemsim
