#include "pmemsim/machine/cpu/miss_registers.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace pmemsim {

std::uint32_t MissRegisters::filled(Line line, Slot slot) {
  Register* const mshr = find(line);
  mshr->used = false;
  --used_;
  mshr->free_since = slot;
  if (std::exchange(mshr->prefetch, false)) caches_.mark_prefetched(line);
  return std::exchange(mshr->first_load, kNoLoad);
}

// Only misses and first uses of prefetched lines train the prefetcher.
void MissRegisters::train(Line line, const PrivateCaches::Lookup& found) {
  if (found.hit) {
    if (!caches_.first_use(line)) return;
    ++statistics_.used_prefetches;
  } else if (Register* const mshr = find(line); mshr != nullptr) {
    if (!std::exchange(mshr->prefetch, false)) return;
    ++statistics_.used_prefetches;
  }
  prefetcher_.used(line, [&](Line next) {
    if (caches_.holds(next) || find(next) != nullptr) return true;
    const auto free = std::find_if(registers_.begin() + demand_, registers_.end(),
                                   [](const Register& mshr) { return !mshr.used; });
    if (free == registers_.end()) return false;
    ++statistics_.prefetches;
    use(*free, next);
    free->prefetch = true;
    hierarchy_.request(core_, next, false, clock_.time(std::max(found.done, free->free_since)));
    return true;
  });
}

MissRegisters::Register* MissRegisters::request_read(Line line, Slot leaves) {
  Register* mshr = find(line);
  if (mshr != nullptr) return mshr;
  mshr = take(leaves);
  if (mshr == nullptr) return nullptr;
  ++statistics_.private_misses;
  use(*mshr, line);
  hierarchy_.request(core_, line, false, clock_.time(leaves));
  return mshr;
}

void MissRegisters::use(Register& mshr, Line line) {
  mshr.line = line;
  mshr.used = true;
  ++used_;
}

MissRegisters::Register* MissRegisters::search(Line line) {
  for (Register& mshr : registers_) {
    if (mshr.used && mshr.line == line) return &mshr;
  }
  return nullptr;
}

// Returns the demand register that is free first, or nullptr. Moves `start` to the time at which it
// is free.
MissRegisters::Register* MissRegisters::take(Slot& start) {
  Register* best = nullptr;
  for (Register& mshr : std::span(registers_).first(demand_)) {
    if (!mshr.used && (best == nullptr || mshr.free_since < best->free_since)) best = &mshr;
  }
  if (best != nullptr) start = std::max(start, best->free_since);
  return best;
}

bool MissRegisters::request_missing(Line line, Slot slot) {
  if (const Register* const mshr = find(line); mshr != nullptr) {
    if (mshr->prefetch) prefetch_after(line, caches_.look_up(line, slot));
    return true;
  }
  const PrivateCaches::Lookup found = caches_.look_up(line, slot);
  prefetch_after(line, found);
  if (found.hit && found.state != LineState::kShared) return true;
  Slot leaves = found.hit ? slot + caches_.passing_latency() : found.done;
  Register* mshr = take(leaves);
  if (mshr == nullptr) return false;
  ++statistics_.private_misses;
  use(*mshr, line);
  hierarchy_.request(core_, line, true, clock_.time(leaves));
  return true;
}

}  // namespace pmemsim
