// Sub-operations of writes that are expected, where what other writes outdate is worked out anew at
// once (PMWeaver, V-C): for a schedule with units for all.
//
//   1  What needs nothing but the address is worked out once for all predictions of a line: its
//   pad,
//      its hashes ("limited to at most 16 recalculations", V-C3). What needs data is worked out for
//      each prediction (V-C1).
//   2  With units for all, when something is done follows from when its inputs were there: nothing
//      is simulated until a write comes and takes over what is done by then, and what is under way.
//   3  A prediction's lines of metadata that aren't cached are read when it is made, all at once.
//      [Open. PMWeaver's artifact looks metadata up for predictions, too.] A write that comes
//      before such a line begins without it: it counts as cached since.
//   4  Once a write of a line has come, or is accepted, what predictions of the line have of the
//      address is worked out anew: it was of the counter that this write has used. What other
//      lines' predictions have of nodes that it has changed, and of all that follows, is worked out
//      anew from when it is accepted. [Open: what is under way then is given up at once.]
//   5  Where outdated results are kept (`backend.outdated_results=never`), rule 4 is left out.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "pmemsim/common/line_table.hpp"
#include "pmemsim/common/slab.hpp"
#include "pmemsim/designs/backend/backend_parameters.hpp"
#include "pmemsim/designs/backend/metadata_port.hpp"
#include "pmemsim/designs/backend/operation.hpp"
#include "pmemsim/designs/backend/operation_graph.hpp"
#include "pmemsim/designs/backend/work_statistics.hpp"

namespace pmemsim {

struct ExpectedStatistics {
  std::uint64_t metadata_reads = 0;
  std::uint64_t renewed = 0;

  template <class Visitor>
  void describe(Visitor& visit) const {
    visit("expected_metadata_reads", metadata_reads, "lines",
          "Lines of metadata that were read from PM for writes that were expected");
    visit("renewed", renewed, "sub-operations",
          "Of expected writes, begun or done, and worked out anew since others had outdated them");
  }
};

class ExpectedWrites {
 public:
  using Times = std::array<Time, OperationGraph::kMostNodes>;
  // What a write finds: what is done, or under way, and when it was or will be done.
  struct Progress {
    NodeSet done = 0, running = 0;
    Times done_at{};
  };

  ExpectedWrites(const std::vector<BackendOperation*>& operations, const OperationGraph& graph,
                 const BackendParameters& parameters, WorkStatistics& work);
  void connect(EventQueue& queue, MetadataPort& backend);

  // As BackendOperation has it.
  void prepare(PreparedId id, const Prediction& prediction);
  void discard(PreparedId id);
  void accepted(const Write& write, const Encoded& encoded);
  // A write takes a prediction over, with its data or without; that is none any more.
  Progress take(PreparedId id, bool with_data);
  bool has(PreparedId id) const { return expected_.find({id.number}) != nullptr; }

  void statistics(StatisticsCollector& collector) const;

 private:
  // What has been read of metadata, for the sub-operations that need it; kNever: not yet.
  struct Fetches {
    Times there_at{};
    std::uint32_t pending = 0;
  };
  // Of a line: rule 1.
  struct Address {
    Line line;
    Time since{};
    Fetches fetches;
    std::uint32_t predictions = 0;
    std::uint32_t place = 0;  // in addresses_
  };
  struct Expected {
    Prediction subject;
    std::uint32_t address = kNoSlot;
    Time data_since = kNever;
    Fetches fetches;
    bool wanted = true;
  };
  struct When {
    Times began{}, done{};
  };

  void join(Expected& expected);
  void leave(Expected& expected);
  void give_back_if_idle(std::uint32_t address);
  void give_back_expected_if_idle(std::uint32_t slot);
  void fetch(NodeSet nodes, const Prediction& subject, Fetches& fetches, Completion done,
             std::uint64_t slot);
  void address_fetched(std::uint64_t slot_and_node, Time now);
  void data_fetched(std::uint64_t slot_and_node, Time now);
  When when(const Address* address, const Expected& expected, bool with_data) const;
  void count(const When& when, NodeSet nodes, bool running_too);
  void begin_anew(Address& address);
  void renew(const Write& write, const Encoded& encoded, const Address& other);

  const std::vector<BackendOperation*>& operations_;
  const OperationGraph& graph_;
  const BackendParameters parameters_;
  WorkStatistics& work_;
  EventQueue* queue_ = nullptr;
  MetadataPort* backend_ = nullptr;
  std::vector<std::uint32_t> first_nodes_;  // of each operation
  // From the address on, with all metadata cached.
  std::array<Picoseconds, OperationGraph::kMostNodes> earliest_{};
  LineTable<std::uint32_t> expected_;  // by PreparedId::number
  Slab<Expected> slots_;
  LineTable<std::uint32_t> by_line_;
  Slab<Address> address_slots_;
  std::vector<std::uint32_t> addresses_;  // slots, of lines that something is predicted of
  ExpectedStatistics statistics_;
};

}  // namespace pmemsim
