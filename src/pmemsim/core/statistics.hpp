// Statistics are plain integers in a struct of the component that counts them, declared once by
//
//   template <class Visitor>
//   void describe(Visitor& visit) const {
//     visit("reads", reads, "requests", "Read requests that reached the controller");
//   }
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pmemsim/core/units.hpp"

namespace pmemsim {

struct Statistic {
  std::string name;  // "core0.stall_fence_ns"
  double value;
  std::string unit;
  std::string description;
};

class StatisticsCollector {
 public:
  template <class Group>
  void group(std::string_view name, const Group& statistics) {
    const std::string outer = prefix_;
    prefix_ += std::string(name) + ".";
    statistics.describe(*this);
    prefix_ = outer;
  }
  void operator()(std::string_view name, std::uint64_t value, std::string_view unit,
                  std::string_view description) {
    add(name, static_cast<double>(value), unit, description);
  }
  void operator()(std::string_view name, double value, std::string_view unit,
                  std::string_view description) {
    add(name, value, unit, description);
  }
  // Durations come out in nanoseconds; the name must end in _ns.
  void operator()(std::string_view name, Picoseconds value, std::string_view description) {
    add(name, static_cast<double>(value.count) / 1000.0, "ns", description);
  }

  std::vector<Statistic> found;

 private:
  void add(std::string_view name, double value, std::string_view unit,
           std::string_view description) {
    found.push_back(
        {prefix_ + std::string(name), value, std::string(unit), std::string(description)});
  }
  std::string prefix_;
};

}  // namespace pmemsim
