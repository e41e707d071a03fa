#include "pmemsim/machine/cpu/load_unit.hpp"

#include <algorithm>
#include <utility>

namespace pmemsim {

// Returns how long an access to these bytes waits for address translation.
Slot LoadUnit::translation(std::uint64_t address, std::uint64_t bytes) {
  const Tlb::Translation found = tlb_.translate(address, bytes);
  ++statistics_.translations;
  statistics_.tlb_misses += !found.in_first;
  statistics_.page_walks += found.walked;
  return found.wait;
}

void LoadUnit::translate_now(Entry& access) {
  Slot wait = 0;
  if (access.kind != InstructionWindow::Kind::kStore) {
    wait = translation(access.address, access.size);
  }
  for (std::uint32_t i = 0; i < access.stores; ++i) {
    const StoreEntry& store = stores_.at(access.store + i);
    if (store.writes) wait = std::max(wait, translation(store.address, store.size));
  }
  if (wait == 0) return;
  access.ready += wait;
  if (access.cause == Cause::kExecution) access.cause = Cause::kPrivateCache;
}

// Makes the load wait for the line of a miss register, or for a free register.
void LoadUnit::wait_for_line(std::uint32_t index, MissRegisters::Register* mshr) {
  if (mshr == nullptr) {
    without_register_.push_back(index);
    return;
  }
  window_[index].next_in_line = mshr->first_load;
  mshr->first_load = index;
}

// Executes a load through a port that takes one access at a time. A load that crosses a line makes
// two accesses, one after the other.
Slot LoadUnit::send_through_port(std::uint32_t index) {
  Entry& issued = window_[index];
  const auto wait_for_port = [&] {
    at_port_.push_back({index, port_.held_for_flush()});
    return kUnknownSlot;
  };
  Slot done = issued.ready;
  const Line last = Line::of(issued.address + issued.size - 1);
  for (Line line = Line::of(issued.address); line <= last; ++line.number) {
    const auto begin = port_.find(done, caches_.l1_latency(), retry_latency_);
    if (!begin) return wait_for_port();
    const PrivateCaches::Lookup found = caches_.look_up(line, *begin);
    if (!found.hit && port_.held()) return wait_for_port();
    misses_.prefetch_after(line, found);
    const bool waited = *begin > done || !found.in_l1;
    if (waited && issued.cause == Cause::kExecution) issued.cause = Cause::kPrivateCache;
    if (!found.hit) {
      MissRegisters::Register* const mshr = misses_.request_read(line, found.done);
      if (mshr != nullptr) port_.hold(*begin, line);
      wait_for_line(index, mshr);
      return kUnknownSlot;
    }
    port_.take(*begin, found.done);
    done = found.done;
  }
  return done;
}

std::vector<std::uint32_t> LoadUnit::take_at_port(Slot now) {
  std::vector<LoadAtPort> waiting = std::exchange(at_port_, {});
  std::ranges::sort(waiting, {}, [&](const LoadAtPort& one) { return one.index - window_.head(); });
  std::vector<std::uint32_t> loads;
  for (const auto& [index, behind_flush] : waiting) {
    loads.push_back(index);
    Entry& waited = window_[index];
    if (!behind_flush || waited.wait != 0 || now <= waited.ready) continue;
    waited.wait = now - waited.ready;
    waited.wait_cause = Cause::kFence;
    waited.behind_fence = waited.behind_commit = waited.behind_stores = 0;
  }
  return loads;
}

std::vector<std::uint32_t> LoadUnit::take_without_register() {
  return std::exchange(without_register_, {});
}

void LoadUnit::discard() {
  without_register_.clear();
  at_port_.clear();
}

}  // namespace pmemsim
