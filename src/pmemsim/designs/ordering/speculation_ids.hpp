// PMEM-Spec's speculation IDs, which detect stores to a line that arrive in the wrong order
// (pmem_spec.hpp, rule 7).
//
//   1  A core that acquires a lock gets the next ID in its register. Its stores carry that ID until
//      it has released its last lock. Depending on `inner_locks`, inner locks assign newer IDs.
//   2  A region that rolls back under a lock gets a new ID, because its restoring stores may carry
//      a later ID than the region had at its begin.
//   3  An unlock may have no lock before it: at the recording's start, locks may be held.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "pmemsim/designs/ordering/pmem_spec_parameters.hpp"
#include "pmemsim/trace/record_layout.hpp"

namespace pmemsim {

class SpeculationIds {
 public:
  SpeculationIds(const PmemSpecParameters& parameters, std::uint32_t cores)
      : parameters_(parameters), registers_(cores) {}

  // Returns the contents of the core's ID register; nullopt outside critical sections.
  std::optional<std::uint32_t> of(CoreId core) const { return registers_[core].id; }
  // Returns the number of IDs that have been assigned.
  std::uint64_t assigned() const { return assigned_; }

  void synchronised(CoreId core, trace::SyncKind kind) {
    Register& own = registers_[core];
    if (trace::is_lock(kind)) {
      const bool inner = own.locks++ > 0;
      if (!inner || parameters_.inner_locks == InnerLocks::kNewId) assign(own);
    } else if (trace::is_unlock(kind)) {
      if (own.locks > 0) --own.locks;
      if (own.locks == 0) own.id.reset();
    }
  }
  void region_begins(CoreId core) {
    Register& own = registers_[core];
    own.locks_at_begin = own.locks;
    own.id_at_begin = own.id.has_value();
  }
  void region_rolls_back(CoreId core) {
    Register& own = registers_[core];
    own.locks = own.locks_at_begin;
    own.id.reset();
    if (own.id_at_begin) assign(own);
  }

 private:
  struct Register {
    std::optional<std::uint32_t> id;
    std::uint32_t locks = 0;
    std::uint32_t locks_at_begin = 0;  // value of `locks` at the begin of the region in effect
    bool id_at_begin = false;          // true if the core had an ID at that time
  };

  void assign(Register& own) {
    ++assigned_;
    const auto next = static_cast<std::uint32_t>(assigned_);
    if (!parameters_.faults.tags) own.id = next & (UINT32_MAX >> (32 - parameters_.id_bits));
  }

  const PmemSpecParameters parameters_;
  std::vector<Register> registers_;  // by core
  std::uint64_t assigned_ = 0;
};

}  // namespace pmemsim
