// my-design: an undo log that hardware writes, with a synchronous commit. Replace these rules by
// those of your mechanism.
//
//   1  The first store of a region to a line sends the line's old contents to the log, and waits
//      until they are persistent there.
//   2  The program flushes its data at the region's end, and fences.
//   3  Then the region commits: a persistent register of its core gets the region's number, and the
//      log is released.
//   4  Recovery restores the old contents of the lines of each region after the committed one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pmemsim/design/atomicity_layer.hpp"
#include "pmemsim/design/toolbox.hpp"

namespace my_design {

using namespace pmemsim;

// Each takes one protective mechanism away: `pmemsim selftest` must notice it.
struct MyDesignFaults {
  bool commit = false;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("commit", commit, "a region commits when it begins");
  }
};

struct MyDesignParameters {
  MyDesignFaults faults;

  template <class Visitor>
  void describe(Visitor&) {}
};

struct MyDesignStatistics {
  std::uint64_t committed = 0, stalls = 0;

  template <class Visitor>
  void describe(Visitor& visit) const {
    visit("committed", committed, "regions", "Committed regions", share_of("core.regions"));
    visit("stalls", stalls, "stores", "Stores that stalled for the log", part_of("core.stores"));
  }
};

class MyDesign final : public Atomicity {
 public:
  MyDesign(const HardwareLog::Shape& shape, const HardwareLogParameters& log,
           const MyDesignParameters& parameters);
  void connect(const LayerContext& context) override;
  Lowering lowering() const override;
  std::uint32_t interests() const override { return kStores | kRegions; }
  bool commits_synchronously() const override { return true; }

  bool region_begin(CoreId core, std::uint64_t region, Time when, Completion) override;
  bool region_end(CoreId core, std::uint64_t region, Time when, Completion resume) override;
  bool store(const Store& store, Time when, Completion resume) override;

  void statistics(StatisticsCollector& collector) const override;
  std::string pending() const override;

  // The state that survives a crash beside PM and the write pending queues.
  struct Survivors {
    std::vector<std::uint64_t> committed;  // by core: the last region that has committed
    LogSurvivors log;
  };
  Survivors survivors() const;

 private:
  struct PerCore {
    std::uint64_t region = 0;     // in progress; 0: none
    std::uint64_t committed = 0;  // the persistent register
    std::optional<HardwareLog::Id> log;
    LineTable<bool> logged;        // the lines that the region has an entry of
    Completion store;              // waits for its log entry
    std::optional<Line> unlogged;  // the line of a store that waits for room in the log
    Completion end;                // the region's, which waits for the log
  };
  bool log(CoreId core, Line line, const LineData& before);
  void header_space_freed(std::uint64_t, Time now);
  void logged(std::uint64_t core, Time now);
  void idle(std::uint64_t core, Time now);
  void commit(PerCore& core);

  std::optional<LayerContext> context_;
  HardwareLog log_;
  const MyDesignParameters parameters_;
  std::vector<PerCore> cores_;
  MyDesignStatistics statistics_;
};

}  // namespace my_design
