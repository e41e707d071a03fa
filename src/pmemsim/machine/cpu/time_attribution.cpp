#include "pmemsim/machine/cpu/time_attribution.hpp"

#include <algorithm>

namespace pmemsim {

template <bool kProfiled>
void TimeAttribution::wait(const Entry& oldest, Slot from, Slot until) {
  Slot left = until - from;
  // `charge` is the profile's function for this part.
  const auto add = [&](Cause cause, Slot slots, auto charge, auto... interval) {
    const Slot part = std::min(left, slots);
    account_.add(cause, part);
    if constexpr (kProfiled) ((*profile_).*charge)(cause, part, interval...);
    left -= part;
  };
  if (oldest.kind == InstructionWindow::Kind::kSerial) {
    const RecentWaits::ByCause waits = head_.by_cause(from, until);
    for (const Cause cause : {Cause::kFence, Cause::kLock, Cause::kCondition, Cause::kBarrier,
                              Cause::kJoin, Cause::kOrder, Cause::kCommit}) {
      add(cause, waits[static_cast<std::size_t>(cause)], &CoreProfile::charge_queue, from, until);
    }
    add(Cause::kLocked, locked_latency_, &CoreProfile::charge_own);
    add(Cause::kStoreQueue, left, &CoreProfile::charge_queue, from, until);
    return;
  }
  add(oldest.delay_cause, oldest.delay, &CoreProfile::charge_delay);
  if (oldest.wait > 0) {
    add(Cause::kFence, oldest.behind_fence, &CoreProfile::charge_wait);
    add(Cause::kCommit, oldest.behind_commit, &CoreProfile::charge_wait);
    add(Cause::kStoreQueue, oldest.behind_stores, &CoreProfile::charge_wait);
    add(oldest.wait_cause,
        oldest.wait - oldest.behind_fence - oldest.behind_commit - oldest.behind_stores,
        &CoreProfile::charge_wait);
  }
  add(oldest.cause, left, &CoreProfile::charge_own);
}
template void TimeAttribution::wait<false>(const Entry& oldest, Slot from, Slot until);
template void TimeAttribution::wait<true>(const Entry& oldest, Slot from, Slot until);

void TimeAttribution::incomplete(const InstructionWindow& window, Cause delay, Slot from,
                                 Slot until) {
  if (window.empty()) {
    account_.add(delay, until - from);
    if (profile_ != nullptr) profile_->charge_last(delay, until - from);
  } else if (profile_ == nullptr) {
    wait<false>(window[window.head()], from, until);
  } else {
    profile_->stall(window.head());
    wait<true>(window[window.head()], from, until);
  }
}

}  // namespace pmemsim
