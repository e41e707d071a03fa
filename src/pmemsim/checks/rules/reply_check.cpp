#include "pmemsim/checks/rules/reply_check.hpp"

#include <algorithm>

namespace pmemsim::check {
namespace {

// Returns the last store to any of these words, or else to the line.
At store_of(const LineState& state, Words words) {
  std::optional<At> last;
  for (const StoreList* const list : {&state.stores, &state.late}) {
    for (const StoreList::Store& store : list->distinct()) {
      if ((store.words & words) == 0) continue;
      if (!last || last->operation < store.at.operation) last = store.at;
    }
  }
  return last.value_or(state.store);
}

}  // namespace

// ---- Operations

void ReplyCheck::begin_operation() {
  stores_.clear();
  condition_.reset();
  made_durable_ = replied_ = false;
}

void ReplyCheck::request(std::uint64_t address, std::uint64_t bytes) {
  values_.overwrite(address, bytes);
  give_up();
  begin_operation();
}

void ReplyCheck::store_pm(const At& at, std::uint64_t address, std::uint64_t bytes) {
  if (replied_) begin_operation();
  const std::uint64_t end = address + bytes;
  while (address < end) {
    const Line line = Line::of(address);
    const std::uint64_t next = std::min(end, line.address() + kLineBytes);
    OwnStore* const known = stores_.find(line);
    OwnStore& store = known != nullptr ? *known : stores_.insert(line);
    store.at = at;
    store.words |= words_of(address, next - address);
    store.version = lines_.find(line)->version;
    address = next;
  }
}

void ReplyCheck::branch(const At& at) {
  if (values_.none()) return;
  const ReadValues::Read* const read = values_.source_of_data(at.site);
  if (read != nullptr && !read->own) condition_ = *read;
}

// ---- Replies

void ReplyCheck::reply(const At& at, const Part& part) {
  const Reason reason = part.to_file ? Reason::kFile : Reason::kNone;
  if (part.in_pm) {
    check_pm_data(at, part.address, part.bytes, reason);
  } else {
    check_values(at, part.address, part.bytes, reason);
  }
  if (!part.last) return;
  if (!part.to_file) {
    check_own_stores(at);
    check_branch(at);
  }
  reported_.clear();
}

void ReplyCheck::check_pm_data(const At& at, std::uint64_t address, std::uint64_t bytes,
                               Reason reason) {
  const std::uint64_t end = address + bytes;
  while (address < end) {
    const Line line = Line::of(address);
    const std::uint64_t next = std::min(end, line.address() + kLineBytes);
    const LineState* const state = lines_.find(line);
    const bool known = state != nullptr && state->version > 0 &&
                       (state->store.thread == thread_ ||
                        order_.before(state->store.thread, state->stored, thread_));
    const Words words = known ? words_of(address, next - address) & state->run : 0;
    if (words != 0) check_data(at, line, words, state->version, reason);
    address = next;
  }
}

void ReplyCheck::check_values(const At& at, std::uint64_t address, std::uint64_t bytes,
                              Reason reason) {
  for (const ReadValues::Read& read : values_.sources_of_memory(address, bytes)) {
    check_data(at, read.line, read.words, read.version, reason);
  }
}

void ReplyCheck::check_data(const At& at, Line line, Words words, std::uint32_t version,
                            Reason reason) {
  const LineState& state = *lines_.find(line);
  if (state.racy || is_reported(line) || !flushes_.may_be_lost(line, words, version)) return;
  if (flushes_.is_flushed_in_order(line)) return;
  reported_.push_back(line);
  report_later(at, reason, line, store_of(state, words));
}

void ReplyCheck::check_own_stores(const At& at) {
  if (replied_ || stores_.size() == 0) return;
  give_up();
  replied_ = true;
  bool alone = !made_durable_;
  stores_.for_each([&](Line line, const OwnStore& store) {
    const LineState& state = *lines_.find(line);
    if (state.racy || state.version != store.version) return;
    if (!flushes_.may_be_lost(line, store.words, store.version) ||
        flushes_.is_flushed_in_order(line)) {
      alone = false;
      return;
    }
    if (is_reported(line) || allocations_.is_freed(line) || state.is_sequence(store.words)) return;
    unpersisted_.push_back({line, store, state.flushes, at, false});
  });
  std::erase_if(unpersisted_, [&](Unpersisted& each) {
    each.alone = alone;
    if (!alone || !flushes_.is_flushed(each.line)) return false;
    findings_.add(Kind::kRepliesUnpersisted, Reason::kNone, at, each.store.at);
    return true;
  });
}

void ReplyCheck::check_branch(const At& at) {
  if (!condition_) return;
  const ReadValues::Read read = *condition_;
  condition_.reset();
  if (is_reported(read.line) || !flushes_.may_be_lost(read.line, read.words, read.version)) return;
  report_later(at, Reason::kBranch, read.line, store_of(*lines_.find(read.line), read.words));
}

// ---- Own stores that become persistent after the reply

void ReplyCheck::fence() {
  std::erase_if(unpersisted_, [&](const Unpersisted& each) {
    if (lines_.find(each.line)->version != each.store.version ||
        flushes_.may_be_lost(each.line, each.store.words, each.store.version)) {
      return false;
    }
    findings_.add(Kind::kRepliesUnpersisted, each.alone ? Reason::kNone : Reason::kOwnStore,
                  each.reply, each.store.at);
    return true;
  });
}

// The thread's next operation begins, or the recording ends: the program has not made the stores
// persistent as part of their operation.
void ReplyCheck::give_up() {
  for (const Unpersisted& each : unpersisted_) {
    flushed_later_.add({.kind = Kind::kRepliesUnpersisted,
                        .reason = Reason::kOwnStore,
                        .at = each.reply,
                        .other = each.store.at,
                        .line = each.line,
                        .flushes = each.flushes});
  }
  unpersisted_.clear();
}

// ---- Findings

bool ReplyCheck::is_reported(Line line) const {
  return std::ranges::find(reported_, line) != reported_.end();
}

void ReplyCheck::report_later(const At& at, Reason reason, Line line, const At& store) {
  flushed_later_.add({.kind = Kind::kRepliesUnpersisted,
                      .reason = reason,
                      .at = at,
                      .other = store,
                      .line = line,
                      .flushes = lines_.find(line)->flushes});
}

}  // namespace pmemsim::check
