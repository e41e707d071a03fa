// Where each value was stored first, of all that a thread has stored: what a predictor without
// limits remembers.
#pragma once

#include <cstdint>

#include "pmemsim/common/line_table.hpp"
#include "pmemsim/common/units.hpp"

namespace pmemsim {

// One store: the piece of it that has the value, if it has several.
struct ValueStore {
  Line line;               // written to
  std::uint64_t when = 0;  // its number among the thread's stores, from 1 on
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

  struct Sight {
    const ValueStore* oldest = nullptr;  // store of the value; nullptr: none
    bool beside = false;                 // others than the stores to the line after `since` have it
  };
  Sight look(std::uint64_t value, Line line, std::uint64_t since) const {
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
    bool elsewhere = false;  // stored to another line than the first's, too
  };
  FlatTable<Number, Known> first_;
};

}  // namespace pmemsim
