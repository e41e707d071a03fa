#include "pmemsim/machine/cpu/core_profile.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace pmemsim {
namespace {

// True if other threads lose time because of the cause, instead of the instructions themselves.
bool stalls(Cause cause) {
  switch (cause) {
    case Cause::kLock:
    case Cause::kBase:
    case Cause::kExecution:
    case Cause::kBranch:
    case Cause::kPrivateCache:
    case Cause::kLocked:
      return false;
    default:
      return true;
  }
}

bool is_for_persistence(Cause cause) {
  return cause == Cause::kFence || cause == Cause::kStoreQueue || cause == Cause::kCommit;
}

}  // namespace

CoreProfile::CoreProfile(TimeProfile& profile, const StoreQueue& stores, const Clock& clock,
                         const CoreParameters& parameters, Slot start, bool alone)
    : profile_(profile),
      stores_(stores),
      clock_(clock),
      alone_(alone),
      calls_(profile.contexts(), profile.sites(), profile.marks()),
      in_flight_mask_(std::bit_ceil(parameters.rob_entries * 4) - 1),
      in_flight_(std::size_t{in_flight_mask_} + 1),
      details_(in_flight_.size()),
      stores_mask_(std::bit_ceil(std::uint64_t{parameters.store_queue_entries} * 2 + 8) - 1),
      store_rows_(stores_mask_ + 1),
      passed_(in_flight_.size()),
      time_(start),
      pieces_(alone ? 0 : kPieces) {
  row_ = profile.row_of({}, false);
}

inline std::uint32_t CoreProfile::find_row(std::uint32_t site, bool log) {
  const trace::Contexts::Node path = calls_.context();
  KnownRow& known = known_rows_[(site + path * 61) % kKnownRows];
  if (known.site != site || known.path != path || known.log != log) {
    known = {path, site, log, profile_.row_of({path, site}, log)};
  }
  return known.row;
}

void CoreProfile::begin_operation(const trace::Operation& operation, const FrontEnd& front) {
  // The previous operation has passed without an entry if its instructions are still to be counted.
  if (front.tail != tail_) without_entry_ = 0;
  pass(front.instructions_without_entry);
  position_ = front.position;
  tail_ = front.tail;
  const bool known = operation.site >= trace::kBuiltinSites;
  if (known) calls_.follow(operation.site);
  row_ = find_row(known ? operation.site : calls_.last(), front.log);
  if (front.stores_to_pm) profile_.row(row_).stores = true;
}

// Charges the instructions that have passed without an entry since the last call to the current
// row, when the next entry retires.
void CoreProfile::pass(std::uint32_t instructions) {
  if (instructions > without_entry_) {
    passed_[passed_in_++ & in_flight_mask_] = {row_, instructions - without_entry_};
  }
  without_entry_ = instructions;
}

void CoreProfile::delayed_by_store(std::uint64_t store, Slot from, Slot until, std::uint32_t tail) {
  delay_ = {store_row(store), stages_of({from, until})};
  has_delay_ = true;
  delay_entry(tail);
}

// Lets the next entry of the window have the delay. That may be the second one from here, if the
// thread is taken off the core first.
void CoreProfile::delay_entry(std::uint32_t tail) {
  for (const std::uint32_t index : {tail, tail + 1}) {
    in_flight(index).delayed = true;
    details(index).delay = delay_;
  }
}

void CoreProfile::filled(std::uint32_t index, Line line, Cause source) {
  if (source != Cause::kPm && source != Cause::kDram) return;
  const RequestStages::Read read =
      (source == Cause::kPm ? profile_.pm() : profile_.dram()).latest_read(line);
  in_flight(index).filled = true;
  details(index).bank = clock_.slot({read.bank.count});
  details(index).decoding = clock_.slot({read.decoding.count});
}

void CoreProfile::end_log_delay(Slot slot) {
  log_delays_.back().until = slot;
  if (log_delays_.size() > kLogDelays) log_delays_.pop_front();
}

void CoreProfile::charge_retired_at_once(std::uint32_t head, Slot retired,
                                         const CycleAccount& account) {
  const auto left = [&](Cause cause) { return account[cause] - charged_[cause]; };
  retire(head_, left(Cause::kBase));
  const Slot executing = left(Cause::kExecution);
  if (time_ + executing < retired) {
    for (std::size_t i = 0; i < kCauses; ++i) {
      const auto cause = static_cast<Cause>(i);
      if (cause != Cause::kExecution) charge_delay(cause, left(cause));
    }
  }
  charge_own(Cause::kExecution, executing);
  head_ = head;
}

// Implements rule 1. Returns the charged slots, which are at most `slots`.
Slot CoreProfile::charge_passed(Slot slots) {
  Slot charged = 0;
  for (; passed_out_ < oldest_.passed; ++passed_out_) {
    const Passed& before = passed_[passed_out_ & in_flight_mask_];
    const Slot part = std::min(slots - charged, before.slots);
    charge(before.row, Cause::kBase, part);
    charged += part;
  }
  return charged;
}

void CoreProfile::charge_rest(Slot slots, const FrontEnd& front) {
  if (front.tail != tail_) without_entry_ = 0;
  pass(front.instructions_without_entry);
  oldest_ = {.row = row_, .passed = passed_in_};
  slots -= charge_passed(slots);
  charge(row_, Cause::kBase, slots);
}

void CoreProfile::charge_own(Cause cause, Slot slots) {
  if (!oldest_.filled) return charge(oldest_.row, cause, slots);
  const Details& filled = details(oldest_index_);
  charge_stages(oldest_.row, cause, slots, {.backend = filled.decoding, .bank = filled.bank});
}

// Implements rule 3.
void CoreProfile::charge_delay(Cause cause, Slot slots) {
  if (!oldest_.delayed) return charge(oldest_.row, cause, slots);
  const Delay& delay = details(oldest_index_).delay;
  charge_stages(delay.row, cause, slots, delay.stages);
}

// Implements rules 5 and 6 for instructions that don't wait in the store queue.
void CoreProfile::charge_wait(Cause cause, Slot slots) {
  const Wait wait = oldest_.waited ? details(oldest_index_).wait : Wait{};
  if (wait.releaser != nullptr && cause == Cause::kLock) {
    charge_lock(wait.releaser, oldest_.row, slots, std::min(wait.until, wait.released));
    return;
  }
  if (wait.releaser != nullptr && (cause == Cause::kFence || cause == Cause::kCommit)) {
    slots = charge_waits(*wait.releaser, cause, slots,
                         {std::max(wait.from, wait.released), wait.until});
  }
  charge(oldest_.row, cause, slots);
}

// Implements rules 4 to 6.
void CoreProfile::charge_queue(Cause cause, Slot slots, Slot from, Slot until) {
  if (slots == 0) return;
  slots = cause == Cause::kStoreQueue ? charge_stores(slots, {from, until})
                                      : charge_waits(*this, cause, slots, {from, until});
  charge(oldest_.row, cause, slots);
}

// Charges waits for the cause at the head of a core's store queue during the interval. Returns the
// slots that are left.
Slot CoreProfile::charge_waits(const CoreProfile& queue, Cause cause, Slot slots,
                               const Interval& during) {
  // Waits are in the order of time, so that all earlier ones have ended before the interval.
  std::size_t number = queue.next_wait_;
  const std::size_t oldest = number - std::min(number, kWaits);
  while (number > oldest && queue.waits_[(number - 1) % kWaits].wait.until > during.from) --number;
  for (; number < queue.next_wait_ && slots > 0; ++number) {
    const WaitAtHead& one = queue.waits_[number % kWaits];
    const Interval both{std::max(during.from, one.wait.from),
                        std::min(during.until, one.wait.until)};
    if (both.until <= both.from) continue;
    const CoreProfile* const releaser = one.wait.releaser;
    if (releaser == nullptr) {
      if (one.cause != cause) continue;
      const Slot part = std::min(slots, both.until - both.from);
      charge_interval(queue, one.row, cause, part, both.from);
      slots -= part;
    } else if (one.cause == cause) {
      const Slot before_release = std::min(both.until, one.wait.released);
      const Slot part = std::min(slots, std::max<Slot>(before_release - both.from, 0));
      if (cause == Cause::kLock) {
        charge_lock(releaser, one.row, part, before_release);
      } else {
        charge(one.row, cause, part);
      }
      slots -= part;
    } else if (&queue == this && releaser != this) {
      slots = charge_waits(*releaser, cause, slots,
                           {std::max(both.from, one.wait.released), both.until});
    }
  }
  return slots;
}

// Charges departures of stores from the store queue during the interval (rule 4). Returns the slots
// that are left.
Slot CoreProfile::charge_stores(Slot slots, const Interval& during) {
  std::uint64_t first = stores_.head();
  const std::uint64_t most = std::min<std::uint64_t>(first, stores_.limit());
  for (std::uint64_t i = 0; i < most && stores_.drained(first - 1) > during.from; ++i) --first;
  for (std::uint64_t store = first; store < stores_.head() && slots > 0; ++store) {
    const Slot before = store == first ? during.from : stores_.drained(store - 1);
    const Interval at_head{std::max(during.from, before),
                           std::min(during.until, stores_.drained(store))};
    const std::uint32_t row = store_row(store);
    const Slot length = at_head.until - at_head.from - waits_of(row, at_head);
    if (length <= 0) continue;
    const Slot part = std::min(slots, length);
    charge_interval(*this, row, Cause::kStoreQueue, part, at_head.until - part);
    slots -= part;
  }
  return slots;
}

// Returns how long entries of this row have waited at the head during the interval.
Slot CoreProfile::waits_of(std::uint32_t row, const Interval& interval) const {
  Slot sum = 0;
  for (const WaitAtHead& one : waits_) {
    if (one.row != row) continue;
    sum += std::max<Slot>(
        std::min(interval.until, one.wait.until) - std::max(interval.from, one.wait.from), 0);
  }
  return sum;
}

// Implements rule 5: charges the `slots` before `until`, in the order of time.
void CoreProfile::charge_lock(const CoreProfile* holder, std::uint32_t row, Slot slots,
                              Slot until) {
  Slot from = until - slots;
  const auto piece_of = [&](std::size_t number) { return holder->pieces_[number % kPieces]; };
  const std::size_t end = holder == this ? 0 : holder->next_piece_;
  const std::size_t oldest = end - std::min(end, kPieces);
  std::size_t number = end;
  while (number > oldest && piece_of(number - 1).until > from) --number;
  for (; number < end && from < until; ++number) {
    const Piece piece = piece_of(number);
    const Slot part = std::min(piece.until, until) - from;
    if (piece.stalled) {
      charge(piece.row, {Cause::kLock, piece.cause, piece.stage, part});
    } else {
      charge(row, Cause::kLock, part);
    }
    from += part;
  }
  charge(row, Cause::kLock, until - from);
}

// Charges a stall of this length, from `from` on, at the head of a core's store queue.
void CoreProfile::charge_interval(const CoreProfile& queue, std::uint32_t row, Cause cause,
                                  Slot slots, Slot from) {
  charge_stages(row, cause, slots, queue.stages_of({from, from + slots}));
}

// Implements rule 7.
void CoreProfile::charge_stages(std::uint32_t row, Cause cause, Slot slots, const Stages& stages) {
  const bool memory = cause == Cause::kPm || cause == Cause::kDram;
  if (!memory && !is_for_persistence(cause)) return charge(row, cause, slots);
  const auto take = [&](StallPart stage, Slot most) {
    const Slot part = std::min(slots, most);
    if (part > 0) charge(row, {cause, cause, stage, part});
    slots -= std::max<Slot>(part, 0);
  };
  take(StallPart::kQueue, stages.queue);
  take(StallPart::kBackend, stages.backend);
  take(StallPart::kLog, stages.log);
  take(StallPart::kBank, stages.bank);
  const bool log = !memory && profile_.row(row).log;
  charge(row, {cause, cause, log ? StallPart::kLog : StallPart::kNone, slots});
}

CoreProfile::Stages CoreProfile::stages_of(const Interval& interval) const {
  const RequestStages::Amounts amounts =
      profile_.pm().between(clock_.time(interval.from), clock_.time(interval.until));
  return {.queue = clock_.slot({amounts.queue.count}),
          .backend = clock_.slot({amounts.backend.count}),
          .log = log_delay(interval)};
}

Slot CoreProfile::log_delay(const Interval& interval) const {
  Slot sum = 0;
  for (const Interval& delay : log_delays_) {
    sum += std::max<Slot>(
        std::min(interval.until, delay.until) - std::max(interval.from, delay.from), 0);
  }
  return sum;
}

void CoreProfile::charge(std::uint32_t row, const TimeProfile::Part& part) {
  if (part.slots <= 0) return;
  profile_.add(row, part);
  charged_.add(part.account, part.slots);
  time_ += part.slots;
  if (!alone_) add_piece(row, part);
}

// Rule 5 needs the rows of stalls only, so that all other time between two stalls is one piece.
void CoreProfile::add_piece(std::uint32_t row, const TimeProfile::Part& part) {
  const bool stalled = stalls(part.cause);
  Piece& last = pieces_[(next_piece_ - 1) % kPieces];
  const bool same = stalled ? last.stalled && last.row == row && last.cause == part.cause &&
                                  last.stage == part.stage
                            : !last.stalled;
  if (next_piece_ > 0 && same) {
    last.until = time_;
  } else {
    pieces_[next_piece_++ % kPieces] = {time_, row, part.cause, part.stage, stalled};
  }
}

void CoreProfile::discard(std::uint32_t head) {
  passed_out_ = passed_in_;
  head_resumed(time_);
  position_ = 0;
  without_entry_ = 0;
  tail_ = head_ = head;
}

}  // namespace pmemsim
