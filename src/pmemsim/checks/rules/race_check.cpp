#include "pmemsim/checks/rules/race_check.hpp"
#include "pmemsim/trace/dependence.hpp"

#include <algorithm>
#include <bit>
#include <tuple>
#include <utility>

namespace pmemsim::check {
namespace {

// Maximum number of branches between a load whose tags have been cleared and a dependent store.
constexpr std::size_t kMostBranches = 256;
// Returns the bytes of a range that lie in a word of a line; bit 0: the word's first byte.
std::uint8_t bytes_in_word(std::uint64_t address, std::uint64_t bytes, int word) {
  const auto begin = static_cast<std::int64_t>(address % kLineBytes) -
                     static_cast<std::int64_t>(word) * static_cast<std::int64_t>(kWordBytes);
  const auto size = static_cast<std::int64_t>(kWordBytes);
  const std::int64_t first = std::clamp<std::int64_t>(begin, 0, size);
  const std::int64_t last =
      std::clamp<std::int64_t>(begin + static_cast<std::int64_t>(bytes), 0, size);
  return static_cast<std::uint8_t>((1u << last) - (1u << first));
}

constexpr std::uint8_t kNotTaken = 1, kTaken = 2, kBothWays = kNotTaken | kTaken;

// True if the reader executes the same operations whether or not the loaded pointer has tags (R3).
bool is_decided(const RaceCheck::Race& race, const RaceCheck::Shared& shared,
                const CallMarks& marks) {
  if (shared.flushed.contains(race.read.at.site)) return false;
  const auto function = [&](std::uint32_t site) { return CallMarks::ordinary(marks[site].mark); };
  return std::ranges::all_of(race.branches, [&](std::uint32_t site) {
    return shared.ways[site] == kBothWays && function(site) == function(race.read.at.site);
  });
}

// Bounds the memory of a recording with many races: keeps one of those that R3 decides alike.
void forget_equal(RaceCheck::Shared& shared) {
  const auto key = [](const RaceCheck::Race& race) {
    return std::tie(race.read.at.site, race.dependent.site, race.branches);
  };
  std::ranges::sort(shared.untagged, {}, [](const RaceCheck::Race& race) {
    const At& at = race.read.at;
    return std::tie(at.site, race.dependent.site, race.branches, at.thread, at.operation);
  });
  const auto rest = std::ranges::unique(shared.untagged, {}, key);
  shared.untagged.erase(rest.begin(), rest.end());
  shared.limit = std::max(shared.limit, 2 * shared.untagged.size());
}

void add_race(Findings& findings, Reason reason, const RaceCheck::Race& race) {
  findings.add(Kind::kCouldReadUnpersisted, reason, race.read.at, race.dependent,
               Findings::Order{race.read.store, race.read.fence, race.read.store});
}

}  // namespace

RaceCheck::RaceCheck(Findings& findings, Shared& shared, const HappensBefore& order,
                     const trace::TraceFile& trace, CoreId thread)
    : findings_(findings),
      shared_(shared),
      order_(order),
      thread_(thread),
      races_known_(trace.first_frame(trace::FrameKind::kRaces) != nullptr),
      sites_(trace.sites()),
      flow_(trace.sites()),
      epochs_(trace.metadata().threads),
      counts_(trace.metadata().threads) {
  shared_.ways.resize(trace.sites().sites().size());
}

// ---- The order of operations (R1)

// True if another operation, in its thread's epoch, must happen before the current one.
bool RaceCheck::is_known(const At& other, Epoch epoch) const {
  return other.thread == thread_ || epochs_[other.thread] >= epoch ||
         counts_[other.thread] > other.operation;
}

// True if the order is only what the racing load of the current operation shows.
bool RaceCheck::is_own(const At& at, std::uint32_t thread) const {
  return newest_ && newest_->fenced && newest_->at.operation == at.operation &&
         newest_->fence.thread == thread;
}

void RaceCheck::acquire(const At& at, const trace::Operation& operation) {
  if (!trace::synchronises(operation)) return;
  const auto seen = order_.released(operation.object, HappensBefore::acquired_version(operation));
  for (std::uint32_t thread = 0; thread < seen.size(); ++thread) {
    const Epoch epoch =
        is_own(at, thread) ? std::min(seen[thread], newest_->fence_epoch - 1) : seen[thread];
    epochs_[thread] = std::max(epochs_[thread], epoch);
  }
}

void RaceCheck::wait(const At& at, std::uint32_t thread, std::uint64_t count) {
  if (is_own(at, thread)) count = std::min(count, newest_->fence.operation);
  counts_[thread] = std::max(counts_[thread], count);
}

// ---- Loads, and stores that depend on them (R2)

void RaceCheck::load_pm(const At& at, const trace::Operation& operation) {
  newest_ = racing_read(at, operation);
  load_ = at;
  loaded_ = operation.kind == trace::SiteKind::kLoad ? operation.address : 0;
  if (newest_) {
    flow_.loaded(at.site, *newest_);
  } else if (const Read* const pointer = flow_.of_pointer(at.site)) {
    Read through = *pointer;
    through.pointer = false;
    through.update.reset();
    flow_.loaded(at.site, through);
  } else {
    flow_.forget(at.site);
  }
}

// True if the load is known to read the last store that has been processed.
bool RaceCheck::reads_last_store(const trace::Operation& operation) const {
  if (!trace::is_atomic(operation.kind)) return races_known_;
  return order_.version(operation.object) == operation.version;
}

std::optional<RaceCheck::Read> RaceCheck::racing_read(const At& at,
                                                      const trace::Operation& operation) const {
  const Line line = Line::of(operation.address);
  const Stores* const stores = shared_.lines.find(line);
  if (stores == nullptr || stores->thread == thread_ || stores->words == 0) return {};
  if (!reads_last_store(operation)) return {};
  const std::uint64_t rest = kLineBytes - operation.address % kLineBytes;
  const Words words = words_of(operation.address, std::min<std::uint64_t>(operation.size, rest));
  if ((stores->words & words) != words) return {};
  bool same_bytes = true;  // The store has exactly the loaded bytes
  for (Words left = words; left != 0; left &= static_cast<Words>(left - 1)) {
    const int word = std::countr_zero(left);
    const std::uint8_t loaded = bytes_in_word(operation.address, operation.size, word);
    if ((stores->bytes[word] & loaded) != loaded) return {};
    same_bytes = same_bytes && stores->bytes[word] == loaded;
  }
  if (stores->fenced && is_known(stores->fence, stores->fence_epoch)) return {};
  const Stores::Store& last = stores->last[std::countr_zero(words)];
  const At store{stores->thread, last.site, last.context, last.operation};
  std::optional<std::uint64_t> update;
  const bool plain = operation.kind == trace::SiteKind::kLoad;
  if (plain && same_bytes && last.since_load != 0 && !is_known(store, last.epoch)) {
    update = last.operation - last.since_load;
  }
  return Read{.at = at,
              .line = line,
              .address = operation.address,
              .store = store,
              .update = update,
              .pointer = operation.size == kWordBytes,
              .untagged = (stores->untagged & words) != 0,
              .fenced = stores->fenced,
              .version = stores->version,
              .fence = stores->fence,
              .fence_epoch = stores->fence_epoch,
              .branches = branches_.size()};
}

void RaceCheck::depend(const At& at, const trace::Operation& operation) {
  const Read* const read = flow_.of_data_or_pointer(at.site, flow_.any);
  if (read == nullptr) return;
  if (read->line == Line::of(operation.address)) return update(at, operation, *read);
  Race race{*read, at, {}};
  if (read->untagged) {
    const auto begin = branches_.begin() + static_cast<std::ptrdiff_t>(read->branches);
    race.branches.assign(begin, branches_.end());
  }
  if (read->fenced) {
    if (!is_known(read->fence, read->fence_epoch)) note(std::move(race), read->fence);
    return;
  }
  const Stores& stores = *shared_.lines.find(read->line);
  if (stores.version != read->version) return;
  if (!stores.fenced) {
    shared_.unfenced[read->line.number].push_back(std::move(race));
  } else if (!is_known(stores.fence, stores.fence_epoch)) {
    note(std::move(race), stores.fence);
  }
}

// R5.
void RaceCheck::update(const At& at, const trace::Operation& operation, const Read& read) {
  const bool plain = operation.kind == trace::SiteKind::kStore;
  if (!read.update || !plain || read.address != operation.address) return;
  At load = read.store;
  load.operation = *read.update;
  findings_.add(Kind::kCouldLoseUpdate, Reason::kNone, read.at, at,
                Findings::Order{read.store, At{}, load});
}

// Returns the number of operations since the load of the update that the store ends; 0: it ends
// none.
std::uint32_t RaceCheck::since_load(const At& at, std::uint64_t address) const {
  if (loaded_ != address) return 0;
  const trace::SiteRecord& site = sites_.sites()[at.site];
  const auto data = sites_.dependences(site).subspan(site.address_dependences);
  const bool depends = std::ranges::any_of(data, [&](std::uint32_t dependence) {
    return trace::dependence_site(dependence) == load_.site;
  });
  return depends ? static_cast<std::uint32_t>(at.operation - load_.operation) : 0;
}

void RaceCheck::note(Race race, const At& fence) {
  race.read.fence = fence;
  if (!race.read.untagged) {
    shared_.found.insert(race.read.at.site);
    add_race(findings_, Reason::kNone, race);
  } else {
    shared_.untagged.push_back(std::move(race));
    if (shared_.untagged.size() >= shared_.limit) forget_equal(shared_);
  }
}

// ---- Stores, flushes and fences

void RaceCheck::store(const At& at, std::uint64_t address, std::uint64_t bytes, How how) {
  const Line line = Line::of(address);
  const Words words = words_of(address, bytes);
  Stores& stores = shared_.lines.at(line);
  if (how.clears_tags && stores.fenced && (stores.words & words) == words) {
    stores.untagged |= words;
    return;
  }
  if (stores.thread != thread_ || stores.fenced) {
    stores.thread = thread_;
    stores.words = stores.untagged = 0;
    stores.fenced = false;
  }
  stores.words |= words;
  ++stores.version;
  const std::uint32_t update = how.plain ? since_load(at, address) : 0;
  for (Words left = words; left != 0; left &= static_cast<Words>(left - 1)) {
    const int word = std::countr_zero(left);
    stores.bytes[word] = bytes_in_word(address, bytes, word);
    stores.last[word] = {at.operation, at.site, at.context, order_.now(thread_), update};
  }
}

void RaceCheck::store_past_caches(const At& at, std::uint64_t address, std::uint64_t bytes) {
  store(at, address, bytes, {.plain = false, .clears_tags = false});
  const Line line = Line::of(address);
  unfenced_.push_back({line, words_of(address, bytes), shared_.lines.find(line)->version});
}

void RaceCheck::ignore_store(std::uint64_t address) {
  Stores* const stores = shared_.lines.find(Line::of(address));
  if (stores == nullptr) return;
  stores->words = 0;
  ++stores->version;
}

void RaceCheck::flush(std::uint64_t address) {
  const Line line = Line::of(address);
  const Stores* const stores = shared_.lines.find(line);
  if (stores == nullptr) return;
  if (stores->words != 0) unfenced_.push_back({line, stores->words, stores->version});
  if (flow_.empty()) return;
  flow_.for_each([&](Read& read) {
    if (read.line != line) return;
    read.flushed = any_flushed_ = true;
    shared_.flushed.insert(read.at.site);
  });
}

void RaceCheck::fence(const At& at) {
  for (const Flush& flush : unfenced_) end_flush(at, flush);
  unfenced_.clear();
  if (any_flushed_) flow_.erase_if([](const Read& read) { return read.flushed; });
  any_flushed_ = false;
}

void RaceCheck::end_flush(const At& fence, const Flush& flush) {
  Stores& stores = *shared_.lines.find(flush.line);
  const bool all = stores.version == flush.version && stores.words == flush.words;
  if (all && stores.fenced && stores.fence.thread == thread_) return;
  if (!all || stores.fenced) {
    // It is unknown which of several stores or fences counts.
    stores.words &= static_cast<Words>(~flush.words);
    return;
  }
  stores.fenced = true;
  stores.fence = fence;
  stores.fence_epoch = order_.now(thread_);
  if (!shared_.unfenced.empty()) end_waiting(flush.line, stores);
}

// Reports the races that were waiting for this fence.
void RaceCheck::end_waiting(Line line, const Stores& stores) {
  const auto waiting = shared_.unfenced.find(line.number);
  if (waiting == shared_.unfenced.end()) return;
  for (Race& race : waiting->second) {
    if (race.read.version == stores.version) note(std::move(race), stores.fence);
  }
  shared_.unfenced.erase(waiting);
}

// ---- Branches (R3)

void RaceCheck::branch(std::uint32_t site, bool taken) {
  shared_.ways[site] |= taken ? kTaken : kNotTaken;
  if (flow_.empty()) return branches_.clear();
  branches_.push_back(site);
  if (branches_.size() < kMostBranches) return;
  flow_.erase_if([](const Read& read) { return read.untagged; });
  branches_.clear();
}

// ---- Findings

void RaceCheck::finish(Findings& findings, Shared& shared, const CallMarks& marks) {
  for (const Race& race : shared.untagged) {
    if (!is_decided(race, shared, marks)) continue;
    shared.found.insert(race.read.at.site);
    add_race(findings, Reason::kNone, race);
  }
  for (const Race& race : shared.untagged) {
    if (!shared.found.contains(race.read.at.site)) add_race(findings, Reason::kUnseenPath, race);
  }
}

}  // namespace pmemsim::check
