#include "pmemsim/checks/rules/late_stores.hpp"

#include <algorithm>
#include <cstring>

namespace pmemsim::check {

// ---- Operations

void LateStores::begin_operation() {
  stores_.clear();
  has_region_ = replied_ = false;
}

void LateStores::request() {
  put_off();
  begin_operation();
}

void LateStores::store(const At& at, std::uint64_t address, std::uint64_t bytes) {
  if (replied_) begin_operation();
  const std::uint64_t end = address + bytes;
  while (address < end) {
    const Line line = Line::of(address);
    const std::uint64_t next = std::min(end, line.address() + kLineBytes);
    Own* const known = stores_.find(line);
    Own& store = known != nullptr ? *known : stores_.insert(line);
    store.at = at;
    store.words |= words_of(address, next - address);
    store.version = shared_.lines.find(line)->version;
    address = next;
  }
}

// ---- Replies

// Also returns true if other threads have stored to the line since: its state is unknown then.
bool LateStores::is_persistent(Line line, const Own& store) const {
  return !flushes_.may_be_lost(line, store.words, store.version) ||
         flushes_.is_flushed_in_order(line);
}

std::vector<std::uint64_t> LateStores::values_of(Line line, Words words) const {
  const LineData data = shared_.memory.read(line);
  std::vector<std::uint64_t> values;
  for (std::uint64_t i = 0; i < kLineBytes / kWordBytes; ++i) {
    if ((words >> i & 1) == 0) continue;
    std::memcpy(&values.emplace_back(), data.data() + i * kWordBytes, kWordBytes);
  }
  return values;
}

// Returns the words of the operation's persistent stores, in ascending order.
std::vector<std::uint64_t> LateStores::persistent_values() const {
  std::vector<std::uint64_t> all;
  stores_.for_each([&](Line line, const Own& store) {
    if (shared_.lines.find(line)->version != store.version || !is_persistent(line, store)) return;
    const std::vector<std::uint64_t> values = values_of(line, store.words);
    all.insert(all.end(), values.begin(), values.end());
  });
  std::ranges::sort(all);
  return all;
}

void LateStores::reply(const At& at, std::span<const Line> reported) {
  if (replied_ || stores_.size() == 0) return;
  put_off();
  replied_ = true;
  const std::vector<std::uint64_t> persistent = persistent_values();
  stores_.for_each([&](Line line, const Own& store) {
    const LineState& state = *shared_.lines.find(line);
    if (state.racy || is_persistent(line, store)) return;
    if (shared_.allocations.are_freed(line, store.words)) return;
    if (state.is_sequence(store.words)) return;
    if (std::ranges::find(reported, line) != reported.end()) return;
    const bool copied =
        has_region_ || std::ranges::all_of(values_of(line, store.words), [&](std::uint64_t value) {
          return std::ranges::binary_search(persistent, value);
        });
    if (!copied && flushes_.is_flushed(line)) {
      shared_.findings.add(Kind::kRepliesUnpersisted, Reason::kNone, at, store.at);
    } else {
      unpersisted_.push_back({line, store, state.flushes, at, copied});
    }
  });
}

// ---- Stores that become persistent after the reply

void LateStores::fence() {
  std::erase_if(unpersisted_, [&](const Unpersisted& each) {
    if (shared_.lines.find(each.line)->version != each.store.version ||
        !is_persistent(each.line, each.store)) {
      return false;
    }
    if (each.copied) {
      shared_.findings.add(Kind::kRepliesUnpersisted, Reason::kOwnStore, each.reply, each.store.at);
    } else {
      shared_.late.emplace_back(each.store.at, each.reply);
    }
    return true;
  });
}

// The thread's next operation begins, or the recording ends.
void LateStores::put_off() {
  for (const Unpersisted& each : unpersisted_) {
    shared_.put_off.emplace(shared_.findings.place_of(each.store.at),
                            shared_.findings.place_of(each.reply));
    shared_.flushed_later.add({.kind = Kind::kRepliesUnpersisted,
                               .reason = Reason::kOwnStore,
                               .at = each.reply,
                               .other = each.store.at,
                               .line = each.line,
                               .flushes = each.flushes});
  }
  unpersisted_.clear();
}

void LateStores::finish(Shared& shared) {
  for (const auto& [store, reply] : shared.late) {
    const bool put_off =
        shared.put_off.contains({shared.findings.place_of(store), shared.findings.place_of(reply)});
    shared.findings.add(Kind::kRepliesUnpersisted, put_off ? Reason::kOwnStore : Reason::kNone,
                        reply, store);
  }
}

}  // namespace pmemsim::check
