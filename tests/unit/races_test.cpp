// Accesses that race: found, in the recorded order, and no others.
#include "pmemsim/trace/races.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <random>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "pmemsim/model/visible_order.hpp"
#include "pmemsim/sim/machine.hpp"
#include "pmemsim/trace/race_table.hpp"
#include "pmemsim/trace/verify.hpp"
#include "run_trace.hpp"

namespace pmemsim::trace {
namespace {

struct RaceTrace : TraceBuilder {
  RaceTrace() { pm_region(kPmBase, kPmBase + 4096); }

  // Number of the operation, other thread, how many of its operations.
  using Waits = std::vector<std::tuple<std::uint64_t, std::uint32_t, std::uint64_t>>;
  Waits waits(std::uint32_t of_thread) {
    const TemporaryTrace written(*this);
    const TraceFile file(written.path());
    Waits found;
    for (const Races::Wait& wait : file.races().of(of_thread)) {
      found.emplace_back(wait.number, wait.thread, wait.count);
    }
    return found;
  }
  void turn_of(std::uint32_t next) {
    end_turn(turns++);
    thread(next);
  }

  std::uint64_t turns = 0;
  const std::uint32_t load_site = site(SiteKind::kLoad, 8);
  const std::uint32_t store_site = site(SiteKind::kStore, 8);
  const std::uint32_t byte_site = site(SiteKind::kStore, 1);
  const std::uint32_t atomic_load = site(SiteKind::kAtomicLoad, 8);
  const std::uint32_t atomic_store = site(SiteKind::kAtomicStore, 8);
};

using Waits = RaceTrace::Waits;

// Thread 1 loads what thread 0 has stored.
struct OneRace : RaceTrace {
  OneRace() {
    store(store_site, kDramBase, 1);
    turn_of(1);
    access(load_site, kDramBase);
    end_turn(9);
  }
};

TEST(Races, WhatIsReadWasWrittenBefore) {
  RaceTrace trace;
  trace.store(trace.store_site, kDramBase, 1);
  trace.store(trace.store_site, kDramBase + 8, 1);
  trace.turn_of(1);
  trace.access(trace.load_site, kDramBase);
  trace.end_turn(9);
  EXPECT_EQ(trace.waits(1), (Waits{{0, 0, 1}}));
  EXPECT_EQ(trace.waits(0), Waits{});
}

TEST(Races, WhatIsWrittenWasReadBefore) {
  RaceTrace trace;
  trace.access(trace.load_site, kDramBase);
  trace.turn_of(1);
  trace.access(trace.load_site, kDramBase);
  trace.turn_of(2);
  trace.store(trace.store_site, kDramBase, 1);
  trace.end_turn(9);
  EXPECT_EQ(trace.waits(2), (Waits{{0, 0, 1}, {0, 1, 1}}));
  EXPECT_EQ(trace.waits(1), Waits{});
}

TEST(Races, OneWordIsWrittenInOrder) {
  RaceTrace trace;
  trace.store(trace.byte_site, kDramBase, 1);
  trace.turn_of(1);
  trace.store(trace.byte_site, kDramBase + 7, 1);
  trace.turn_of(0);
  trace.store(trace.byte_site, kDramBase + 8, 1);
  trace.store(trace.store_site, kDramBase, 1);
  trace.end_turn(9);
  EXPECT_EQ(trace.waits(1), (Waits{{0, 0, 1}}));
  EXPECT_EQ(trace.waits(0), (Waits{{2, 1, 1}}));
}

// An access of two lines, one of which is the thread's own.
TEST(Races, AcrossALinesBorder) {
  RaceTrace trace;
  trace.store(trace.store_site, kDramBase + 60, 1);
  trace.turn_of(1);
  trace.access(trace.load_site, kDramBase + 64);
  trace.end_turn(9);
  EXPECT_EQ(trace.waits(1), (Waits{{0, 0, 1}}));
}

TEST(Races, SynchronisationOrdersAccesses) {
  RaceTrace trace;
  trace.store(trace.store_site, kDramBase, 1);
  trace.sync(SyncKind::kMutexUnlock, kDramBase + 64, 0, 1);
  trace.turn_of(1);
  trace.sync(SyncKind::kMutexLock, kDramBase + 64, 0, 1);
  trace.access(trace.load_site, kDramBase);
  trace.store(trace.store_site, kDramBase, 2);
  trace.end_turn(9);
  EXPECT_EQ(trace.waits(1), Waits{});
}

TEST(Races, WhatComesBehindTheReleaseIsNotOrdered) {
  RaceTrace trace;
  trace.sync(SyncKind::kMutexUnlock, kDramBase + 64, 0, 1);
  trace.store(trace.store_site, kDramBase, 1);
  trace.turn_of(1);
  trace.sync(SyncKind::kMutexLock, kDramBase + 64, 0, 1);
  trace.access(trace.load_site, kDramBase);
  trace.end_turn(9);
  EXPECT_EQ(trace.waits(1), (Waits{{1, 0, 2}}));
}

// A lock that is given back by a plain store.
TEST(Races, AtomicAccessesRaceWithPlainOnesOnly) {
  RaceTrace trace;
  trace.atomic(trace.atomic_store, kDramBase, 0, 1, 1);
  trace.turn_of(1);
  trace.atomic(trace.atomic_load, kDramBase, 0, 1);
  trace.turn_of(0);
  trace.store(trace.store_site, kDramBase, 0);
  trace.turn_of(1);
  trace.atomic(trace.atomic_store, kDramBase, 0, 2, 1);
  trace.end_turn(9);
  EXPECT_EQ(trace.waits(0), (Waits{{1, 1, 1}}));
  EXPECT_EQ(trace.waits(1), (Waits{{1, 0, 2}}));
}

// Between an atomic read and a plain write there may be an atomic one, which doesn't wait.
TEST(Races, AnAtomicReadIsRememberedBehindAnAtomicWrite) {
  RaceTrace trace;
  trace.atomic(trace.atomic_load, kDramBase, 0, 0);
  trace.turn_of(1);
  trace.atomic(trace.atomic_store, kDramBase, 0, 1, 1);
  trace.turn_of(2);
  trace.store(trace.store_site, kDramBase, 0);
  trace.end_turn(9);
  EXPECT_EQ(trace.waits(2), (Waits{{0, 1, 1}, {0, 0, 1}}));
}

// Two locks in one word: taken atomically, given back by plain stores.
TEST(Races, AnAtomicVariableHidesNoPlainAccessFromAnother) {
  RaceTrace trace;
  const auto half = trace.site(SiteKind::kAtomicUpdate, 4), plain = trace.site(SiteKind::kStore, 4);
  trace.atomic(half, kDramBase, 0, 1, 1, true);
  trace.access(trace.load_site, kDramBase);
  trace.store(plain, kDramBase, 0);
  trace.turn_of(2);
  trace.atomic(half, kDramBase + 4, 1, 1, 1, true);
  trace.turn_of(1);
  trace.atomic(half, kDramBase, 0, 2, 1, true);
  trace.end_turn(9);
  EXPECT_EQ(trace.waits(2), (Waits{{0, 0, 3}}));
  EXPECT_EQ(trace.waits(1), (Waits{{0, 0, 3}}));
}

TEST(Races, SoDoAtomicVariablesThatShareBytes) {
  for (const bool shared : {true, false}) {
    RaceTrace trace;
    const auto half = trace.site(SiteKind::kAtomicStore, 4);
    if (shared) {
      trace.atomic(trace.atomic_store, kDramBase, 0, 1, 1);
    } else {
      trace.atomic(half, kDramBase, 0, 1, 1);
    }
    trace.turn_of(1);
    trace.atomic(half, kDramBase + 4, 1, 1, 1);
    trace.end_turn(9);
    EXPECT_EQ(trace.waits(1), shared ? (Waits{{0, 0, 1}}) : Waits{});
  }
}

TEST(Races, WhatHasBeenWaitedForIsSaidOnce) {
  RaceTrace trace;
  for (const std::uint64_t offset : {0, 8}) trace.store(trace.store_site, kDramBase + offset, 1);
  trace.turn_of(1);
  for (const std::uint64_t offset : {8, 0}) trace.access(trace.load_site, kDramBase + offset);
  trace.turn_of(0);
  trace.store(trace.store_site, kDramBase + 16, 1);
  trace.turn_of(1);
  trace.access(trace.load_site, kDramBase + 16);
  trace.end_turn(9);
  EXPECT_EQ(trace.waits(1), (Waits{{0, 0, 2}, {2, 0, 3}}));
}

TEST(Races, AreUnknownWithoutTurns) {
  RaceTrace trace;
  trace.store(trace.store_site, kDramBase, 1);
  trace.thread(1).access(trace.load_site, kDramBase);
  EXPECT_EQ(trace.waits(1), Waits{});
}

// ---- Random programs ---------------------------------------------------------------------------

// Of all operations on memory of a program that was recorded in some order: the store that a plain
// load has read from, by (thread, number); and of each word the last store.
struct Meaning {
  using Name = std::pair<std::uint32_t, std::uint64_t>;
  std::map<Name, Name> read;
  std::map<std::uint64_t, Name> last;

  void load(Name name, std::uint64_t word) { read[name] = last[word]; }
  void store(Name name, std::uint64_t word) { last[word] = name; }
  bool operator==(const Meaning&) const = default;
};

class RandomProgram {
 public:
  static constexpr std::size_t kWords = 6;

  explicit RandomProgram(std::uint64_t seed) : random_(seed), threads_(2 + below(3)) {
    numbers_.resize(threads_);
    holder_ = threads_;
    for (std::uint32_t thread = 0; thread < threads_; ++thread) step(thread);
    for (int turn = 0; turn < 60; ++turn) {
      const auto thread = static_cast<std::uint32_t>(below(threads_));
      for (std::uint64_t steps = 1 + below(4); steps > 0; --steps) step(thread);
    }
  }

  Meaning recorded;
  std::array<std::uint64_t, kWords> values{};  // that memory holds in the end
  RaceTrace trace;

 private:
  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }

  void step(std::uint32_t thread) {
    trace.thread(thread);
    const std::uint64_t word = below(kWords), address = kPmBase + 8 * word;
    const Meaning::Name name{thread, numbers_[thread]++};
    switch (below(8)) {
      case 0:
        lock_or_unlock(thread);
        break;
      case 1:
        ++versions_[word];
        trace.atomic(trace.atomic_store, address, 1 + word, versions_[word], ++value_);
        recorded.store(name, word);
        values[word] = value_;
        break;
      case 2:
        trace.atomic(trace.atomic_load, address, 1 + word, versions_[word]);
        break;
      case 3:
      case 4:
        trace.store(trace.store_site, address, ++value_);
        recorded.store(name, word);
        values[word] = value_;
        break;
      default:
        trace.access(trace.load_site, address);
        recorded.load(name, word);
        break;
    }
    trace.end_turn(trace.turns++);
  }

  // Somebody else has the lock: the thread does something else.
  void lock_or_unlock(std::uint32_t thread) {
    if (holder_ == threads_) {
      trace.sync(SyncKind::kMutexLock, kDramBase, 0, unlocks_);
      holder_ = thread;
    } else if (holder_ == thread) {
      trace.sync(SyncKind::kMutexUnlock, kDramBase, 0, ++unlocks_);
      holder_ = threads_;
    } else {
      trace.external(1);
    }
  }

  std::mt19937_64 random_;
  std::uint32_t threads_;
  std::uint32_t holder_, unlocks_ = 0;
  std::vector<std::uint64_t> numbers_;
  std::map<std::uint64_t, std::uint32_t> versions_;
  std::uint64_t value_ = 0;
};

TEST(Races, InTheVisibleOrderEachLoadReadsWhatItHasRead) {
  std::uint64_t waits = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    RandomProgram program(seed);
    const TemporaryTrace written(program.trace);
    const TraceFile file(written.path());
    Meaning visible;
    VisibleOrder order(file, {}, VisibleOrder::Loads::kAll);
    while (order.next()) {
      const Operation& operation = order.operation();
      const Meaning::Name name{order.thread(), order.number()};
      const std::uint64_t word = (operation.address - kPmBase) / 8;
      if (operation.kind == SiteKind::kLoad) visible.load(name, word);
      if (operation.kind == SiteKind::kStore || operation.kind == SiteKind::kAtomicStore) {
        visible.store(name, word);
      }
    }
    EXPECT_EQ(visible, program.recorded) << "seed " << seed;
    for (std::uint32_t thread = 0; thread < file.metadata().threads; ++thread) {
      waits += file.races().of(thread).size();
    }
  }
  EXPECT_GT(waits, 3000u);
}

// ---- In the recording --------------------------------------------------------------------------

using Found = std::vector<std::tuple<std::uint32_t, std::uint64_t, std::uint64_t, std::uint32_t>>;

Found found_in(const std::string& path) {
  const TraceFile file(path);
  Found found;
  for (std::uint32_t thread = 0; thread < file.metadata().threads; ++thread) {
    for (const Races::Wait& wait : file.races().of(thread)) {
      found.emplace_back(thread, wait.number, wait.count, wait.thread);
    }
  }
  return found;
}

std::size_t frames_of(const std::string& path, FrameKind kind) {
  const TraceFile file(path);
  return static_cast<std::size_t>(std::ranges::count_if(
      file.frames(), [&](const FrameEntry& frame) { return is(frame.header, kind); }));
}

TEST(StoredRaces, AreThoseThatAreFound) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    RandomProgram program(seed);
    const TemporaryTrace written(program.trace);
    const Found found = found_in(written.path());
    EXPECT_FALSE(found.empty());
    store_races(written.path());
    EXPECT_EQ(frames_of(written.path(), FrameKind::kRaces), 1u);
    EXPECT_EQ(found_in(written.path()), found);
    verify(TraceFile(written.path()));
    const std::uint64_t hash = TraceFile(written.path()).hash();
    store_races(written.path());
    EXPECT_EQ(TraceFile(written.path()).hash(), hash) << "they are there already";
  }
}

TEST(StoredRaces, AreThereWhereThereAreNone) {
  RaceTrace trace;
  trace.access(trace.load_site, kDramBase);
  trace.turn_of(1);
  trace.access(trace.load_site, kDramBase);
  trace.end_turn(9);
  const TemporaryTrace written(trace);
  store_races(written.path());
  EXPECT_EQ(frames_of(written.path(), FrameKind::kRaces), 1u);
  EXPECT_EQ(found_in(written.path()), Found{});
}

TEST(StoredRaces, AreOfRecordingsWithTurns) {
  RaceTrace trace;
  trace.store(trace.store_site, kDramBase, 1);
  trace.thread(1).access(trace.load_site, kDramBase);
  const TemporaryTrace written(trace);
  store_races(written.path());
  EXPECT_EQ(frames_of(written.path(), FrameKind::kRaces), 0u);
}

// What stands there is believed, unless it can't be.
TEST(StoredRaces, ThatAreImpossibleAreRefused) {
  const std::vector<RaceRecord> impossible{
      {.number = 1, .count = 1, .thread = 1, .other = 0},  // no such operation
      {.number = 0, .count = 2, .thread = 1, .other = 0},  // nor so many
      {.number = 0, .count = 0, .thread = 1, .other = 0},
      {.number = 0, .count = 1, .thread = 1, .other = 1},
      {.number = 0, .count = 1, .thread = 2, .other = 0},
      {.number = 0, .count = 1, .thread = 1, .other = 2}};
  for (const RaceRecord& race : impossible) {
    OneRace trace;
    trace.race(race);
    const TemporaryTrace written(trace);
    EXPECT_THROW(found_in(written.path()), TraceError) << race.number << ' ' << race.count;
  }
}

TEST(StoredRaces, OutOfNothingAreRefused) {
  OneRace trace;
  for (int i = 0; i < 400'000; ++i) trace.race({});
  const TemporaryTrace written(trace);
  try {
    found_in(written.path());
    ADD_FAILURE() << "taken";
  } catch (const TraceError& error) {
    EXPECT_NE(std::string(error.what()).find("the table of races is too long"), std::string::npos);
  }
}

TEST(StoredRaces, ThatCouldBeButAreNotFailTheVerification) {
  RaceTrace trace;
  trace.store(trace.store_site, kDramBase, 1);
  trace.store(trace.store_site, kPmBase, 1);
  trace.turn_of(1);
  trace.access(trace.load_site, kDramBase);
  trace.end_turn(9);
  for (const std::uint64_t count : {1, 2}) {
    RaceTrace said = trace;
    said.race({.number = 0, .count = count, .thread = 1, .other = 0});
    const TemporaryTrace written(said);
    const TraceFile file(written.path());
    EXPECT_EQ(file.races().of(1).size(), 1u);
    if (count == 1) {
      EXPECT_NO_THROW(verify(file));
    } else {
      EXPECT_THROW(verify(file), TraceError);
    }
  }
}

// Threads 0 and 1 wait for each other's second operation.
TEST(StoredRaces, ThatCannotBeAreNoReasonToHang) {
  RaceTrace trace;
  for (const std::uint32_t thread : {0, 1}) {
    trace.thread(thread);
    for (int i = 0; i < 2; ++i) trace.store(trace.store_site, kPmBase + 64 * thread, 1);
    trace.end_turn(thread);
    trace.race({.number = 0, .count = 2, .thread = thread, .other = 1 - thread});
  }
  const TemporaryTrace written(trace);
  const TraceFile file(written.path());
  VisibleOrder order(file);
  EXPECT_THROW(order.next(), TraceError);
  const auto machine = settings({{"ordering", "x86"}, {"atomicity", "none"}});
  EXPECT_THROW(simulate(file, machine, {}), Error);
}

// ---- In the simulated machine ------------------------------------------------------------------

TEST(SimulatedRaces, MemoryHoldsWhatItHeld) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    RandomProgram program(seed);
    const TemporaryTrace written(program.trace);
    const TraceFile file(written.path());
    for (const std::string_view ordering : {"x86", "hops", "dpo", "pmem-spec"}) {
      Machine machine(configure(settings({{"ordering", ordering},
                                          {"atomicity", "none"},
                                          {"core.store_queue_entries", "4"},
                                          {"core.mshrs", "2"}})),
                      file);
      ASSERT_TRUE(machine.run({}));
      const LineData line = machine.pm_space().newest().read(Line::of(kPmBase));
      std::array<std::uint64_t, RandomProgram::kWords> values{};
      std::memcpy(values.data(), line.data(), sizeof(values));
      EXPECT_EQ(values, program.values) << "seed " << seed << ", " << ordering;
    }
  }
}

// Thread 1 loads, right at its beginning, what thread 0 stores after a microsecond, or the reverse.
struct LateAccess {
  LateAccess(std::uint32_t first, std::uint32_t second) {
    const std::uint32_t work = trace.site(SiteKind::kExecute, 0, 4000);
    trace.plain(work);
    access(first);
    trace.turn_of(1);
    access(second);
    trace.plain(work);
    trace.end_turn(9);
  }
  void access(std::uint32_t site) {
    if (site == trace.load_site) trace.access(site, kDramBase);
    if (site == trace.store_site) trace.store(site, kDramBase, 1);
  }
  double takes_ns(std::string_view lock_order) {
    return nanoseconds(run_trace(trace, settings({{"ordering", "x86"},
                                                  {"atomicity", "none"},
                                                  {"core.count", "2"},
                                                  {"core.frequency", "1GHz"},
                                                  {"core.width", "4"},
                                                  {"run.lock_order", lock_order}})));
  }

  RaceTrace trace;
};

TEST(SimulatedRaces, TheLaterAccessWaits) {
  const RaceTrace sites;
  const std::uint32_t load = sites.load_site, store = sites.store_site;
  for (const auto& [first, second] : {std::pair{store, load}, {load, store}, {store, store}}) {
    LateAccess late(first, second);
    EXPECT_GT(late.takes_ns("recorded"), 2000);
    EXPECT_LT(late.takes_ns("recorded"), 2500);
  }
}

TEST(SimulatedRaces, ComeAsTheyWillWhereTimeDecides) {
  LateAccess late(RaceTrace().store_site, RaceTrace().load_site);
  EXPECT_LT(late.takes_ns("simulated"), 1500);
}

TEST(SimulatedRaces, ThreadsThatOnlyReadDoNotWait) {
  LateAccess late(RaceTrace().load_site, RaceTrace().load_site);
  EXPECT_LT(late.takes_ns("recorded"), 1500);
}

}  // namespace
}  // namespace pmemsim::trace
