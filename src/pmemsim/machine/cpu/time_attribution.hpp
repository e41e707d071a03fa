// Attributes a core's time to causes: the time by which an instruction retired later than it could
// have. A profile also charges each part to a line of the program.
#pragma once

#include "pmemsim/machine/cpu/core_profile.hpp"
#include "pmemsim/machine/cpu/cycle_account.hpp"
#include "pmemsim/machine/cpu/instruction_window.hpp"
#include "pmemsim/machine/cpu/recent_waits.hpp"

namespace pmemsim {

class TimeAttribution {
 public:
  using Entry = InstructionWindow::Entry;

  // `head` are the waits of the core's store queue.
  TimeAttribution(const RecentWaits& head, Slot locked_latency)
      : head_(head), locked_latency_(locked_latency) {}

  void profile(CoreProfile* profile) { profile_ = profile; }
  CycleAccount& account() { return account_; }
  const CycleAccount& account() const { return account_; }

  // Attributes the time from `from`, when this operation could have retired, until it did.
  template <bool kProfiled>
  void wait(const Entry& oldest, Slot from, Slot until);
  // Attributes the time until a pause, in which no operation retired. `delay`: why the front end
  // was delayed.
  void incomplete(const InstructionWindow& window, Cause delay, Slot from, Slot until);
  void speculation(Slot slots) {
    account_.add(Cause::kSpeculation, slots);
    if (profile_ != nullptr) profile_->charge_last(Cause::kSpeculation, slots);
  }

 private:
  const RecentWaits& head_;
  const Slot locked_latency_;
  CycleAccount account_;
  CoreProfile* profile_ = nullptr;  // nullptr: the run isn't profiled
};

}  // namespace pmemsim
