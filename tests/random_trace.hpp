// Random programs for property tests: threads that load, store, flush, fence, branch, lock and use
// atomics, over DRAM and PM, shared and private lines, recorded in a legal order.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "run_trace.hpp"

namespace pmemsim {

struct RandomTraceOptions {
  std::uint32_t seed = 1;
  std::uint32_t threads = 4;
  int operations = 2000;     // sum over all threads
  std::uint64_t lines = 64;  // shared lines in PM and in DRAM, and private lines of each thread
  bool flush_all = false;    // at the end one thread flushes every PM line that was stored to
  bool atomics = true;
  bool pm = true;  // declares persistent memory
  std::string pm_source = "test";
  bool persists = true;  // flushes, fences, stores past the caches
  bool regions = true;   // only together with `persists`
};

class RandomTrace {
 public:
  explicit RandomTrace(const RandomTraceOptions& options)
      : options_(options), random_(options.seed), threads_(options.threads) {
    if (options_.pm) builder.pm_region(kPmBase, kPmBase + kPmBytes, options_.pm_source);
    make_sites();
    for (std::uint32_t thread = 0; thread < options_.threads; ++thread) {
      builder.thread(thread);
      builder.mark(trace::MarkKind::kRoiBegin);
    }
    for (int i = 0; i < options_.operations; ++i) step(below(options_.threads));
    for (std::uint32_t thread = 0; thread < options_.threads; ++thread) finish(thread);
    if (options_.flush_all) flush_all();
  }

  trace::TraceBuilder builder;
  std::uint64_t instructions = 0;
  // Private PM lines that were flushed (and fenced) after their last store.
  std::set<std::uint64_t> persistent_lines;
  // Each lock's PM word, and the value that the recording's last critical section stored there.
  std::map<std::uint64_t, std::uint64_t> last_in_lock_order;

 private:
  static constexpr std::uint64_t kPmBytes = 64u << 20;
  static constexpr std::uint32_t kLocks = 3, kAtomics = 3;
  static constexpr std::uint32_t kFirstAtomic = kLocks, kFirstSignal = kLocks + kAtomics;

  struct Thread {
    std::uint32_t lock = UINT32_MAX;  // held
    int region_depth = 0;
    std::set<std::uint64_t> stored, flushed;  // private lines since their last flush, fence
  };
  struct Sites {
    std::uint32_t load, chase, wide_load, store, odd_store, non_temporal, copy_load, copy_store;
    std::uint32_t branch, execute, clwb, clflushopt, clflush, sfence, mfence, lfence;
    std::uint32_t atomic_load, atomic_store, atomic_update;
  };

  void make_sites() {
    using trace::FenceKind;
    using trace::FlushKind;
    using trace::SiteKind;
    const auto detailed = [&](SiteKind kind, auto detail) {
      return builder.site(kind, 0, 1, {}, {}, static_cast<std::uint8_t>(detail));
    };
    sites_.load = builder.site(SiteKind::kLoad, 8, 3);
    sites_.chase = builder.site(SiteKind::kLoad, 8, 1, {(sites_.load << 8) | 1});
    sites_.wide_load = builder.site(SiteKind::kLoad, 32, 2);
    sites_.store =
        builder.site(SiteKind::kStore, 8, 2, {(sites_.chase << 8) | 1}, {(sites_.load << 8) | 3});
    sites_.odd_store = builder.site(SiteKind::kStore, 16, 1);
    sites_.non_temporal = builder.site(SiteKind::kNonTemporal, 16, 1);
    sites_.copy_load = builder.site(SiteKind::kCopyLoad, 0, 1);
    sites_.copy_store = builder.site(SiteKind::kCopyStore, 0, 1);
    sites_.branch = builder.site(SiteKind::kBranch, 0, 2, {}, {(sites_.chase << 8) | 1});
    sites_.execute = builder.site(SiteKind::kExecute, 0, 11);
    sites_.clwb = detailed(SiteKind::kFlush, FlushKind::kClwb);
    sites_.clflushopt = detailed(SiteKind::kFlush, FlushKind::kClflushopt);
    sites_.clflush = detailed(SiteKind::kFlush, FlushKind::kClflush);
    sites_.sfence = detailed(SiteKind::kFence, FenceKind::kSfence);
    sites_.mfence = detailed(SiteKind::kFence, FenceKind::kMfence);
    sites_.lfence = detailed(SiteKind::kFence, FenceKind::kLfence);
    sites_.atomic_load = builder.site(SiteKind::kAtomicLoad, 8, 1);
    sites_.atomic_store = builder.site(SiteKind::kAtomicStore, 8, 1);
    sites_.atomic_update = builder.site(SiteKind::kAtomicUpdate, 8, 2);
  }

  std::uint32_t below(std::uint64_t limit) { return static_cast<std::uint32_t>(random_() % limit); }

  std::uint64_t private_line(std::uint32_t thread) {
    return kPmBase + (1u << 20) * (1 + thread) + below(options_.lines) * kLineBytes;
  }
  std::uint64_t shared_address(bool persistent) {
    return (persistent ? kPmBase : kDramBase) + below(options_.lines) * kLineBytes + below(7) * 8;
  }
  static std::uint64_t lock_word(std::uint32_t lock) { return kPmBase + (48u << 20) + lock * 8; }

  void count(std::uint32_t instructions_of_site) { instructions += instructions_of_site; }

  void step(std::uint32_t number) {
    Thread& thread = threads_[number];
    builder.thread(number);
    switch (below(20)) {
      case 0:
      case 1:
        builder.access(sites_.load, shared_address(below(2) == 0)), count(3);
        return;
      case 2:
        builder.access(sites_.chase, private_line(number)), count(1);
        return;
      case 3:  // may cross a line
        builder.access(sites_.wide_load, shared_address(true)), count(2);
        return;
      case 4:
        builder.store(sites_.store, shared_address(false), ++value_), count(2);
        return;
      case 5:
        builder.store(sites_.odd_store, shared_address(true), ++value_), count(1);
        return;
      case 6:
      case 7:
      case 8:
        return store_private(thread, number);
      case 9:
        builder.copy(sites_.copy_load, shared_address(false), 16), count(1);
        builder.copy(sites_.copy_store, shared_address(true), 9, ++value_), count(1);
        return;
      case 10:
        builder.branch(sites_.branch, below(3) == 0), count(2);
        return;
      case 11:
        builder.plain(sites_.execute), count(11);
        if (below(4) == 0) builder.external(100), count(100);
        return;
      case 12:
      case 13:
        if (options_.persists) flush(thread, number);
        return;
      case 14:
        if (options_.persists) fence(thread);
        return;
      case 15:
        return lock(thread);
      case 16:
        return unlock(thread);
      case 17:
        if (options_.atomics) atomic();
        return;
      case 18:
        if (options_.persists && options_.regions && below(8) == 0) region(thread);
        return;
      default:
        if (below(4) == 0) builder.plain(sites_.lfence), count(1);
        return;
    }
  }

  void store_private(Thread& thread, std::uint32_t number) {
    const std::uint64_t line = private_line(number);
    const bool past_caches = options_.persists && below(4) == 0;
    builder.store(past_caches ? sites_.non_temporal : sites_.store, line + 8 * below(6), ++value_);
    count(past_caches ? 1 : 2);
    thread.stored.insert(line);
    thread.flushed.erase(line);
    persistent_lines.erase(line);
  }
  void flush(Thread& thread, std::uint32_t number) {
    const std::uint32_t kinds[] = {sites_.clwb, sites_.clwb, sites_.clflushopt, sites_.clflush};
    const bool own = below(4) > 0;
    const std::uint64_t line = own && !thread.stored.empty() ? *thread.stored.begin()
                               : own                         ? private_line(number)
                                                             : shared_address(true);
    builder.access(kinds[below(4)], line), count(1);
    if (thread.stored.erase(line) > 0) thread.flushed.insert(line);
  }
  void fence(Thread& thread) {
    builder.plain(below(3) == 0 ? sites_.mfence : sites_.sfence), count(1);
    persistent_lines.insert(thread.flushed.begin(), thread.flushed.end());
    thread.flushed.clear();
  }
  void lock(Thread& thread) {
    const std::uint32_t lock = below(kLocks);
    if (thread.lock != UINT32_MAX || held_.contains(lock)) return;
    held_.insert(lock);
    thread.lock = lock;
    builder.sync(trace::SyncKind::kMutexLock, kDramBase + (1u << 20) + lock * 64, lock,
                 versions_[lock]);
    builder.store(sites_.store, lock_word(lock), ++value_), count(2);
    last_in_lock_order[lock_word(lock)] = value_;
  }
  void unlock(Thread& thread) {
    if (thread.lock == UINT32_MAX) return;
    builder.sync(trace::SyncKind::kMutexUnlock, kDramBase + (1u << 20) + thread.lock * 64,
                 thread.lock, ++versions_[thread.lock]);
    held_.erase(thread.lock);
    thread.lock = UINT32_MAX;
  }
  void atomic() {
    const std::uint32_t object = kFirstAtomic + below(kAtomics);
    const std::uint64_t address = kPmBase + (32u << 20) + object * 8;
    switch (below(4)) {
      case 0:
        builder.atomic(sites_.atomic_load, address, object, versions_[object]), count(1);
        return;
      case 1:
        builder.atomic(sites_.atomic_store, address, object, ++versions_[object], ++value_, false);
        count(1);
        return;
      case 2:  // a compare-exchange that failed
        builder.atomic(sites_.atomic_update, address, object, versions_[object], 0, false);
        count(2);
        return;
      default:
        builder.atomic(sites_.atomic_update, address, object, ++versions_[object], ++value_, true);
        count(2);
        return;
    }
  }
  void region(Thread& thread) {
    if (thread.region_depth < 2 && (thread.region_depth == 0 || below(2) == 0)) {
      builder.mark(trace::MarkKind::kRegionBegin,
                   static_cast<std::uint64_t>(++thread.region_depth));
    } else {
      builder.mark(trace::MarkKind::kRegionEnd, static_cast<std::uint64_t>(thread.region_depth--));
    }
  }
  void finish(std::uint32_t number) {
    Thread& thread = threads_[number];
    builder.thread(number);
    unlock(thread);
    while (thread.region_depth > 0) {
      builder.mark(trace::MarkKind::kRegionEnd, static_cast<std::uint64_t>(thread.region_depth--));
    }
    if (options_.persists) fence(thread);
    builder.sync(trace::SyncKind::kSignal, 0, kFirstSignal + number, 1);
  }
  void flush_all() {
    builder.thread(0);
    for (std::uint32_t thread = 0; thread < options_.threads; ++thread) {
      builder.sync(trace::SyncKind::kWait, 0, kFirstSignal + thread, 1);
    }
    const auto flush = [&](std::uint64_t line) { builder.access(sites_.clwb, line), count(1); };
    for (std::uint64_t i = 0; i <= options_.lines; ++i) {
      flush(kPmBase + i * kLineBytes);
      for (std::uint32_t thread = 0; thread < options_.threads; ++thread) {
        flush(kPmBase + (1u << 20) * (1 + thread) + i * kLineBytes);
      }
    }
    flush(kPmBase + (32u << 20));
    flush(lock_word(0));
    builder.plain(sites_.sfence), count(1);
  }

  const RandomTraceOptions options_;
  std::mt19937 random_;  // the same on every machine
  Sites sites_{};
  std::vector<Thread> threads_;
  std::set<std::uint32_t> held_;
  std::map<std::uint32_t, std::uint32_t> versions_;
  std::uint64_t value_ = 0;
};

}  // namespace pmemsim
