// Random programs of several threads whose regions share lines under locks, for crashing.
#pragma once

#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "pmemsim/crash/crash.hpp"
#include "pmemsim/machine/run/configuration.hpp"
#include "pmemsim/trace/reader.hpp"
#include "run_trace.hpp"

namespace pmemsim {

// Random regions, in an order that respects the locks and each thread's own order.
class SharedRegions {
 public:
  struct Options {
    std::uint32_t seed = 0;
    std::uint32_t threads = 2;
    int regions = 60;  // regions of all threads together
    // True: regions lock and unlock inside, so that others read their stores before they end.
    // False: locks are held from before the begin until after the end.
    bool locks_inside = false;
    // True: locks are taken inside a region, and held until after its end.
    bool locks_until_after_end = false;
    // True: regions take one more lock around accesses to DRAM, and release it.
    bool lock_around_dram = false;
    // True: some regions write their thread's own word of a line in which all threads have words,
    // at most once a region. (With more writes, regions could depend on each other.)
    bool false_sharing = false;
    // True: locks are words that threads read and write like any other, so that their accesses
    // race.
    bool plain_locks = false;
    std::uint64_t lines_per_lock = 4;
    // Number of different values that are stored again and again, so that lines are equal; 0: each
    // value is stored once.
    std::uint64_t values = 0;
  };
  explicit SharedRegions(const Options& options) : options_(options), random_(options.seed) {
    builder.pm_region(kPmBase, kPmBase + (1 << 20));
    load_ = builder.site(trace::SiteKind::kLoad, 8, 1);
    store_ = builder.site(trace::SiteKind::kStore, 8, 1);
    clwb_ = detailed(trace::FlushKind::kClwb, trace::SiteKind::kFlush);
    sfence_ = detailed(trace::FenceKind::kSfence, trace::SiteKind::kFence);
    for (int i = 0; i < options.regions; ++i) add_region();
  }

  trace::TraceBuilder builder;

 private:
  static constexpr std::uint32_t kLocks = 3;

  template <class Detail>
  std::uint32_t detailed(Detail detail, trace::SiteKind kind) {
    return builder.site(kind, 0, 1, {}, {}, static_cast<std::uint8_t>(detail));
  }
  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }

  void add_region() {
    const auto thread = static_cast<std::uint32_t>(below(options_.threads));
    builder.thread(thread);
    written_.clear();
    // Lines 0 to kLocks * lines_per_lock - 1 belong to locks, then come each thread's own.
    const std::uint64_t own = (kLocks + thread) * options_.lines_per_lock;
    const std::uint32_t first = static_cast<std::uint32_t>(below(kLocks));
    const std::uint32_t last = first + static_cast<std::uint32_t>(below(kLocks - first));
    const bool inside = options_.locks_inside && below(3) > 0;
    if (!inside && !options_.locks_until_after_end) lock(first, last);
    builder.mark(trace::MarkKind::kRegionBegin, 1);
    accesses(own, own);
    if (inside || options_.locks_until_after_end) lock(first, last);
    if (options_.lock_around_dram) access_dram();
    accesses(first * options_.lines_per_lock, last * options_.lines_per_lock);
    if (options_.false_sharing && below(2) == 0) store(kPmBase + (1 << 16) + thread * 8);
    if (inside) unlock(first, last);
    accesses(own, own);
    flush();
    builder.mark(trace::MarkKind::kRegionEnd, 1);
    if (!inside) unlock(first, last);
    if (below(4) == 0) builder.external(static_cast<std::uint32_t>(below(2000)));
    if (options_.plain_locks) builder.end_turn(turns_++);
  }
  void lock(std::uint32_t first, std::uint32_t last) {
    for (std::uint32_t lock = first; lock <= last; ++lock) {
      const std::uint64_t address = kDramBase + lock * 64;
      if (options_.plain_locks) {
        builder.access(load_, address);
        builder.store(store_, address, 1);
      } else {
        builder.sync(trace::SyncKind::kMutexLock, address, lock, versions_[lock]);
      }
    }
  }
  void unlock(std::uint32_t first, std::uint32_t last) {
    for (std::uint32_t lock = first; lock <= last; ++lock) {
      const std::uint64_t address = kDramBase + lock * 64;
      if (options_.plain_locks) {
        builder.store(store_, address, 0);
      } else {
        builder.sync(trace::SyncKind::kMutexUnlock, address, lock, ++versions_[lock]);
      }
    }
  }
  // Loads and stores words of the lines from `first` up to, but not including, `last +
  // lines_per_lock`.
  void accesses(std::uint64_t first, std::uint64_t last) {
    const std::uint64_t lines = last + options_.lines_per_lock - first;
    for (std::uint64_t i = below(8); i > 0; --i) {
      const std::uint64_t address = kPmBase + (first + below(lines)) * kLineBytes + below(8) * 8;
      if (below(2) == 0) {
        builder.access(load_, address);
        continue;
      }
      store(address);
    }
  }
  void store(std::uint64_t address) {
    ++value_;
    builder.store(store_, address, options_.values == 0 ? value_ : below(options_.values));
    written_.insert(address / kLineBytes);
  }
  void access_dram() {
    lock(kLocks, kLocks);
    builder.access(load_, kDramBase + (1 << 20));
    builder.store(store_, kDramBase + (1 << 20), ++value_);
    unlock(kLocks, kLocks);
  }
  // Flushes the stored lines, for designs that leave this to the program.
  void flush() {
    const auto purpose = [&](trace::Purpose purpose) {
      builder.mark(trace::MarkKind::kPurpose, static_cast<std::uint64_t>(purpose));
    };
    purpose(trace::Purpose::kDataFlush);
    for (const std::uint64_t line : written_) builder.access(clwb_, line * kLineBytes);
    builder.plain(sfence_);
    purpose(trace::Purpose::kProgram);
  }

  const Options options_;
  std::mt19937_64 random_;
  std::uint32_t load_, store_, clwb_, sfence_;
  std::map<std::uint32_t, std::uint32_t> versions_;
  std::set<std::uint64_t> written_;  // lines, by the region
  std::uint64_t value_ = 0, turns_ = 0;
};

struct SharedRun {
  std::string problem;
  std::uint64_t crashes, undone;
};
// Runs the program, and crashes the design at every crash point, each time also with a few more
// lines written back.
inline SharedRun crash_program(trace::TraceBuilder& builder, const Configuration& configuration) {
  const TemporaryTrace temporary(builder);
  const CrashResult result =
      crash(trace::TraceFile(temporary.path()), configuration, {.subsets = 2}, {});
  std::string problem;
  if (result.explanation) {
    for (const std::string& line : result.explanation->lines) problem += line + "\n";
  }
  return {problem, result.points, result.repaired};
}
inline SharedRun crash_shared(const SharedRegions::Options& options,
                              const Configuration& configuration) {
  SharedRegions program(options);
  return crash_program(program.builder, configuration);
}

}  // namespace pmemsim
