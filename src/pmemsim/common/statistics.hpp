// Declaration of statistics. A statistic is a plain integer in a struct of the component that
// counts it, declared once by
//
//   template <class Visitor>
//   void describe(Visitor& visit) const {
//     visit("reads", reads, "requests", "Read requests that reached the controller");
//     visit("row_hits", row_hits, "requests", "Requests to an open row", part_of("reads"));
//   }
//
// The relations (relations.hpp) are checked at the end of every run. A quantity is declared only
// for relations: it has a name and a value like a statistic, but is not published.
#pragma once

#include <cstdint>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pmemsim/common/relations.hpp"
#include "pmemsim/common/units.hpp"

namespace pmemsim {

struct Statistic {
  std::string name;  // "core0.fences"
  double value;
  std::string unit;
  std::string description;
  std::source_location place;  // location of the declaration
};

// The name of a statistic, with the location of its declaration in the source code.
struct StatisticName {
  template <class Text>
  StatisticName(const Text& name, std::source_location here = std::source_location::current())
      : text(name), place(here) {}

  std::string_view text;
  std::source_location place;
};

// Completeness of the declared origins of a statistic. With kAll the origins add up to the
// statistic; with kSome they add up to at most the statistic.
enum class Origins : std::uint8_t { kSome, kAll };

class StatisticsCollector {
 public:
  // The contents of `found`: all statistics, or none if only their relations are needed.
  enum class Publishes : std::uint8_t { kAll, kNone };
  explicit StatisticsCollector(Publishes publishes = Publishes::kAll)
      : publishes_(publishes == Publishes::kAll) {}

  template <class Group>
  void group(std::string_view name, const Group& statistics) {
    const std::string outer = prefix_;
    prefix_ += std::string(name) + ".";
    statistics.describe(*this);
    prefix_ = outer;
  }
  // Adds a group whose statistics are each a share of the statistic with the same name in the group
  // `of`. Only the statistics of `of` have relations to other groups.
  template <class Group>
  void share(std::string_view name, const Group& statistics, std::string_view of) {
    of_ = of;
    group(name, statistics);
    of_ = {};
  }

  template <class... Relations>
  void operator()(const StatisticName& name, std::uint64_t value, std::string_view unit,
                  std::string_view description, Relations&&... relations) {
    publish(name, static_cast<double>(value), unit, description);
    declare(name.text, {.value = static_cast<double>(value)},
            std::forward<Relations>(relations)...);
  }
  template <class... Relations>
  void operator()(const StatisticName& name, double value, std::string_view unit,
                  std::string_view description, Relations&&... relations) {
    publish(name, value, unit, description);
    declare(name.text,
            {.value = unit == "ns" ? value * kPicoseconds : value,
             .is_time = unit == "ns",
             .is_whole = false},
            std::forward<Relations>(relations)...);
  }
  // Adds a duration. It is published in nanoseconds, and its name must end in _ns.
  template <class... Relations>
  void operator()(const StatisticName& name, Picoseconds value, std::string_view description,
                  Relations&&... relations) {
    publish(name, static_cast<double>(value.count) / kPicoseconds, "ns", description);
    quantity(name.text, value, std::forward<Relations>(relations)...);
  }
  template <class... Relations>
  void quantity(std::string_view name, std::uint64_t value, Relations&&... relations) {
    declare(name, {.value = static_cast<double>(value)}, std::forward<Relations>(relations)...);
  }
  template <class... Relations>
  void quantity(std::string_view name, Picoseconds value, Relations&&... relations) {
    declare(name, {.value = static_cast<double>(value.count), .is_time = true},
            std::forward<Relations>(relations)...);
  }

  // Returns the number of relations that the collected statistics have.
  std::size_t relations() const;
  // Returns the relations of the named statistic.
  std::vector<Relation> relations_of(std::string_view name) const;
  // Throws InternalError if relations do not hold, with a sentence for each. Use Origins::kAll if
  // every part of the design is pmemsim's own, because all origins are then declared.
  void check(Origins origins = Origins::kSome) const;

  std::vector<Statistic> found;

 private:
  static constexpr double kPicoseconds = 1000;  // picoseconds in a nanosecond

  // Times are in picoseconds. Doubles hold whole numbers up to 2^53 exactly.
  struct Amount {
    double value;
    bool is_time = false;
    bool is_whole = true;
  };
  struct Declared {
    std::string name;
    Amount amount;
    std::vector<Relation> relations;
  };
  class Check;

  void publish(const StatisticName& name, double value, std::string_view unit,
               std::string_view description) {
    if (!publishes_) return;
    found.push_back({prefix_ + std::string(name.text), value, std::string(unit),
                     std::string(description), name.place});
  }
  template <class... Relations>
  void declare(std::string_view name, Amount amount, Relations&&... relations) {
    declared_.push_back({prefix_ + std::string(name), amount, {}});
    (relate(std::forward<Relations>(relations)), ...);
    if (!of_.empty()) {
      relate(share_of(std::string(of_) + "." + std::string(name), std::string(of_)));
    }
  }
  void relate(Relation relation);

  bool publishes_;
  std::string prefix_;
  std::string_view of_;  // the group whose statistics the current group divides
  std::vector<Declared> declared_;
};

}  // namespace pmemsim
