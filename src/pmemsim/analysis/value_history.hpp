// The first store of each value by a thread: the memory of a predictor without limits.
#pragma once

#include <cstdint>

#include "pmemsim/common/line_table.hpp"
#include "pmemsim/common/units.hpp"

namespace pmemsim {

// One store, or the segment of it that has the value.
struct ValueStore {
  Line line;               // line that was stored to
  std::uint64_t when = 0;  // number among the thread's stores, from 1
  std::uint32_t site = 0;
};

class ValueHistory {
 public:
  void add(std::uint64_t value, const ValueStore& store) {
    if (Known* known = first_.find({value})) {
      known->elsewhere |= known->first.line != store.line;
    } else {
      first_.insert({value}).first = store;
    }
  }

  struct Found {
    const ValueStore* oldest = nullptr;  // oldest store of the value; nullptr: no store has it
    // True if a store to another line, or one up to number `since`, has the value.
    bool without_own = false;
  };
  Found look_up(std::uint64_t value, Line line, std::uint64_t since) const {
    const Known* known = first_.find({value});
    if (known == nullptr) return {};
    return {&known->first,
            known->first.line != line || known->first.when <= since || known->elsewhere};
  }

 private:
  struct Number {
    std::uint64_t number = 0;
    bool operator==(const Number&) const = default;
  };
  struct Known {
    ValueStore first;
    bool elsewhere = false;  // true if the value was also stored to another line
  };
  FlatTable<Number, Known> first_;
};

}  // namespace pmemsim
