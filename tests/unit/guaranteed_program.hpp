// Recordings of small programs of two threads with regions, locks, flushes and fences. Also the
// images that a crash may leave, by the definition of a design's guarantees: each instant of a
// crash and each set of units is checked against each guarantee.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include "pmemsim/designs/interface/promises.hpp"
#include "run_trace.hpp"

namespace pmemsim::guaranteed {

enum class Act : std::uint8_t {
  kBegin,  // begin of a region
  kEnd,
  kStore,
  kLoad,
  kFlush,
  kOrder,    // a fence that only orders
  kDurable,  // a fence that makes stores durable
  kBareFence,
  kLock,
  kUnlock,
  kFenceRegions,
};

struct Deed {
  std::uint32_t thread;
  Act act;
  std::uint64_t word = 0;  // word of an access, 8 words a line; of a flush: any word in the line
  std::uint64_t value = 0;
};
using Deeds = std::vector<Deed>;  // in an order that respects the locks and each thread's own order

inline constexpr std::uint64_t kWordsOfLine = 8;
// Contents of the words.
using WordValues = std::vector<std::uint64_t>;
using WordImages = std::set<WordValues>;

// ---- As a recording -----------------------------------------------------------------------------

class DeedRecorder {
 public:
  // `flushes_regions`: the program flushes a region's lines at the region's end, for designs that
  // require this.
  explicit DeedRecorder(const Deeds& deeds, std::uint32_t threads = 2, bool flushes_regions = false)
      : flushes_regions_(flushes_regions), written_(threads) {
    builder.pm_region(kPmBase, kPmBase + (1 << 20));
    for (std::uint32_t thread = 0; thread < threads; ++thread) {
      builder.thread(thread).plain(execute_);
    }
    for (const Deed& deed : deeds) put(deed);
  }
  trace::TraceBuilder builder;

 private:
  std::uint32_t fence_site(trace::FenceMeaning) {
    return builder.site(trace::SiteKind::kFence, 0, 1, {}, {},
                        static_cast<std::uint8_t>(trace::FenceKind::kSfence));
  }
  void fence(std::uint32_t site, trace::FenceMeaning meaning) {
    builder.mark(trace::MarkKind::kNextFence, static_cast<std::uint64_t>(meaning));
    builder.plain(site);
  }
  void flush(const std::set<std::uint64_t>& lines) {
    const auto purpose = [&](trace::Purpose purpose) {
      builder.mark(trace::MarkKind::kPurpose, static_cast<std::uint64_t>(purpose));
    };
    purpose(trace::Purpose::kDataFlush);
    for (const std::uint64_t line : lines) builder.access(clwb_, line * kLineBytes);
    builder.plain(bare_);
    purpose(trace::Purpose::kProgram);
  }
  void put(const Deed& deed) {
    builder.thread(deed.thread);
    const std::uint64_t address = kPmBase + deed.word * 8;
    switch (deed.act) {
      case Act::kBegin:
        written_[deed.thread].clear();
        return builder.mark(trace::MarkKind::kRegionBegin, 1);
      case Act::kEnd:
        if (flushes_regions_) flush(written_[deed.thread]);
        return builder.mark(trace::MarkKind::kRegionEnd, 1);
      case Act::kStore:
        written_[deed.thread].insert(address / kLineBytes);
        return builder.store(store_, address, deed.value);
      case Act::kLoad:
        return builder.access(load_, address);
      case Act::kFlush:
        return builder.access(clwb_, address);
      case Act::kOrder:
        return fence(order_, trace::FenceMeaning::kOrder);
      case Act::kDurable:
        return fence(durable_, trace::FenceMeaning::kDurable);
      case Act::kBareFence:
        return builder.plain(bare_);
      case Act::kLock:
        return builder.sync(trace::SyncKind::kMutexLock, kDramBase, 0, version_);
      case Act::kUnlock:
        return builder.sync(trace::SyncKind::kMutexUnlock, kDramBase, 0, ++version_);
      case Act::kFenceRegions:
        return builder.mark(trace::MarkKind::kFenceRegions);
    }
  }

  const std::uint32_t execute_ = builder.site(trace::SiteKind::kExecute);
  const std::uint32_t store_ = builder.site(trace::SiteKind::kStore, 8);
  const std::uint32_t load_ = builder.site(trace::SiteKind::kLoad, 8);
  const std::uint32_t clwb_ = builder.site(trace::SiteKind::kFlush, 0);
  const std::uint32_t order_ = fence_site(trace::FenceMeaning::kOrder);
  const std::uint32_t durable_ = fence_site(trace::FenceMeaning::kDurable);
  const std::uint32_t bare_ = fence_site(trace::FenceMeaning::kBare);
  std::uint32_t version_ = 0;
  const bool flushes_regions_;
  std::vector<std::set<std::uint64_t>> written_;  // lines, by thread, since its region's begin
};

// ---- By the definition --------------------------------------------------------------------------

class GuaranteesDefinition {
 public:
  GuaranteesDefinition(const Deeds& deeds, const Promises& promises, std::size_t lines)
      : deeds_(deeds), promises_(promises), words_(lines * kWordsOfLine) {
    std::array<std::size_t, 2> open{kOutside, kOutside};
    for (std::size_t at = 0; at < deeds.size(); ++at) {
      const Deed& deed = deeds[at];
      std::size_t& region = open[deed.thread];
      if (deed.act == Act::kBegin && promises.whole_regions) {
        region = units_.size();
        units_.push_back({deed.thread, true, at, at});
      }
      if (deed.act == Act::kStore && region == kOutside) {
        units_.push_back({deed.thread, false, at, at});
      }
      of_.push_back(deed.act == Act::kStore && region == kOutside ? units_.size() - 1 : region);
      if (region != kOutside) units_[region].last = at;  // its end, if it has one
      if (deed.act == Act::kEnd) region = kOutside;
    }
  }
  std::size_t units() const { return units_.size(); }

  WordImages images() const {
    WordImages images;
    for (Set set = 0; set < Set{1} << units_.size(); ++set) {
      if (in_order(set) && some_instant_leaves(set)) images.insert(image(set));
    }
    return images;
  }

 private:
  using Set = std::uint64_t;
  static constexpr std::size_t kOutside = SIZE_MAX;
  struct Unit {
    std::uint32_t thread;
    bool region;
    std::size_t first, last;  // deeds
  };

  static bool has(Set set, std::size_t unit) { return (set >> unit & 1) != 0; }
  bool is(std::size_t at, Act act) const { return deeds_[at].act == act; }
  bool is_fence(std::size_t at) const {
    return is(at, Act::kOrder) || is(at, Act::kDurable) || is(at, Act::kBareFence);
  }
  std::uint64_t line(std::size_t at) const { return deeds_[at].word / kWordsOfLine; }
  bool region_of(std::size_t at) const { return of_[at] != kOutside && units_[of_[at]].region; }
  // The last store to the word before.
  std::optional<std::size_t> writer(std::uint64_t word, std::size_t before) const {
    while (before-- > 0) {
      if (is(before, Act::kStore) && deeds_[before].word == word) return before;
    }
    return {};
  }

  bool in_order(Set set) const {
    for (std::size_t unit = 0; unit < units_.size(); ++unit) {
      if (has(set, unit) && !has_what_it_follows(set, unit)) return false;
    }
    return true;
  }
  bool has_what_it_follows(Set set, std::size_t unit) const {
    return (units_[unit].region ? region_follows(set, unit) : store_follows(set, unit)) &&
           fences_before(set, unit) && reads_before(set, unit);
  }

  // Rule 3, and the stores that a region's flushes cover.
  bool region_follows(Set set, std::size_t unit) const {
    for (std::size_t other = 0; other < unit; ++other) {
      const bool before = units_[other].region && units_[other].thread == units_[unit].thread;
      if (before && !has(set, other)) return false;
      if (stored_before(other, units_[unit]) && promises_.stores_in_order && !has(set, other)) {
        return false;
      }
    }
    for (std::size_t at = units_[unit].first; at <= units_[unit].last; ++at) {
      if (of_[at] != unit) continue;
      if (is(at, Act::kFlush) && flush_is_the_regions(at)) {
        for (const std::size_t covered : covered_by_flush(at)) {
          if (!has(set, covered)) return false;
        }
      }
      if (!is(at, Act::kStore) && !is(at, Act::kLoad)) continue;
      const auto last = writer(deeds_[at].word, at);
      if (last && region_of(*last) && !has(set, of_[*last])) return false;
    }
    return true;
  }
  // True if `other` is a store of the unit's thread, outside regions, before the unit begins.
  bool stored_before(std::size_t other, const Unit& unit) const {
    return !units_[other].region && units_[other].thread == unit.thread &&
           units_[other].first < unit.first;
  }

  // Rule 4. (Words of a line are one thread's, or stored to under the lock.)
  bool store_follows(Set set, std::size_t unit) const {
    for (std::size_t other = 0; other < unit; ++other) {
      if (units_[other].region || has(set, other)) continue;
      if (line(units_[other].first) == line(units_[unit].first)) return false;
      if (promises_.stores_in_order && stored_before(other, units_[unit])) return false;
    }
    return true;
  }
  bool reads_before(Set set, std::size_t unit) const {
    if (!promises_.reads_in_order) return true;
    for (std::size_t at = 0; at < units_[unit].last; ++at) {
      if (!is(at, Act::kLoad) || deeds_[at].thread != units_[unit].thread) continue;
      const auto last = writer(deeds_[at].word, at);
      if (last && deeds_[*last].thread != units_[unit].thread && !has(set, of_[*last])) {
        return false;
      }
    }
    return true;
  }

  // Rule 5: fences of its thread before it, for a region up to its end.
  bool fences_before(Set set, std::size_t unit) const {
    for (std::size_t at = 0; at < units_[unit].last; ++at) {
      if (!is_fence(at) || deeds_[at].thread != units_[unit].thread) continue;
      if (!has_all(set, covered_by_fence(at))) return false;
    }
    return true;
  }
  static bool has_all(Set set, const std::vector<std::size_t>& units) {
    return std::ranges::all_of(units, [&](std::size_t unit) { return has(set, unit); });
  }
  bool flush_is_the_regions(std::size_t at) const {
    if (!promises_.commits_cover_flushes || !region_of(at)) return false;
    for (std::size_t before = 0; before < at; ++before) {
      const bool same = is(before, Act::kStore) && of_[before] == of_[at];
      if (same && line(before) == line(at)) return true;
    }
    return false;
  }
  std::vector<std::size_t> covered_by_flush(std::size_t at) const {
    std::vector<std::size_t> covered;
    const std::uint64_t first = line(at) * kWordsOfLine;
    for (std::uint64_t word = first; word < first + kWordsOfLine; ++word) {
      const auto last = writer(word, at);
      if (last && !region_of(*last)) covered.push_back(of_[*last]);
    }
    return covered;
  }
  std::vector<std::size_t> covered_by_fence(std::size_t fence) const {
    std::vector<std::size_t> covered;
    for (std::size_t at = 0; at < fence; ++at) {
      if (deeds_[at].thread != deeds_[fence].thread) continue;
      const bool all = promises_.fences == FencePromise::kStores;
      if (all && is(at, Act::kStore) && !region_of(at)) covered.push_back(of_[at]);
      if (!is(at, Act::kFlush) || flush_is_the_regions(at)) continue;
      for (const std::size_t unit : covered_by_flush(at)) covered.push_back(unit);
    }
    return covered;
  }

  // An instant: how many deeds each thread has done.
  using Instant = std::array<std::size_t, 2>;
  bool some_instant_leaves(Set set) const {
    Instant ends{};
    for (const Deed& deed : deeds_) ++ends[deed.thread];
    Instant instant{};
    for (instant[0] = 0; instant[0] <= ends[0]; ++instant[0]) {
      for (instant[1] = 0; instant[1] <= ends[1]; ++instant[1]) {
        if (leaves(instant, set)) return true;
      }
    }
    return false;
  }
  bool leaves(const Instant& instant, Set set) const {
    std::array<std::size_t, 2> met{};
    std::vector<bool> done;
    for (const Deed& deed : deeds_) done.push_back(met[deed.thread]++ < instant[deed.thread]);
    return locks_are_taken(done) && nothing_to_come(done, set) && guarantees_hold(done, set);
  }
  // True if no thread acquires a lock before its previous holder has released it.
  bool locks_are_taken(const std::vector<bool>& done) const {
    bool given_back = true;
    for (std::size_t at = 0; at < deeds_.size(); ++at) {
      if (is(at, Act::kUnlock)) given_back = done[at];
      if (is(at, Act::kLock) && done[at] && !given_back) return false;
    }
    return true;
  }
  // True if all operations of the set's units are done. (A region can be in an image right before
  // its end.)
  bool nothing_to_come(const std::vector<bool>& done, Set set) const {
    for (std::size_t at = 0; at < deeds_.size(); ++at) {
      if (!done[at] && !is(at, Act::kEnd) && of_[at] != kOutside && has(set, of_[at])) return false;
    }
    return true;
  }
  bool guarantees_hold(const std::vector<bool>& done, Set set) const {
    for (std::size_t at = 0; at < deeds_.size(); ++at) {
      if (done[at] && !fulfils_guarantee_of(at, set)) return false;
    }
    return true;
  }
  // Rules 6 to 8.
  bool fulfils_guarantee_of(std::size_t at, Set set) const {
    const bool at_end = promises_.regions == RegionPromise::kAtEnd;
    if (is(at, Act::kEnd) && at_end && region_of(at) && !has(set, of_[at])) return false;
    if (is(at, Act::kFenceRegions)) {
      for (std::size_t before = 0; before < at; ++before) {
        const bool own = deeds_[before].thread == deeds_[at].thread;
        if (own && is(before, Act::kEnd) && region_of(before) && !has(set, of_[before]))
          return false;
      }
    }
    if (is(at, Act::kStore) && !region_of(at) && promises_.caches_persist) return has(set, of_[at]);
    const bool durable =
        is_fence(at) && (!is(at, Act::kOrder) || promises_.fences == FencePromise::kFlushed);
    return !durable || has_all(set, covered_by_fence(at));
  }

  // Rule 1.
  WordValues image(Set set) const {
    WordValues values(words_);
    for (std::size_t at = 0; at < deeds_.size(); ++at) {
      if (is(at, Act::kStore) && has(set, of_[at])) values[deeds_[at].word] = deeds_[at].value;
    }
    return values;
  }

  const Deeds& deeds_;
  const Promises promises_;
  const std::size_t words_;
  std::vector<Unit> units_;
  std::vector<std::size_t> of_;  // by deed: the unit that it is part of
};

// ---- Random programs ----------------------------------------------------------------------------

// Each thread has lines of its own, and the lock protects the same number of lines. A region that
// has released the lock does not acquire it again.
class RandomDeeds {
 public:
  struct Options {
    std::uint32_t least = 4, most = 20;  // deeds
    std::uint32_t threads = 2;
    std::uint32_t own_lines = 1, lock_lines = 2;
    std::uint32_t words = 2;   // words of a line
    bool locks_inside = true;  // True if regions acquire and release the lock
  };
  RandomDeeds(std::mt19937& random, const Options& options) : random_(random), options_(options) {
    const std::uint32_t steps = options.least + below(options.most - options.least + 1);
    for (std::uint32_t step = 0; step < steps; ++step) add(below(options.threads));
    for (std::uint32_t thread = 0; thread < options.threads; ++thread) {
      if (open_[thread]) put(thread, Act::kEnd);
    }
  }
  Deeds deeds;

 private:
  static constexpr std::uint32_t kNoThread = UINT32_MAX;
  std::uint32_t below(std::uint32_t most) { return static_cast<std::uint32_t>(random_() % most); }

  void put(std::uint32_t thread, Act act) {
    deeds.push_back({thread, act, word(thread), ++value_});
  }
  std::uint64_t word(std::uint32_t thread) {
    const bool shared = holder_ == thread && below(3) > 0;
    const std::uint64_t line =
        shared ? options_.threads * options_.own_lines + below(options_.lock_lines)
               : thread * options_.own_lines + below(options_.own_lines);
    return line * kWordsOfLine + below(options_.words);
  }
  void add(std::uint32_t thread) {
    switch (below(17)) {
      case 0:
      case 1:
        put(thread, open_[thread] ? Act::kEnd : Act::kBegin);
        open_[thread] = !open_[thread];
        released_[thread] = false;
        return;
      case 2:
      case 3:
      case 14:
      case 15:
      case 16:
        return lock(thread);
      case 4:
      case 5:
        return put(thread, Act::kFlush);
      case 6:
        return put(thread, Act::kOrder);
      case 7:
        return put(thread, below(2) == 0 ? Act::kDurable : Act::kBareFence);
      case 8:
      case 11:
        return put(thread, Act::kFenceRegions);
      case 9:
      case 10:
        return put(thread, Act::kLoad);
      default:
        return put(thread, Act::kStore);
    }
  }
  void lock(std::uint32_t thread) {
    if (open_[thread] && !options_.locks_inside) return;
    if (holder_ == thread) {
      put(thread, Act::kUnlock);
      released_[thread] = open_[thread];
      holder_ = kNoThread;
    } else if (holder_ == kNoThread && !released_[thread]) {
      put(thread, Act::kLock);
      holder_ = thread;
    }
  }

  std::mt19937& random_;
  const Options options_;
  std::array<bool, 4> open_{}, released_{};
  std::uint32_t holder_ = kNoThread;
  std::uint64_t value_ = 0;
};

}  // namespace pmemsim::guaranteed
