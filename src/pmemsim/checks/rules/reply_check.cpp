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

void ReplyCheck::request(std::uint64_t address, std::uint64_t bytes) {
  values_.overwrite(address, bytes);
  condition_.reset();
  stores_.request();
}

void ReplyCheck::branch(const At& at) {
  if (values_.none()) return;
  const ReadValues::Read* const read = values_.source_of_data(at.site);
  if (read != nullptr && !read->own) condition_ = *read;
}

void ReplyCheck::reply(const At& at, const Part& part) {
  const Reason reason = part.to_file ? Reason::kFile : Reason::kNone;
  if (part.in_pm) {
    check_pm_data(at, part.address, part.bytes, reason);
  } else {
    check_values(at, part.address, part.bytes, reason);
  }
  if (!part.last) return;
  if (!part.to_file) {
    stores_.reply(at, reported_);
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
  report(at, reason, line, words);
}

void ReplyCheck::check_branch(const At& at) {
  if (!condition_) return;
  const ReadValues::Read read = *condition_;
  condition_.reset();
  if (is_reported(read.line) || !flushes_.may_be_lost(read.line, read.words, read.version)) return;
  report(at, Reason::kBranch, read.line, read.words);
}

bool ReplyCheck::is_reported(Line line) const {
  return std::ranges::find(reported_, line) != reported_.end();
}

void ReplyCheck::report(const At& at, Reason reason, Line line, Words words) {
  const LineState& state = *lines_.find(line);
  findings_.add({.kind = Kind::kRepliesUnpersisted,
                 .reason = reason,
                 .at = at,
                 .other = store_of(state, words),
                 .line = line,
                 .flushes = state.flushes});
}

}  // namespace pmemsim::check
