// The order in which data leave the caches (backend.hpp, rule 6). Data of a line that left earlier
// may arrive later, because the time in flight depends on the path.
#pragma once

#include <cstdint>

#include "pmemsim/common/line_table.hpp"
#include "pmemsim/machine/memory/write.hpp"

namespace pmemsim {

class Departures {
 public:
  // Returns the number for data that leave now, a value of Write::departure.
  std::uint64_t next() { return ++departures_; }
  // Records the arrival of a write. Returns true if newer data of its line have arrived before it.
  bool overtaken(const Write& write) {
    const std::uint64_t departure = write.departure != 0 ? write.departure : next();
    std::uint64_t* last = latest_.find(write.line);
    if (last == nullptr) last = &(latest_.insert(write.line) = 0);
    if (departure < *last) return true;
    *last = departure;
    return false;
  }
  // Returns the number of the newest data of the line, which have arrived.
  std::uint64_t latest(Line line) const { return *latest_.find(line); }

 private:
  std::uint64_t departures_ = 0;
  LineTable<std::uint64_t> latest_;  // by line: the greatest number that has arrived
};

}  // namespace pmemsim
