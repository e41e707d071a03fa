// Operations that a program may execute itself beside a hardware log: it flushes lines of its
// regions, outside and inside them, stores past the caches and across lines, and waits for its
// regions. Each program is crashed everywhere, on every log.
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "pmemsim/crash/crash.hpp"
#include "unit/crash_machine.hpp"

namespace pmemsim {
namespace {

using trace::FlushKind;
using trace::MarkKind;
using trace::SiteKind;
using trace::SyncKind;
using trace::TraceBuilder;

// Rounds of a program of one thread or more, which makes values of its own.
class OwnProgram {
 public:
  OwnProgram() { builder.pm_region(kPmBase, kPmBase + (1 << 20)); }

  void region(const std::function<void()>& body) {
    builder.mark(MarkKind::kRegionBegin, 1);
    written_.clear();
    body();
    // Some designs leave the flush of stored lines to the program.
    purpose(trace::Purpose::kDataFlush);
    for (const std::uint64_t line : written_) builder.access(clwb_, line * kLineBytes);
    fence();
    purpose(trace::Purpose::kProgram);
    builder.mark(MarkKind::kRegionEnd, 1);
  }
  void store(std::uint64_t line, std::uint64_t word) {
    builder.store(store_, written(at(line, word)), ++value_);
  }
  void stream(std::uint64_t line, std::uint64_t word) {
    builder.store(non_temporal_, written(at(line, word)), ++value_);
  }
  // Exchanges 8 bytes at any address; each 4-byte half gets a new value.
  void exchange(std::uint64_t address) {
    written(address + 7);
    const std::uint64_t value = ++value_;
    builder.atomic(update_, written(address), 0, ++version_, value << 32 | value, true);
  }
  void flush(std::uint64_t line) { builder.access(clwb_, at(line, 0)); }
  void flush_and_invalidate(std::uint64_t line) { builder.access(clflushopt_, at(line, 0)); }
  void fence() { builder.plain(sfence_); }
  void lock(std::uint32_t version) { builder.sync(SyncKind::kMutexLock, kDramBase, 0, version); }
  void unlock(std::uint32_t version) {
    builder.sync(SyncKind::kMutexUnlock, kDramBase, 0, version);
  }
  static std::uint64_t at(std::uint64_t line, std::uint64_t word) {
    return kPmBase + line * kLineBytes + word * 8;
  }

  TraceBuilder builder;

 private:
  template <class Detail>
  std::uint32_t detailed(SiteKind kind, Detail detail) {
    return builder.site(kind, 0, 1, {}, {}, static_cast<std::uint8_t>(detail));
  }
  std::uint64_t written(std::uint64_t address) {
    written_.insert(address / kLineBytes);
    return address;
  }
  void purpose(trace::Purpose purpose) {
    builder.mark(MarkKind::kPurpose, static_cast<std::uint64_t>(purpose));
  }
  const std::uint32_t store_ = builder.site(SiteKind::kStore, 8);
  const std::uint32_t non_temporal_ = builder.site(SiteKind::kNonTemporal, 8);
  const std::uint32_t update_ = builder.site(SiteKind::kAtomicUpdate, 8);
  const std::uint32_t clwb_ = detailed(SiteKind::kFlush, FlushKind::kClwb);
  const std::uint32_t clflushopt_ = detailed(SiteKind::kFlush, FlushKind::kClflushopt);
  const std::uint32_t sfence_ = detailed(SiteKind::kFence, trace::FenceKind::kSfence);
  std::set<std::uint64_t> written_;  // lines, by the region
  std::uint64_t value_ = 0;
  std::uint32_t version_ = 0;
};

struct Log {
  std::string_view atomicity, setting = "log.free_entries", value = "16";
};
constexpr Log kLogs[] = {{"hw-undo"}, {"hw-redo"}, {"hw-redo", "hw_redo.in_place", "lazy"},
                         {"lad"},     {"asap"},    {"asap", "asap.dpo_coalescing", "false"}};

CrashResult crash_program(OwnProgram& program, const std::vector<KeyValue>& design,
                          std::string_view wpq_entries = "8") {
  const TemporaryTrace temporary(program.builder);
  return crash(trace::TraceFile(temporary.path()), crash_configuration(design, wpq_entries),
               {.subsets = 1}, {});
}

void expect_right(OwnProgram& program, std::string_view cores = "1") {
  for (const Log& log : kLogs) {
    for (const std::string_view latency_factor : {"1", "8"}) {
      const CrashResult result = crash_program(program,
                                               {{"atomicity", log.atomicity},
                                                {log.setting, log.value},
                                                {"core.count", cores},
                                                {"pm.latency_factor", latency_factor}},
                                               latency_factor == "1" ? "8" : "2");
      EXPECT_GT(result.points, 20) << log.atomicity;
      std::string explanation;
      if (result.explanation) {
        for (const std::string& line : result.explanation->lines) explanation += line + "\n";
      }
      EXPECT_EQ(result.violations, 0) << log.atomicity << " " << log.value << "\n" << explanation;
    }
  }
}

OwnProgram flushes_after_regions() {
  OwnProgram program;
  for (std::uint64_t i = 0; i < 20; ++i) {
    program.region([&] {
      program.store(i % 3, 0);
      program.store(i % 3, 1);
    });
    program.store(i % 3, 1);
    program.flush(i % 3);
    program.fence();
  }
  return program;
}

TEST(OwnFlush, PersistsAStoreAfterARegionToALineOfThatRegion) {
  OwnProgram program = flushes_after_regions();
  expect_right(program);
  OwnProgram broken = flushes_after_regions();
  EXPECT_GT(
      crash_program(broken, {{"atomicity", "asap"}, {"pmemsim.faults", "asap.flush"}}).violations,
      0);
}

// While the writer's later region holds older logs back.
TEST(OwnFlush, IsNotOverwrittenByARedoLog) {
  OwnProgram program;
  for (std::uint32_t i = 0; i < 12; ++i) {
    program.builder.thread(0);
    program.region([&] {
      for (std::uint64_t line = 8; line < 24; ++line) program.store(line, i % 8);
    });
    program.builder.thread(1);
    program.lock(2 * i);
    program.region([&] { program.store(i % 4, 0); });
    program.unlock(2 * i + 1);
    program.builder.thread(2);
    program.lock(2 * i + 1);
    program.store(i % 4, 5);
    program.flush(i % 4);
    program.fence();
    program.unlock(2 * i + 2);
  }
  expect_right(program, "3");
}

// False sharing: regions of two threads end at about the same time, and the later may commit first.
TEST(OwnFlush, PersistsALineSharedByRegionsOfTwoThreads) {
  OwnProgram program;
  for (std::uint32_t i = 0; i < 40; ++i) {
    for (const std::uint32_t thread : {0u, 1u}) {
      program.builder.thread(thread);
      program.region([&] {
        for (std::uint64_t line = 8; line < 9 + (i * 7 + thread * 5) % 9; ++line) {
          program.store(line + 16 * thread, 0);
        }
        program.store(i % 4, thread);
      });
    }
    program.builder.thread(2);
    program.store(i % 4, 5);
    program.flush(i % 4);
    program.fence();
  }
  for (const std::string_view in_place : {"eager", "lazy"}) {
    for (const std::string_view order : {"global", "per-core"}) {
      EXPECT_GT(crash_program(program, {{"atomicity", "hw-redo"},
                                        {"core.count", "3"},
                                        {"hw_redo.in_place", in_place},
                                        {"hw_redo.commit_order", order}})
                    .points,
                100);
    }
  }
}

TEST(OwnFlush, PersistsALineOfARegionInsideTheRegion) {
  OwnProgram program;
  for (std::uint64_t i = 0; i < 20; ++i) {
    program.store(i % 4, 6);
    program.region([&] {
      program.store(i % 4, 0);
      i % 2 == 0 ? program.flush(i % 4) : program.flush_and_invalidate(i % 4);
      program.fence();
      program.store((i + 1) % 4, 1);
      program.store(i % 4, 2);
    });
  }
  expect_right(program);
}

// The region's lines, of which the shared cache has room for two, share its first set.
TEST(OwnFlush, PersistsALineEvictedInsideTheRegion) {
  OwnProgram program;
  for (std::uint64_t i = 0; i < 10; ++i) {
    program.region([&] {
      for (const std::uint64_t line : {0, 4, 8, 12}) program.store(line, i % 3);
      program.store(0, 4);
      program.flush(0);
      program.fence();
      program.store(1, i % 5);
    });
  }
  expect_right(program);
}

// A write that left the caches before the region's flush carries data that are older than the
// flush.
TEST(OwnFlush, EarlierWriteInFlightDoesNotUndoTheFlushOfARegion) {
  OwnProgram program;
  for (std::uint64_t i = 0; i < 10; ++i) {
    program.store(0, 1);
    program.flush(0);
    program.fence();
    program.stream(0, i % 2);
    program.region([&] {
      program.stream(0, 1);
      program.fence();
    });
  }
  expect_right(program);
}

// A flush that is in flight when a region stores to its line doesn't include that store.
TEST(OwnFlush, FlushInFlightExcludesTheStoresOfALaterRegion) {
  OwnProgram program;
  for (std::uint64_t i = 0; i < 30; ++i) {
    program.store(i % 5, 6);
    i % 2 == 0 ? program.flush(i % 5) : program.flush_and_invalidate(i % 5);
    program.region([&] {
      program.store(i % 5, 0);
      program.store((i + 2) % 5, 1);
      program.store(i % 5, 2);
    });
  }
  expect_right(program);
}

TEST(OwnStores, NonTemporalStoresInsideARegionAreRecovered) {
  OwnProgram program;
  for (std::uint64_t i = 0; i < 20; ++i) {
    program.region([&] {
      program.store(i % 4, 0);
      program.stream(i % 4, 1);
      program.stream((i + 1) % 4, 2);
      if (i % 3 == 0) program.fence();
    });
  }
  expect_right(program);
}

TEST(OwnStores, LockedStoresAcrossTwoLinesAreRecovered) {
  OwnProgram program;
  for (std::uint64_t i = 0; i < 20; ++i) {
    program.region([&] {
      program.store(i % 4, 1);
      program.exchange(OwnProgram::at(i % 4, 7) + 4);
    });
    program.exchange(OwnProgram::at(6, 7) + 4);
    program.flush(6);
    program.flush(7);
    program.fence();
  }
  expect_right(program);
}

// asap_fence, ASAP 5.2: when it lets the core go, the regions before it have committed.
TEST(FenceOfRegions, MakesEarlierRegionsDurable) {
  const auto fenced = [] {
    OwnProgram program;
    for (std::uint64_t i = 0; i < 10; ++i) {
      program.region([&] { program.store(i, 0); });
      program.builder.mark(MarkKind::kFenceRegions);
    }
    return program;
  };
  OwnProgram sound = fenced(), broken = fenced(), each = fenced();
  EXPECT_EQ(crash_program(sound, {{"atomicity", "asap"}}).violations, 0);
  EXPECT_GT(
      crash_program(broken, {{"atomicity", "asap"}, {"pmemsim.faults", "asap.fence"}}).violations,
      0);
  EXPECT_GT(crash_program(each, {{"atomicity", "asap"},
                                 {"asap.fence_every_region", "true"},
                                 {"pmemsim.faults", "asap.fence"}})
                .violations,
            0);
}

TEST(FenceOfRegions, InsideARegionWaitsForEarlierRegions) {
  OwnProgram program;
  for (std::uint64_t i = 0; i < 10; ++i) {
    program.region([&] {
      program.store(i, 0);
      program.builder.mark(MarkKind::kFenceRegions);
      program.store(i, 1);
    });
  }
  expect_right(program);
}

}  // namespace
}  // namespace pmemsim
