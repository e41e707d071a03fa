// Executes the loads of a core: translates their addresses, and sends them to the caches.
//
// A load that misses waits in the list of its miss register. If no register is free, it is sent
// again when a line has arrived. Through a port that takes one access at a time, a load may have to
// wait for the port, and is sent again when the port is released.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "pmemsim/common/clock.hpp"
#include "pmemsim/machine/cache/hierarchy.hpp"
#include "pmemsim/machine/cpu/core_parameters.hpp"
#include "pmemsim/machine/cpu/core_statistics.hpp"
#include "pmemsim/machine/cpu/data_port.hpp"
#include "pmemsim/machine/cpu/instruction_window.hpp"
#include "pmemsim/machine/cpu/miss_registers.hpp"
#include "pmemsim/machine/cpu/store_queue.hpp"
#include "pmemsim/machine/cpu/tlb.hpp"

namespace pmemsim {

class LoadUnit {
 public:
  using Entry = InstructionWindow::Entry;
  struct Parts {
    InstructionWindow& window;
    StoreQueue& stores;
    PrivateCaches& caches;
    MissRegisters& misses;
    DataPort& port;
    CoreStatistics& statistics;
  };

  LoadUnit(const Parts& parts, const Clock& clock, const CoreParameters& parameters,
           const TlbParameters& tlb)
      : window_(parts.window),
        stores_(parts.stores),
        caches_(parts.caches),
        misses_(parts.misses),
        port_(parts.port),
        statistics_(parts.statistics),
        forward_latency_(clock.slots(parameters.forward_latency)),
        retry_latency_(clock.slots(parameters.load_retry_latency)),
        tlb_(clock, tlb) {}

  // Delays a load, or the stores of an instruction, by the translation of their addresses.
  void translate(Entry& access) {
    if (tlb_.present()) translate_now(access);
  }
  // True if the access needs no delay; it is counted then.
  bool translated_at_once(std::uint64_t address, std::uint32_t size) {
    if (!tlb_.present()) return true;
    const bool found = tlb_.translate_in_first(address, size);
    statistics_.translations += found;
    return found;
  }

  // Sends the load of this entry. Returns the time at which it completes, or kUnknownSlot if it
  // has to wait.
  Slot send(std::uint32_t index);
  // Return loads that waited, to be sent again, and forget them: for a miss register, or for the
  // port, the oldest first.
  std::vector<std::uint32_t> take_without_register();
  bool any_may_use_port() const { return !at_port_.empty() && !port_.held(); }
  std::vector<std::uint32_t> take_at_port(Slot now);
  // Forgets all loads that wait.
  void discard();

 private:
  struct LoadAtPort {
    std::uint32_t index;
    bool behind_flush;
  };

  Slot translation(std::uint64_t address, std::uint64_t bytes);
  void translate_now(Entry& access);
  Slot send_through_port(std::uint32_t index);
  void wait_for_line(std::uint32_t index, MissRegisters::Register* mshr);

  InstructionWindow& window_;
  StoreQueue& stores_;
  PrivateCaches& caches_;
  MissRegisters& misses_;
  DataPort& port_;
  CoreStatistics& statistics_;
  const Slot forward_latency_, retry_latency_;
  Tlb tlb_;
  std::vector<std::uint32_t> without_register_;
  std::vector<LoadAtPort> at_port_;
};

// Inline, because the core sends each load that is no straight-line code here.
[[gnu::always_inline]] inline Slot LoadUnit::send(std::uint32_t index) {
  Entry& issued = window_[index];
  if (issued.forwarded) return issued.ready + forward_latency_;
  if (port_.present()) [[unlikely]]
    return send_through_port(index);
  Slot done = issued.ready;
  bool missed = false;
  const Line last = Line::of(issued.address + issued.size - 1);
  for (Line line = Line::of(issued.address); line <= last; ++line.number) {
    const PrivateCaches::Lookup found = caches_.look_up(line, issued.ready);
    misses_.prefetch_after(line, found);
    if (found.hit) {
      if (!found.in_l1 && issued.cause == Cause::kExecution) issued.cause = Cause::kPrivateCache;
      done = std::max(done, found.done);
      continue;
    }
    // Requests both lines if both miss. The load waits for the first line, and is then looked up
    // again.
    MissRegisters::Register* mshr = misses_.request_read(line, found.done);
    if (missed) continue;
    missed = true;
    wait_for_line(index, mshr);
  }
  return missed ? kUnknownSlot : done;
}

}  // namespace pmemsim
