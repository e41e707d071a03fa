// The work that the backend's sub-operations have done in a run, for predictions and writes.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "pmemsim/common/relations.hpp"
#include "pmemsim/designs/backend/sub_operation.hpp"

namespace pmemsim {

// Numbers of sub-operations that have been executed to their end, by the kind of their work.
struct WorkStatistics {
  struct Count {
    bool exists = false;  // true if some operation does such work
    std::uint64_t executed = 0, used = 0;
  };
  std::array<Count, kWorkKinds> counts{};

  Count& of(WorkKind work) { return counts.at(static_cast<std::size_t>(work)); }

  template <class Visitor>
  void describe(Visitor& visit) const {
    for (std::size_t work = 1; work < kWorkKinds; ++work) {
      const Count& count = counts[work];
      if (!count.exists) continue;
      const std::string name(kWorkNames[work]);
      visit(name, count.executed, "sub-operations", "Executed: " + name);
      visit(name + "_unused", count.executed - count.used, "sub-operations",
            "Executions without use: useless at their end, outdated later, or for a write that did "
            "not occur",
            part_of(name));
    }
  }
};

}  // namespace pmemsim
