// my-design: write-through persist ordering. Replace these rules by those of your mechanism.
//
//   1  A store that becomes visible sends its line's newest contents to the controller.
//   2  A fence waits until all lines that its core has sent are persistent. The program has no
//      flushes.
//   3  A dirty line that the shared cache evicts is dropped: its contents are in flight already.
#pragma once

#include <string>
#include <vector>

#include "pmemsim/design/ordering_layer.hpp"

namespace my_design {

using namespace pmemsim;

// Each takes one protective mechanism away: `pmemsim selftest` must notice it.
struct MyDesignFaults {
  bool fence = false;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("fence", fence, "fences don't wait for stores");
  }
};

struct MyDesignParameters {
  std::uint32_t most_in_flight = 16;
  MyDesignFaults faults;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("most_in_flight", most_in_flight, {.least = 1, .most = 1024},
          "Largest number of a core's lines in flight; further stores stall");
  }
};

struct MyDesignStatistics {
  std::uint64_t sent = 0, stalls = 0;

  template <class Visitor>
  void describe(Visitor& visit) const {
    visit("sent", sent, "lines", "Lines sent to PM", origin_of("received.data_writes"));
    visit("stalls", stalls, "stores", "Stores that stalled because too many lines were in flight");
  }
};

class MyDesign final : public Ordering {
 public:
  MyDesign(std::uint32_t cores, const MyDesignParameters& parameters);
  void connect(const LayerContext& context) override;
  Lowering lowering() const override;
  std::uint32_t interests() const override { return kStores | kVisibleStores | kEvictions; }

  bool store(const Store& store, Time when, Completion resume) override;
  void visible(CoreId core, Line line) override;
  bool flush(CoreId, Line, trace::FlushKind, bool, Time, Completion) override { return true; }
  bool fence(const Fence& fence, Time when, Completion resume) override;
  Eviction evicted(Line, const LineData&, Time) override { return Eviction::kTaken; }
  bool may_leave(Line) const override { return false; }
  void statistics(StatisticsCollector& collector) const override {
    collector.group("my_design", statistics_);
  }
  std::string pending() const override;

 private:
  struct PerCore {
    std::uint32_t in_flight = 0;
    Completion blocked;       // a store that waits
    std::uint64_t fence = 0;  // the number of the fence that waits
    Completion waiting;
  };
  void acknowledged(std::uint64_t core, Time now);

  const MyDesignParameters parameters_;
  std::vector<PerCore> cores_;
  PersistPort port_;
  const PmSpace* pm_space_ = nullptr;
  const ProgramEvents* program_events_ = nullptr;
  MyDesignStatistics statistics_;
};

}  // namespace my_design
