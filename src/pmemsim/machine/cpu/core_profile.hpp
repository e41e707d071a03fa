// The profile of one core: charges each part of its CycleAccount to a source line with its call
// path. Rules:
//
//   1  Instructions are charged to their own line, and instructions of code without a line to the
//      line executed before.
//   2  A stall is charged to the line of the instruction whose retirement it delays, except in
//      rules 3 to 6.
//   3  Dispatch that waits for an entry of the store queue is charged to the store, flush or fence
//      whose departure freed the entry. Dispatch after a mispredicted branch is charged to the
//      branch.
//   4  An instruction that waits until the store queue has drained is charged to the entries at the
//      queue's head during that time.
//   5  A thread that waits for a lock is charged by what the thread that releases the lock last
//      does in the same interval. Where that thread stalls, the time is charged to its stalled
//      line, as a stall for a lock with the holder's cause. Where it executes, or waits for a lock
//      itself, the time is charged to the line that acquires the lock.
//   6  After the release has retired, the rest of that wait is charged to the entries at the head
//      of the releasing core's store queue, by rule 4.
//   7  Stalls for persistence (Cause::kFence, kStoreQueue, kCommit) are divided by what writes to
//      PM waited for in the stall's interval (request_stages.hpp), then by the time in which the
//      atomicity layer delayed the queue's head. The rest is charged to the log if the line's code
//      serves a software log. Loads from memory are divided by the wait for their bank and the
//      backend's operations.
//
// A core that isn't profiled has no CoreProfile.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "pmemsim/analysis/call_stack.hpp"
#include "pmemsim/common/clock.hpp"
#include "pmemsim/machine/cpu/core_parameters.hpp"
#include "pmemsim/machine/cpu/cycle_account.hpp"
#include "pmemsim/machine/cpu/store_queue.hpp"
#include "pmemsim/machine/cpu/time_profile.hpp"
#include "pmemsim/trace/reader.hpp"

namespace pmemsim {

class CoreProfile {
 public:
  // `alone`: no other core runs, so that no thread waits for a lock of this one.
  CoreProfile(TimeProfile& profile, const StoreQueue& stores, const Clock& clock,
              const CoreParameters& parameters, Slot start, bool alone);

  // The state of the core's front end before an operation is dispatched.
  struct FrontEnd {
    std::uint64_t position;  // number of the operation, from 1
    std::uint32_t tail;      // the tail of the instruction window
    std::uint64_t stores;    // tail of the store queue
    std::uint32_t instructions_without_entry;
    bool delayed;  // an earlier delay will be charged to the operation's entry
    bool log;      // the operation serves a software log
    bool stores_to_pm;
  };
  void before_dispatch(const trace::Operation& operation, const FrontEnd& front) {
    if (front.position != position_) begin_operation(operation, front);
    in_flight(front.tail) = in_flight(front.tail + 1) = {.row = row_, .passed = passed_in_};
    for (std::uint64_t i = 0; i < 3; ++i) store_rows_[(front.stores + i) & stores_mask_] = row_;
    if (!front.delayed) has_delay_ = false;
    if (has_delay_) delay_entry(front.tail);
  }
  // Dispatch has waited in this interval until the store queue's entry `store` had left.
  void delayed_by_store(std::uint64_t store, Slot from, Slot until, std::uint32_t tail);
  // Dispatch waits for this instruction, which is a mispredicted branch.
  void delayed_by(std::uint32_t index) {
    delay_ = {in_flight(index).row, {}};
    has_delay_ = true;
  }

  // A read has filled the line of a load.
  void filled(std::uint32_t index, Line line, Cause source);
  // An instruction in the window has waited for another thread in this interval. `releaser` is the
  // core whose release ended the wait, if it is known, and `released` the release's retirement.
  void waited_for_thread(std::uint32_t index, Slot from, Slot until, const CoreProfile* releaser,
                         Slot released) {
    in_flight(index).waited = true;
    details(index).wait = {from, until, releaser, released};
  }
  // An entry at the head of the store queue has waited.
  void waited_at_head(std::uint64_t store, Slot from, Slot until, Cause cause) {
    add_wait({store_row(store), cause, {from, until, nullptr, 0}});
  }
  void acquired_at_head(std::uint64_t store, Slot from, Slot until, Cause cause,
                        const CoreProfile* releaser, Slot released) {
    add_wait({store_row(store), cause, {from, until, releaser, released}});
  }
  // The atomicity layer begins to delay the head of the store queue, and any event resumes it.
  void log_delays_head(Slot slot) {
    head_resumed(slot);
    log_delays_.push_back({slot, kUnknownSlot});
  }
  void head_resumed(Slot slot) {
    if (!log_delays_.empty() && log_delays_.back().until == kUnknownSlot) end_log_delay(slot);
  }

  // Charges the instruction that has retired since the last call, if the core has retired it when
  // it was dispatched. `account` and `retired` are the core's, `head` is the window's.
  void settle(std::uint32_t head, Slot retired, const CycleAccount& account) {
    if (head != head_) charge_retired_at_once(head, retired, account);
  }
  // The window's oldest instruction, which occupied this number of slots, retires. The following
  // calls charge its stalls.
  void retire(std::uint32_t index, Slot slots) {
    stall(index);
    if (passed_out_ < oldest_.passed) slots -= charge_passed(slots);
    charge(oldest_.row, Cause::kBase, slots);
    head_ = index + 1;
  }
  // The window's oldest instruction stalls without retiring.
  void stall(std::uint32_t index) {
    oldest_ = in_flight(index);
    oldest_index_ = index;
  }
  void charge_own(Cause cause, Slot slots);
  void charge_delay(Cause cause, Slot slots);
  void charge_wait(Cause cause, Slot slots);
  // Charges a part of the interval in which the instruction waited for the store queue.
  void charge_queue(Cause cause, Slot slots, Slot from, Slot until);
  // Charges time after the last instruction that has retired.
  void charge_last(Cause cause, Slot slots) { charge(oldest_.row, cause, slots); }
  // Charges the instructions at the thread's end that have no entry.
  void charge_rest(Slot slots, const FrontEnd& front);
  // All instructions in flight are discarded, and the thread continues at an earlier operation.
  void discard(std::uint32_t head);

 private:
  struct Interval {
    Slot from, until;
  };
  // Slots of a stall by StallPart, except those of no stage.
  struct Stages {
    Slot queue = 0, backend = 0, log = 0, bank = 0;
  };
  struct Delay {
    std::uint32_t row;
    Stages stages;
  };
  // A wait for a release of another thread, or for the memory if there is no `releaser`.
  struct Wait {
    Slot from = 0, until = 0;
    const CoreProfile* releaser = nullptr;
    Slot released = 0;
  };
  struct InFlight {
    std::uint32_t row = 0;
    bool delayed = false, waited = false, filled = false;  // which Details are valid
    std::uint64_t passed = 0;  // end of the list of instructions without entry before this one
  };
  struct Details {
    Delay delay{};
    Wait wait{};
    Slot bank = 0, decoding = 0;
  };
  struct Passed {
    std::uint32_t row;
    Slot slots;
  };
  struct WaitAtHead {
    std::uint32_t row = 0;
    Cause cause = Cause::kBase;
    Wait wait{};
  };
  // A part of the core's time, from the end of the previous piece.
  struct Piece {
    Slot until;
    std::uint32_t row;
    Cause cause;
    StallPart stage;
    bool stalled;  // other threads that wait for a lock meanwhile are charged for this row
  };
  static constexpr std::size_t kWaits = 64, kLogDelays = 64, kPieces = std::size_t{1} << 15;

  InFlight& in_flight(std::uint32_t index) { return in_flight_[index & in_flight_mask_]; }
  Details& details(std::uint32_t index) { return details_[index & in_flight_mask_]; }
  std::uint32_t store_row(std::uint64_t store) const { return store_rows_[store & stores_mask_]; }

  void begin_operation(const trace::Operation& operation, const FrontEnd& front);
  std::uint32_t find_row(std::uint32_t site, bool log);
  void charge_retired_at_once(std::uint32_t head, Slot retired, const CycleAccount& account);
  void pass(std::uint32_t instructions);
  void delay_entry(std::uint32_t tail);
  Slot charge_passed(Slot slots);
  void charge(std::uint32_t row, Cause cause, Slot slots) {
    if (slots <= 0) return;
    profile_.row(row).plain.add(cause, slots);
    charged_.add(cause, slots);
    time_ += slots;
    if (!alone_) add_piece(row, {cause, cause, StallPart::kNone, slots});
  }
  void charge(std::uint32_t row, const TimeProfile::Part& part);
  void add_piece(std::uint32_t row, const TimeProfile::Part& part);
  void charge_stages(std::uint32_t row, Cause cause, Slot slots, const Stages& stages);
  void charge_interval(const CoreProfile& queue, std::uint32_t row, Cause cause, Slot slots,
                       Slot from);
  Slot charge_waits(const CoreProfile& queue, Cause cause, Slot slots, const Interval& during);
  Slot charge_stores(Slot slots, const Interval& during);
  void charge_lock(const CoreProfile* holder, std::uint32_t row, Slot slots, Slot until);
  Stages stages_of(const Interval& interval) const;
  Slot log_delay(const Interval& interval) const;
  Slot waits_of(std::uint32_t row, const Interval& interval) const;
  void add_wait(const WaitAtHead& wait) { waits_[next_wait_++ % kWaits] = wait; }
  void end_log_delay(Slot slot);

  TimeProfile& profile_;
  const StoreQueue& stores_;
  const Clock clock_;
  const bool alone_;
  trace::CallStack calls_;

  // Rows that were found before, so that most operations find theirs without a hash table. Two keys
  // with the same entry overwrite each other.
  struct KnownRow {
    trace::Contexts::Node path = UINT32_MAX;
    std::uint32_t site = 0;
    bool log = false;
    std::uint32_t row = 0;
  };
  static constexpr std::size_t kKnownRows = 1024;
  std::array<KnownRow, kKnownRows> known_rows_{};

  std::uint64_t position_ = 0;  // number of the operation that is being dispatched
  std::uint32_t row_ = 0;       // its row
  std::uint32_t tail_ = 0;      // the window's tail before it
  std::uint32_t without_entry_ = 0;
  bool has_delay_ = false;
  Delay delay_{};  // the delay that the next entry of the window will have

  // Rings: by entry of the window, and by store. They are larger than the window and the queue,
  // since they are filled ahead.
  const std::uint32_t in_flight_mask_;
  std::vector<InFlight> in_flight_;
  std::vector<Details> details_;
  const std::uint64_t stores_mask_;
  std::vector<std::uint32_t> store_rows_;
  // Instructions without entry. There are fewer than the window has instructions.
  std::vector<Passed> passed_;
  std::uint64_t passed_in_ = 0, passed_out_ = 0;

  std::array<WaitAtHead, kWaits> waits_{};
  std::size_t next_wait_ = 0;
  std::deque<Interval> log_delays_;

  std::uint32_t head_ = 0;  // the oldest instruction that hasn't been charged
  InFlight oldest_;         // the latest instruction that has been charged
  std::uint32_t oldest_index_ = 0;
  CycleAccount charged_;
  Slot time_;  // end of the time that has been charged
  std::vector<Piece> pieces_;
  std::size_t next_piece_ = 0;
};

}  // namespace pmemsim
