#include "pmemsim/checks/rules/read_check.hpp"

#include <algorithm>
#include <vector>

namespace pmemsim::check {
namespace {

// False if the line may never be flushed after the store.
bool is_flushed_later(const ReadCheck::Built& each, const LineState& state) {
  return state.flushes != each.flushes;
}

void report(Findings& findings, const ReadCheck::Built& each) {
  findings.add(Kind::kReadsUnpersisted, Reason::kNone, each.read, each.store);
}

}  // namespace

void ReadCheck::load_pm(const At& at, std::uint64_t address, std::uint64_t bytes) {
  const Line line = Line::of(address);
  const LineState* const state = lines_.find(line);
  const Words words = words_of(address, bytes);
  const bool of_another = state != nullptr && state->version > 0 && !state->racy &&
                          state->store.thread != thread_ && (state->run & words) == words &&
                          order_.before(state->store.thread, state->stored, thread_);
  if (of_another && !is_guaranteed(*state, words, order_, thread_)) {
    by_site_[at.site] = {at, line, words, bytes == kWordBytes, state->version};
  } else if (!by_site_.empty()) {
    by_site_.erase(at.site);
  }
}

void ReadCheck::store_pm(const At& at, std::uint64_t address) {
  if (by_site_.empty()) return;
  const Read* const read = read_by(at, false);
  if (read == nullptr || read->line == Line::of(address) || !still_possibly_lost(*read)) return;
  shared_.built.push_back({read->line, lines_.find(read->line)->flushes, read->at, at});
  if (shared_.built.size() >= shared_.limit) report_certain();
}

// Bounds the memory of a recording with many findings.
void ReadCheck::report_certain() {
  std::erase_if(shared_.built, [&](const Built& each) {
    if (!is_flushed_later(each, *lines_.find(each.line))) return false;
    report(findings_, each);
    return true;
  });
  shared_.limit = std::max(shared_.limit, 2 * shared_.built.size());
}

void ReadCheck::load_volatile(const At& at, std::uint64_t address) {
  if (by_site_.empty() && by_address_.empty()) return;
  if (const auto known = by_address_.find(address); known != by_address_.end()) {
    by_site_[at.site] = known->second;
  } else {
    by_site_.erase(at.site);
  }
}

void ReadCheck::store_volatile(const At& at, std::uint64_t address) {
  if (by_site_.empty() && by_address_.empty()) return;
  if (const Read* const read = read_by(at, true)) {
    by_address_[address] = *read;
  } else {
    by_address_.erase(address);
  }
}

// Finds a read that the store depends on. If the store's address depends on it, the read must be of
// a pointer: an address computed from an index is in the same array for any index.
const ReadCheck::Read* ReadCheck::read_by(const At& store, bool data_only) const {
  const trace::SiteRecord& site = sites_.sites()[store.site];
  const auto all = sites_.dependences(site);
  for (std::size_t i = data_only ? site.address_dependences : 0; i < all.size(); ++i) {
    const auto read = by_site_.find(all[i] >> 8);
    if (read == by_site_.end()) continue;
    if (i >= site.address_dependences || read->second.pointer) return &read->second;
  }
  return nullptr;
}

// Returns false if other threads have stored to the line since: its state is unknown then.
bool ReadCheck::still_possibly_lost(const Read& read) const {
  const LineState& state = *lines_.find(read.line);
  const auto own = flushes_.newly_guaranteed().find(read.line.number);
  if (own != flushes_.newly_guaranteed().end() && own->second == read.version) return false;
  return state.version == read.version && !is_guaranteed(state, read.words, order_, thread_);
}

void ReadCheck::finish(Findings& findings, const Shared& shared, const Lines& lines) {
  for (const Built& each : shared.built) {
    const LineState& state = *lines.find(each.line);
    if (state.pending || state.dirty == 0 || is_flushed_later(each, state)) report(findings, each);
  }
}

}  // namespace pmemsim::check
