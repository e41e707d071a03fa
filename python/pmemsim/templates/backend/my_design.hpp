// my-design: an operation of the backend that checks each line before it is written. Replace these
// rules by those of your mechanism.
//
//   M1  looking at the data, which takes a fixed time
//
//   1  A write is accepted when M1 is done with its data.
//   2  Lines stay where they are and as they are.
#pragma once

#include "pmemsim/design/backend_layer.hpp"

namespace my_design {

using namespace pmemsim;

struct MyDesignParameters {
  Picoseconds latency{20'000};

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("latency", latency, {.most = 1e9}, "Time to inspect the data of a line");
  }
};

struct MyDesignStatistics {
  std::uint64_t accepted = 0;

  template <class Visitor>
  void describe(Visitor& visit) const {
    visit("accepted", accepted, "lines", "Lines that were inspected and accepted");
  }
};

class MyDesign final : public BackendOperation {
 public:
  explicit MyDesign(const MyDesignParameters& parameters) : parameters_(parameters) {}

  std::vector<SubOperation> sub_operations() const override;
  void accepted(const Write&, const Encoded&) override { ++statistics_.accepted; }
  void add_registers(SurvivingRegisters& registers) const override {
    registers.add_operation("my-design");
  }
  void statistics(StatisticsCollector& collector) const override {
    collector.group("my_design", statistics_);
  }

 private:
  const MyDesignParameters parameters_;
  MyDesignStatistics statistics_;
};

}  // namespace my_design
