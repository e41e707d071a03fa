// The sub-operations of predicted writes, for backends that recompute a result as soon as another
// write has outdated it (PMWeaver, V-C). This schedule has enough units for all lines.
//
//   1  Results that depend on the address alone, which are the pad and the hashes, are computed
//      once for all predictions of a line (V-C3). Results that depend on data are computed for
//      each prediction (V-C1).
//   2  With enough units, the end of a sub-operation follows from the times at which its inputs
//      were known. It is therefore computed only when a write arrives. The write takes over all
//      sub-operations that are done or running at that time.
//   3  Lines of metadata that aren't cached are read when a prediction is made, all at once. [Open.
//      PMWeaver's artifact looks metadata up for predictions, too.] A write that arrives before
//      such a line has been read doesn't wait for the line, because it counts as cached.
//   4  The address results of a line's predictions hold for one value of the line's counter, which
//      the line's next write uses. When a write takes over one of the predictions, and again when a
//      write of the line is accepted, the remaining predictions recompute them. Predictions of
//      other lines recompute the nodes that an accepted write has changed, and all nodes that
//      depend on these. [Open: sub-operations that are running are stopped at once.]
//   5  If outdated results are kept (`backend.outdated_results=never`), rule 4 doesn't apply.
//   6  If a validator (WriteValidator, result_buffer.hpp) gives a write the times at which its
//   inputs were known, sub-operations count
//      as started at these times, with all metadata cached. The work of predictions that such a
//      write uses is counted with the write.
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
          "Lines of metadata read from PM for predicted or announced writes");
    visit("renewed", renewed, "sub-operations",
          "Sub-operations of predicted or announced writes that were recomputed because other "
          "writes had outdated them");
  }
};

class ExpectedWrites {
 public:
  using Times = std::array<Time, OperationGraph::kMostNodes>;
  // The state of a prediction that a write takes over: sub-operations that are done or running, and
  // their past or future end.
  struct Progress {
    NodeSet done = 0, running = 0;
    Times done_at{};
  };

  ExpectedWrites(const std::vector<BackendOperation*>& operations, const OperationGraph& graph,
                 const BackendParameters& parameters, WorkStatistics& work);
  void connect(EventQueue& queue, MetadataPort& backend);

  // Functions to which OperationSchedule forwards its calls with the same names.
  void prepare(PreparedId id, const Prediction& prediction);
  void discard(PreparedId id);
  void accepted(const Write& write, const Encoded& encoded);
  // Hands a prediction over to a write, with its data or without, and ends it.
  Progress take(PreparedId id, bool with_data);
  // Returns the state of the write of a line according to rule 6.
  Progress progress_by_known_inputs(Line line, const Prepared& prepared);
  bool has(PreparedId id) const { return expected_.find({id.number}) != nullptr; }

  void statistics(StatisticsCollector& collector) const;

 private:
  // By sub-operation: the time at which its line of metadata is available. kNever: the line is
  // still being read.
  struct Fetches {
    Times available_at{};
    std::uint32_t pending = 0;
  };
  // Results of a line that depend on its address alone (rule 1).
  struct AddressResults {
    Line line;
    Time since{};
    Fetches fetches;
    std::uint32_t predictions = 0;
    std::uint32_t place = 0;  // index in addresses_
    bool used = false;        // rule 6
  };
  struct Expected {
    Prediction subject;
    std::uint32_t address = kNoSlot;
    Time data_since = kNever;
    Fetches fetches;
    bool wanted = true;
    bool used = false;  // rule 6
  };
  struct When {
    Times began{}, done{};
  };

  void add_to_address(Expected& expected);
  void remove_from_address(Expected& expected);
  void release_if_idle(std::uint32_t address);
  void release_expected_if_idle(std::uint32_t slot);
  void fetch(NodeSet nodes, const Prediction& subject, Fetches& fetches, Completion done,
             std::uint64_t slot);
  void address_fetched(std::uint64_t slot_and_node, Time now);
  void data_fetched(std::uint64_t slot_and_node, Time now);
  When when(const AddressResults* address, const Expected& expected, bool with_data) const;
  Progress progress(const When& when) const;
  void count(const When& when, NodeSet nodes, bool running_too);
  void restart(AddressResults& address);
  void renew(const Write& write, const Encoded& encoded, const AddressResults& other);

  const std::vector<BackendOperation*>& operations_;
  const OperationGraph& graph_;
  const BackendParameters parameters_;
  WorkStatistics& work_;
  EventQueue* queue_ = nullptr;
  MetadataPort* backend_ = nullptr;
  std::vector<std::uint32_t> first_nodes_;  // first node of each operation
  // Earliest start after the address is known, with all metadata cached.
  std::array<Picoseconds, OperationGraph::kMostNodes> earliest_{};
  LineTable<std::uint32_t> expected_;  // keyed by PreparedId::number
  Slab<Expected> slots_;
  LineTable<std::uint32_t> by_line_;
  Slab<AddressResults> address_slots_;
  std::vector<std::uint32_t> addresses_;  // slots of all lines that have predictions
  ExpectedStatistics statistics_;
};

}  // namespace pmemsim
