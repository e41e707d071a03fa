#include "pmemsim/checks/rules/flush_check.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace pmemsim::check {
namespace {

// Maximum number of lines that are checked of a block that a pointer leads to.
constexpr std::uint64_t kMostLines = 64;
// Assumed size in B of a pointer's target if no allocation is known.
constexpr std::uint64_t kReach = 256;
constexpr std::size_t kMostUselessFlushes = 1 << 20;

// Returns the words that are not zero: the line contained them before the recording.
Words words_in_use(const LineData& data) {
  Words words = 0;
  for (std::uint64_t i = 0; i < kLineBytes; ++i) {
    if (data[i] != std::byte{}) words |= static_cast<Words>(1u << i / kWordBytes);
  }
  return words;
}

struct Word {
  std::uint64_t address, value;
};

// Adds the words that are not zero.
void add_words(Line line, const LineData& data, std::vector<Word>& words) {
  for (std::size_t at = 0; at < data.size(); at += kWordBytes) {
    std::uint64_t value = 0;
    std::memcpy(&value, data.data() + at, sizeof(value));
    if (value != 0) words.push_back({line.address() + at, value});
  }
}

// True if the data are one pointer.
bool is_pointer(const std::vector<Word>& data) {
  return data.size() == 1 && data[0].value >= kLowestPointer && data[0].value < trace::kMaxAddress;
}

// True if `words` have all data of a line, at the same distances, outside of that line.
bool has_copy(const std::vector<Word>& words, Line line, const std::vector<Word>& data) {
  return std::ranges::any_of(words, [&](const Word& first) {
    if (first.value != data[0].value || Line::of(first.address) == line) return false;
    return std::ranges::all_of(data, [&](const Word& each) {
      const std::uint64_t address = first.address + (each.address - data[0].address);
      return std::ranges::any_of(words, [&](const Word& word) {
        return word.address == address && word.value == each.value;
      });
    });
  });
}

bool same(const At& a, const At& b) { return a.thread == b.thread && a.operation == b.operation; }

}  // namespace

LineState& FlushCheck::line(Line number) {
  if (LineState* const found = shared_.lines.find(number)) return *found;
  LineState& state = shared_.lines.insert(number);
  state.persisted = words_in_use(shared_.memory->read(number));
  return state;
}

// ---- Stores

void FlushCheck::note_race(LineState& state) const {
  if (state.version > 0 && state.store.thread != thread_ &&
      !order_.before(state.store.thread, state.stored, thread_)) {
    state.racy = true;
  }
}

LineState& FlushCheck::note_store(const At& at, Line number, Words words) {
  LineState& state = line(number);
  note_race(state);
  state.run = state.version > 0 && state.store.thread == thread_ ? state.run | words : words;
  state.known = true;
  ++state.version;
  state.store = at;
  state.stored = order_.now(thread_);
  return state;
}

void FlushCheck::store(const At& at, std::uint64_t address, std::uint64_t bytes, By by,
                       Change change) {
  if (shared_.eadr) return;
  if (by.program && !by.in_region) check_late(Line::of(address));
  stores_ += by.program ? 1 : 0;
  const Words words = words_of(address, bytes);
  const bool tags_alone =
      change == Change::kTagsCleared && is_persistent_pointer(Line::of(address), words);
  LineState& state = note_store(at, Line::of(address), words);
  if (!tags_alone) {
    state.dirty |= words;
    state.possibly_lost |= words;
  }
  if (!by.program || by.in_region || by.lock) {
    state.no_sequence |= words;
    return;
  }
  const StoreList::Store entry{at, findings_.place_of(at), words};
  note_sequence(state, address, entry, change);
  if (tags_alone) return state.tags.add(entry);
  const bool late = state.pending && state.flush.thread == thread_;
  (late ? state.late : state.stores).add(entry);
}

// True if this thread can detect that the words, which its next store changes, are persistent. It
// may have flushed and fenced the line itself, after another thread.
bool FlushCheck::is_persistent_pointer(Line number, Words words) const {
  const LineState* const state = shared_.lines.find(number);
  if (state == nullptr || (state->persisted & words) == 0) return false;
  if (is_guaranteed(*state, words, order_, thread_)) return true;
  const auto own = newly_guaranteed_.find(number.number);
  return (state->possibly_lost & words) == 0 && own != newly_guaranteed_.end() &&
         own->second == state->version;
}

void FlushCheck::note_sequence(LineState& state, std::uint64_t address,
                               const StoreList::Store& store, Change change) {
  if (change == Change::kToOdd) {
    odd_words_[next_odd_word_++ % odd_words_.size()] = {address, store, stores_};
  } else if (change == Change::kToEven) {
    const auto odd = std::ranges::find(odd_words_, address, &OddWord::address);
    const bool encloses =
        odd != odd_words_.end() && stores_ > odd->stores + 1 && odd->store.place != store.place;
    if (odd != odd_words_.end()) *odd = {};
    (encloses ? state.sequence : state.no_sequence) |= store.words;
  } else if (change != Change::kZeroed) {
    state.no_sequence |= store.words;
  }
}

// Processes a non-temporal store, which leaves the cached contents of the line unchanged.
void FlushCheck::store_past_caches(const At& at, std::uint64_t address, std::uint64_t bytes,
                                   By by) {
  if (by.program && !by.in_region) check_late(Line::of(address));
  stores_ += by.program ? 1 : 0;
  const Words words = words_of(address, bytes);
  LineState& state = note_store(at, Line::of(address), words);
  state.no_sequence |= words;
  state.dirty &= static_cast<Words>(~words);
  state.possibly_lost |= words;
  if (state.dirty == 0) {
    state.clear_stores();
    state.flush = at;
    state.flushed = true;
    state.pending = true;
  }
  Unfenced& flush = add_unfenced(at, Line::of(address), state, words);
  flush.past_caches = true;
  flush.checked = by.program && !by.in_region;
}

// Marks the lines of an allocation as new. `allocations_` still has the words as free.
void FlushCheck::allocated(std::uint64_t address, std::uint64_t bytes) {
  const std::uint64_t first = Line::of(address).number;
  const std::uint64_t lines = (address % kLineBytes + bytes + kLineBytes - 1) / kLineBytes;
  for (std::uint64_t i = 0; i < lines && i < kMostLines; ++i) {
    LineState* const state = shared_.lines.find({first + i});
    if (state == nullptr || state->pending) continue;
    state->forget_stores(allocations_.freed_words({first + i}));
    state->persisted = 0;
    state->flushed = false;
  }
}

// ---- Pointers

void FlushCheck::publish(const At& at, std::uint64_t location, std::uint64_t pointer, By by) {
  if (!by.program) return;
  const auto block = allocations_.find(pointer);
  const Line first = Line::of(block ? block->address : pointer);
  const Line last = Line::of((block ? block->address + block->bytes : pointer + kReach) - 1);
  const bool checked = !by.in_region && can_be_reached(location);
  for (std::uint64_t i = first.number; i <= last.number && i - first.number < kMostLines; ++i) {
    LineState* const state = shared_.lines.find({i});
    if (state == nullptr) continue;
    state->pointed = true;
    const bool leads_there = block || i == Line::of(pointer).number;
    if (checked && leads_there && Line{i} != Line::of(location)) publish_line(at, {i}, *state);
  }
}

// Rules P3 and P4.
void FlushCheck::publish_line(const At& at, Line target, const LineState& state) {
  if (state.racy) return;
  const bool own = state.version > 0 && state.store.thread == thread_;
  if (!shared_.eadr && own && !state.stores.empty() && state.persisted == 0 && !state.flushed) {
    const bool undo_log = may_have_undo_log(target);
    for (const StoreList::Store& store : state.stores.distinct()) {
      const bool redo_log =
          shared_.redo_copies->have_copies(store.place, target, state, store.words);
      const Reason reason = redo_log   ? Reason::kRedoLog
                            : undo_log ? Reason::kUndoLog
                                       : Reason::kPublished;
      findings_.add(Kind::kPublishedUnflushed, reason, store.at, at);
    }
    return;
  }
  if (!state.pending || state.flush.thread != thread_) return;
  for (Unfenced& flush : unfenced_) {
    if (flush.line != target || !flush.checked || !same(flush.at, state.flush)) continue;
    const Kind kind = flush.lock_used     ? Kind::kLockedFenceOnly
                      : flush.past_caches ? Kind::kNtNotFenced
                                          : Kind::kFlushedNotFenced;
    const Reason reason = may_have_undo_log(target) ? Reason::kUndoLog : Reason::kPublished;
    findings_.add(kind, reason, flush.at, at);
  }
}

// Note N7.
bool FlushCheck::may_have_undo_log(Line target) const {
  std::vector<Word> words;
  for (const Line number : fenced_lines_) {
    const LineState* const state = number == kNoLine ? nullptr : shared_.lines.find(number);
    if (state == nullptr || number == target || state->possibly_lost != 0) continue;
    add_words(number, shared_.memory->read(number), words);
  }
  return std::ranges::any_of(words, [&](const Word& pointer) {
    const Line logged = Line::of(pointer.value);
    if (pointer.value >= trace::kMaxAddress) return false;
    if (logged == target || logged == Line::of(pointer.address)) return false;
    std::vector<Word> data;
    add_words(logged, shared_.memory->read(logged), data);
    return (data.size() > 1 || is_pointer(data)) && has_copy(words, logged, data);
  });
}

// Rule P5.
bool FlushCheck::can_be_reached(std::uint64_t location) const {
  const Words word = words_of(location, 1);
  const Words used = words_in_use(shared_.memory->read(Line::of(location)));
  const LineState* const state = shared_.lines.find(Line::of(location));
  if (state == nullptr) return (used & word) != 0;
  return (state->persisted & word) != 0 && ((used & word) != 0 || state->pointed);
}

// ---- Flushes

void FlushCheck::flush(const At& at, std::uint64_t address, trace::FlushKind kind,
                       bool by_program) {
  anything_unfenced_ = true;
  if (shared_.eadr) return;
  const Line number = Line::of(address);
  LineState& state = line(number);
  note_race(state);
  if (by_program) findings_.executed(at);
  const bool useless = is_useless(state);
  if (useless && by_program) {
    const Reason reason = state.flushed ? Reason::kFlushedBefore : Reason::kClean;
    if (shared_.useless_flushes.size() < kMostUselessFlushes) {
      shared_.useless_flushes.push_back({number, reason, at, state.flushed ? state.flush : At{}});
    } else {
      shared_.all_in_vain = false;
    }
  }
  state.known = true;
  state.flushed = true;
  ++state.flushes;
  if (useless && state.pending) return;
  const bool covers = state.dirty != 0;
  state.dirty = 0;
  state.clear_stores();
  if (covers || !state.pending) {
    state.flush = at;
    state.pending = true;
  }
  Unfenced& unfenced = add_unfenced(at, number, state, state.possibly_lost);
  unfenced.in_order = kind == trace::FlushKind::kClflush;
  unfenced.checked = by_program && covers && !unfenced.in_order;
}

// Rule P8.
bool FlushCheck::is_useless(const LineState& state) const {
  if (state.dirty != 0 || !state.tags.empty()) return false;
  if (!state.known) return shared_.from_the_start;
  if (state.pending) return state.flush.thread == thread_;
  return is_guaranteed(state, 0xff, order_, thread_);
}

void FlushCheck::flush_outside(const At& at, bool by_program) {
  anything_unfenced_ = true;
  if (!by_program || shared_.eadr) return;
  findings_.executed(at);
  findings_.add(Kind::kUselessFlush, Reason::kOutsidePm, at);
}

FlushCheck::Unfenced& FlushCheck::add_unfenced(const At& at, Line number, const LineState& state,
                                               Words words) {
  anything_unfenced_ = true;
  return unfenced_.emplace_back(Unfenced{.line = number,
                                         .at = at,
                                         .words = words,
                                         .version = state.version,
                                         .epoch = order_.now(thread_),
                                         .past_caches = false,
                                         .in_order = false,
                                         .checked = false});
}

bool FlushCheck::may_be_lost(Line number, Words words, std::uint32_t version) const {
  const LineState& state = *shared_.lines.find(number);
  const auto own = newly_guaranteed_.find(number.number);
  if (own != newly_guaranteed_.end() && own->second == version) return false;
  return state.version == version && !is_guaranteed(state, words, order_, thread_);
}

bool FlushCheck::is_flushed(Line number) const {
  const LineState& state = *shared_.lines.find(number);
  return state.pending && state.dirty == 0 && state.flush.thread == thread_;
}

bool FlushCheck::is_flushed_in_order(Line number) const {
  return is_flushed(number) && std::ranges::any_of(unfenced_, [&](const Unfenced& flush) {
           return flush.line == number && flush.in_order;
         });
}

// ---- Fences

void FlushCheck::fence(const At& at, bool checked) {
  if (checked) findings_.executed(at);
  if (checked && !shared_.eadr && !anything_unfenced_ &&
      (fenced_before_ || shared_.from_the_start)) {
    findings_.add(Kind::kUselessFence, Reason::kNone, at);
  }
  anything_unfenced_ = false;
  fenced_before_ = true;
  for (const Unfenced& flush : unfenced_) {
    if (flush.lock_released && (flush.fenced_by_other || stores_ > flush.stores))
      report_unlocked_flush(flush);
    end_flush(flush, at);
  }
  unfenced_.clear();
}

void FlushCheck::end_flush(const Unfenced& flush, const At& fence) {
  LineState& state = line(flush.line);
  const bool last = same(state.flush, flush.at);
  // Another thread has flushed and fenced the same stores before.
  const bool again = state.ended != 0 && state.fence_thread != thread_ &&
                     state.version == flush.version && (state.possibly_lost & flush.words) == 0;
  if (flush.past_caches) {
    state.possibly_lost &= static_cast<Words>(~flush.words);
  } else if (state.version == flush.version) {
    state.possibly_lost = 0;
  } else if (last) {
    state.possibly_lost = state.dirty;
  }
  if (last || state.version == flush.version) state.pending = false;
  if (again) {
    newly_guaranteed_[flush.line.number] = flush.version;
  } else if (flush.words != 0) {
    state.persisted |= flush.words;
    state.ended = flush.words;
    state.fence_thread = thread_;
    state.fence = order_.now(thread_);
    state.fence_operation = fence.operation;
    fenced_lines_[next_fenced_++ % fenced_lines_.size()] = flush.line;
  }
  if (last && !state.late.empty()) late_.push_back({flush.line, flush.at});
}

// Rule P2.
void FlushCheck::check_late(Line except) {
  if (late_.empty()) return;
  std::erase_if(late_, [&](const Late& late) {
    if (late.line == except) return false;
    LineState& state = line(late.line);
    if (state.dirty != 0 && same(state.flush, late.flush)) {
      for (const StoreList::Store& store : state.late.distinct()) {
        const Reason reason = state.is_sequence(store.words) ? Reason::kSequence : Reason::kNone;
        findings_.add(Kind::kStoredAfterFlush, reason, store.at, late.flush);
      }
      state.late.clear();
    }
    return true;
  });
}

// ---- Operations that depend on flushes

// Rule P3, for flushes at operation `since` or later.
void FlushCheck::depend(const At& at, Reason reason, std::uint64_t since) {
  for (Unfenced& flush : unfenced_) {
    if (flush.checked && flush.at.operation >= since) report_flush(flush, at, reason);
  }
}

void FlushCheck::report_flush(Unfenced& flush, const At& at, Reason reason) {
  const LineState& state = line(flush.line);
  // The line has been flushed again, or has other contents.
  if (state.racy || !same(state.flush, flush.at)) return;
  flush.checked = false;
  if (flush.fenced_by_other) {
    findings_.add(Kind::kFlushedByAnother, reason, flush.at, flush.other_fence);
  } else if (flush.lock_used) {
    findings_.add(Kind::kLockedFenceOnly, reason, flush.at, at);
  } else {
    const Kind kind = flush.past_caches ? Kind::kNtNotFenced : Kind::kFlushedNotFenced;
    findings_.add(kind, reason, flush.at, at);
  }
}

void FlushCheck::report_unlocked_flush(const Unfenced& flush) {
  if (flush.fenced_by_other) {
    findings_.add(Kind::kFlushedByAnother, Reason::kUnlock, flush.at, flush.other_fence);
  } else {
    findings_.add(Kind::kLockedFenceOnly, Reason::kUnlock, flush.at, flush.unlock);
  }
}

void FlushCheck::lock(const At& at, bool by_function) {
  if (locks_++ == 0) locked_since_ = at.operation;
  if (!by_function) return;
  for (Unfenced& flush : unfenced_) flush.lock_used = true;
}

// With nested locks, only the release of the outermost counts.
void FlushCheck::unlock(const At& at, bool by_function) {
  if (locks_ == 0 || --locks_ > 0) return;
  if (by_function) {
    note_unlock(at);
  } else {
    depend(at, Reason::kUnlock, locked_since_);
  }
  check_late(kNoLine);
}

// Rule P6: a fence before the thread's next store is sufficient.
void FlushCheck::note_unlock(const At& at) {
  for (Unfenced& flush : unfenced_) {
    flush.lock_used = true;
    if (!flush.checked || flush.at.operation < locked_since_ || line(flush.line).racy) continue;
    flush.checked = false;
    flush.lock_released = true;
    flush.unlock = at;
    flush.stores = stores_;
  }
}

void FlushCheck::other_fence(const At& at) {
  for (Unfenced& flush : unfenced_) {
    if (flush.fenced_by_other || !order_.before(thread_, flush.epoch, at.thread)) continue;
    flush.fenced_by_other = true;
    flush.other_fence = at;
  }
}

void FlushCheck::end(const At& at) {
  depend(at, Reason::kEnd, 0);
  for (const Unfenced& flush : unfenced_) {
    if (flush.lock_released) report_unlocked_flush(flush);
  }
  check_late(kNoLine);
}

// Rule P8.
void FlushCheck::finish(Findings& findings, const Shared& shared) {
  for (const UselessFlush& flush : shared.useless_flushes) {
    const LineState* const state = shared.lines.find(flush.line);
    if (!state->racy) findings.add(Kind::kUselessFlush, flush.reason, flush.at, flush.other);
  }
}

}  // namespace pmemsim::check
