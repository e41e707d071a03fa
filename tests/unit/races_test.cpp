// Racing accesses: exactly these are found, in the recorded order.
#include "pmemsim/analysis/races.hpp"

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

#include "long_tests.hpp"
#include "pmemsim/analysis/verify.hpp"
#include "pmemsim/checks/images/visible_order.hpp"
#include "pmemsim/machine/run/machine.hpp"
#include "pmemsim/trace/sync_operations.hpp"
#include "run_trace.hpp"

namespace pmemsim::trace {
namespace {

struct RaceTrace : TraceBuilder {
  RaceTrace() { pm_region(kPmBase, kPmBase + 4096); }

  // Number of the operation, the other thread, and the number of the other thread's operations that
  // it waits for.
  using Waits = std::vector<std::tuple<std::uint64_t, std::uint32_t, std::uint64_t>>;
  Waits waits(std::uint32_t of_thread) {
    const TemporaryTrace written(*this);
    const TraceFile file(written.path());
    Waits found;
    const Races races(file);
    for (const Races::Wait& wait : races.of(of_thread)) {
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
  const std::uint32_t byte_load = site(SiteKind::kLoad, 1);
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

TEST(Races, ReadWaitsForTheWriteBeforeIt) {
  RaceTrace trace;
  trace.store(trace.store_site, kDramBase, 1);
  trace.store(trace.store_site, kDramBase + 8, 1);
  trace.turn_of(1);
  trace.access(trace.load_site, kDramBase);
  trace.end_turn(9);
  EXPECT_EQ(trace.waits(1), (Waits{{0, 0, 1}}));
  EXPECT_EQ(trace.waits(0), Waits{});
}

TEST(Races, WriteWaitsForTheReadsBeforeIt) {
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

// Two bytes of a word race in PM, where a word is checked as a whole; elsewhere they don't race.
TEST(Races, BytesOfAWordRaceOnlyInPm) {
  for (const std::uint64_t base : {kPmBase, kDramBase}) {
    RaceTrace trace;
    trace.store(trace.byte_site, base, 1);
    trace.turn_of(1);
    trace.store(trace.byte_site, base + 7, 1);
    trace.turn_of(2);
    trace.access(trace.byte_load, base + 1);
    trace.turn_of(0);
    trace.store(trace.byte_site, base + 8, 1);
    trace.store(trace.store_site, base, 1);
    trace.end_turn(9);
    const bool pm = base == kPmBase;
    EXPECT_EQ(trace.waits(1), pm ? (Waits{{0, 0, 1}}) : Waits{});
    EXPECT_EQ(trace.waits(2), pm ? (Waits{{0, 1, 1}}) : Waits{});
    EXPECT_EQ(trace.waits(0), (Waits{{2, 1, 1}, {2, 2, 1}}));
  }
}

// A lock's data may be in the same 8-byte word as the lock.
TEST(Races, LockDoesNotRaceWithTheDataInItsWord) {
  RaceTrace trace;
  const auto take = trace.site(SiteKind::kAtomicUpdate, 4),
             give = trace.site(SiteKind::kAtomicStore, 4);
  const auto count = trace.site(SiteKind::kStore, 4);
  trace.atomic(take, kDramBase, 0, 1, 1, true);
  trace.turn_of(1);
  trace.atomic(take, kDramBase, 0, 1, 1, false);
  trace.turn_of(0);
  trace.store(count, kDramBase + 4, 1);
  trace.atomic(give, kDramBase, 0, 2, 0);
  trace.turn_of(1);
  trace.atomic(take, kDramBase, 0, 3, 1, true);
  trace.store(count, kDramBase + 4, 2);
  trace.end_turn(9);
  EXPECT_EQ(trace.waits(0), Waits{});
  EXPECT_EQ(trace.waits(1), Waits{});
}

// A thread that reads a version is ordered after all operations before the version's release.
TEST(Races, AtomicUpdateFollowsTheReleaseOfItsVersion) {
  RaceTrace trace;
  const auto update = trace.site(SiteKind::kAtomicUpdate, 8);
  trace.access(trace.load_site, kDramBase);
  trace.atomic(trace.atomic_store, kDramBase, 0, 1, 1);
  trace.turn_of(1);
  trace.atomic(update, kDramBase, 0, 2, 1, true);
  trace.end_turn(9);
  EXPECT_EQ(trace.waits(1), Waits{});
}

// An access of two lines races, although one of them is the thread's own.
TEST(Races, AccessAcrossTwoLinesRaces) {
  RaceTrace trace;
  trace.store(trace.store_site, kDramBase + 60, 1);
  trace.turn_of(1);
  trace.access(trace.load_site, kDramBase + 64);
  trace.end_turn(9);
  EXPECT_EQ(trace.waits(1), (Waits{{0, 0, 1}}));
}

TEST(Races, SynchronisedAccessesDoNotRace) {
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

TEST(Races, AccessAfterTheReleaseRaces) {
  RaceTrace trace;
  trace.sync(SyncKind::kMutexUnlock, kDramBase + 64, 0, 1);
  trace.store(trace.store_site, kDramBase, 1);
  trace.turn_of(1);
  trace.sync(SyncKind::kMutexLock, kDramBase + 64, 0, 1);
  trace.access(trace.load_site, kDramBase);
  trace.end_turn(9);
  EXPECT_EQ(trace.waits(1), (Waits{{1, 0, 2}}));
}

// A lock that is released by a plain store.
TEST(Races, AtomicAccessesRaceOnlyWithPlainAccesses) {
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
TEST(Races, PlainWriteWaitsForAnAtomicReadBeforeAnAtomicWrite) {
  RaceTrace trace;
  trace.atomic(trace.atomic_load, kDramBase, 0, 0);
  trace.turn_of(1);
  trace.atomic(trace.atomic_store, kDramBase, 0, 1, 1);
  trace.turn_of(2);
  trace.store(trace.store_site, kDramBase, 0);
  trace.end_turn(9);
  EXPECT_EQ(trace.waits(2), (Waits{{0, 1, 1}, {0, 0, 1}}));
}

// Two locks in one word are acquired atomically and released by plain stores. The other half is
// read before, and in PM the plain store counts for the whole word.
TEST(Races, AtomicVariableHidesNoPlainAccessFromAnotherVariable) {
  for (const std::uint64_t base : {kPmBase, kDramBase}) {
    RaceTrace trace;
    const auto half = trace.site(SiteKind::kAtomicUpdate, 4);
    const auto plain = trace.site(SiteKind::kStore, 4);
    trace.atomic(half, base, 0, 1, 1, true);
    trace.access(trace.load_site, base);
    trace.store(plain, base, 0);
    trace.turn_of(2);
    trace.atomic(half, base + 4, 1, 1, 1, true);
    trace.turn_of(1);
    trace.atomic(half, base, 0, 2, 1, true);
    trace.end_turn(9);
    EXPECT_EQ(trace.waits(2), (Waits{{0, 0, base == kPmBase ? 3u : 2u}}));
    EXPECT_EQ(trace.waits(1), (Waits{{0, 0, 3}}));
  }
}

TEST(Races, AtomicVariablesThatShareBytesRace) {
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

// The rest of a wide write still counts after a narrow write of the same variable.
TEST(Races, WideAtomicWriteRacesAfterANarrowWriteOfItsVariable) {
  RaceTrace trace;
  const auto half = trace.site(SiteKind::kAtomicStore, 4);
  trace.atomic(trace.atomic_store, kDramBase, 0, 1, 1);
  trace.turn_of(1);
  trace.atomic(half, kDramBase, 0, 2, 1);
  trace.turn_of(2);
  trace.atomic(half, kDramBase + 4, 1, 1, 1);
  trace.end_turn(9);
  EXPECT_EQ(trace.waits(1), Waits{});
  EXPECT_EQ(trace.waits(2), (Waits{{0, 0, 1}}));
}

TEST(Races, TooManyAtomicVariablesInAWordAreRejected) {
  RaceTrace trace;
  trace.store(trace.store_site, kDramBase + 8, 0);
  for (std::uint32_t variable = 0; variable < 1000; ++variable) {
    trace.atomic(trace.atomic_load, kDramBase, variable, 0);
  }
  trace.turn_of(1);
  trace.access(trace.load_site, kDramBase + 8);
  trace.end_turn(9);
  EXPECT_THROW(trace.waits(1), TraceError);
}

TEST(Races, ImpliedWaitIsNotRepeated) {
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

TEST(Races, RecordingWithoutTurnsHasNoRaces) {
  RaceTrace trace;
  trace.store(trace.store_site, kDramBase, 1);
  trace.thread(1).access(trace.load_site, kDramBase);
  EXPECT_EQ(trace.waits(1), Waits{});
}

// ---- Random programs ---------------------------------------------------------------------------

// The meaning of a program that was recorded in some order: the store that each plain load has
// read, by (thread, number), and the last store to each word.
struct Meaning {
  using Name = std::pair<std::uint32_t, std::uint64_t>;
  std::map<Name, Name> read;
  std::map<std::uint64_t, Name> last;

  void load(Name name, std::uint64_t word) { read[name] = last[word]; }
  void store(Name name, std::uint64_t word) { last[word] = name; }
  bool operator==(const Meaning&) const = default;
};

// Random threads that take turns, and a lock.
class RandomThreads {
 public:
  Meaning recorded;
  RaceTrace trace;

 protected:
  explicit RandomThreads(std::uint64_t seed)
      : random_(seed), threads_(2 + below(3)), holder_(threads_), numbers_(threads_) {}

  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }

  // Makes an operation of a thread, so that each has some.
  template <class Step>
  void run(Step&& step) {
    const auto turn = [&](std::uint32_t thread) {
      trace.thread(thread);
      step(thread, Meaning::Name{thread, numbers_[thread]++});
      trace.end_turn(trace.turns++);
    };
    for (std::uint32_t thread = 0; thread < threads_; ++thread) turn(thread);
    for (int turns = 0; turns < 60; ++turns) {
      const auto thread = static_cast<std::uint32_t>(below(threads_));
      for (std::uint64_t steps = 1 + below(4); steps > 0; --steps) turn(thread);
    }
  }

  // If another thread has the lock, the thread executes another operation.
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

 private:
  std::mt19937_64 random_;
  std::uint32_t threads_;
  std::uint32_t holder_, unlocks_ = 0;
  std::vector<std::uint64_t> numbers_;
};

class RandomProgram : public RandomThreads {
 public:
  static constexpr std::size_t kWords = 6;

  explicit RandomProgram(std::uint64_t seed) : RandomThreads(seed) {
    run([this](std::uint32_t thread, Meaning::Name name) { step(thread, name); });
  }

  std::array<std::uint64_t, kWords> values{};  // that memory holds in the end

 private:
  void step(std::uint32_t thread, Meaning::Name name) {
    const std::uint64_t word = below(kWords), address = kPmBase + 8 * word;
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
  }

  std::map<std::uint64_t, std::uint32_t> versions_;
  std::uint64_t value_ = 0;
};

// Accesses of all sizes, plain ones at any address, and their meaning by bytes.
class RandomSizes : public RandomThreads {
 public:
  RandomSizes(std::uint64_t seed, std::uint64_t base) : RandomThreads(seed), base_(base) {
    run([this](std::uint32_t thread, Meaning::Name name) { step(thread, name); });
  }

  static void note(Meaning& meaning, Meaning::Name name, bool stores, std::uint64_t address,
                   std::uint64_t size) {
    for (std::uint64_t i = 0; i < size; ++i) {
      const Meaning::Name part{name.first, 8 * name.second + i};
      stores ? meaning.store(part, address + i) : meaning.load(part, address + i);
    }
  }

 private:
  static constexpr std::uint64_t kBytes = 24;

  std::uint32_t site_of(SiteKind kind, std::uint64_t size) {
    const auto [found, fresh] = sites_.try_emplace({kind, size}, 0);
    if (fresh) found->second = trace.site(kind, static_cast<std::uint8_t>(size));
    return found->second;
  }

  void step(std::uint32_t thread, Meaning::Name name) {
    const std::uint64_t size = 1u << below(4);
    switch (below(4)) {
      case 0:
        return lock_or_unlock(thread);
      case 1:
        return atomic(name, size);
      default: {
        const std::uint64_t address = base_ + below(kBytes - size + 1);
        const bool stores = below(2) == 0;
        if (stores) {
          trace.store(site_of(SiteKind::kStore, size), address, 1);
        } else {
          trace.access(site_of(SiteKind::kLoad, size), address);
        }
        note(recorded, name, stores, address, size);
      }
    }
  }

  void atomic(Meaning::Name name, std::uint64_t size) {
    constexpr std::array kKinds{SiteKind::kAtomicLoad, SiteKind::kAtomicStore,
                                SiteKind::kAtomicUpdate};
    const SiteKind kind = kKinds[below(kKinds.size())];
    const std::uint64_t offset = below(kBytes / size) * size;
    const bool stores =
        kind == SiteKind::kAtomicStore || (kind == SiteKind::kAtomicUpdate && below(2) == 0);
    std::uint32_t& version = versions_[offset];
    if (stores) ++version;
    trace.atomic(site_of(kind, size), base_ + offset, static_cast<std::uint32_t>(1 + offset),
                 version, 1, stores && kind == SiteKind::kAtomicUpdate);
    if (stores) note(recorded, name, true, base_ + offset, size);
  }

  const std::uint64_t base_;
  std::map<std::pair<SiteKind, std::uint64_t>, std::uint32_t> sites_;
  std::map<std::uint64_t, std::uint32_t> versions_;
};

template <class Visit>
void go_through(const TraceFile& file, Visit&& visit) {
  VisibleOrder order(file, {}, VisibleOrder::Loads::kAll);
  while (order.next()) visit(Meaning::Name{order.thread(), order.number()}, order.operation());
}

TEST(Races, VisibleOrderReproducesTheSourceOfEachLoad) {
  std::uint64_t waits = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    RandomProgram program(seed);
    const TemporaryTrace written(program.trace);
    const TraceFile file(written.path());
    Meaning visible;
    go_through(file, [&](Meaning::Name name, const Operation& operation) {
      const std::uint64_t word = (operation.address - kPmBase) / 8;
      if (operation.kind == SiteKind::kLoad) visible.load(name, word);
      if (operation.kind == SiteKind::kStore || operation.kind == SiteKind::kAtomicStore) {
        visible.store(name, word);
      }
    });
    EXPECT_EQ(visible, program.recorded) << "seed " << seed;
    const Races races(file);
    for (std::uint32_t thread = 0; thread < file.metadata().threads; ++thread) {
      waits += races.of(thread).size();
    }
  }
  EXPECT_GT(waits, 3000u);
}

TEST(Races, VisibleOrderReproducesTheSourceOfEachByte) {
  for (std::uint64_t seed = 1; seed <= 600; ++seed) {
    RandomSizes program(seed, seed % 2 == 0 ? kPmBase : kDramBase + 4096);
    const TemporaryTrace written(program.trace);
    Meaning visible;
    go_through(TraceFile(written.path()), [&](Meaning::Name name, const Operation& operation) {
      const bool stores = operation.kind == SiteKind::kStore || writes_atomic(operation);
      if (!stores && operation.kind != SiteKind::kLoad) return;
      RandomSizes::note(visible, name, stores, operation.address, operation.size);
    });
    EXPECT_EQ(visible, program.recorded) << "seed " << seed;
  }
}

// ---- In the recording --------------------------------------------------------------------------

using Found = std::vector<std::tuple<std::uint32_t, std::uint64_t, std::uint64_t, std::uint32_t>>;

Found found_in(const std::string& path) {
  const TraceFile file(path);
  Found found;
  const Races races(file);
  for (std::uint32_t thread = 0; thread < file.metadata().threads; ++thread) {
    for (const Races::Wait& wait : races.of(thread)) {
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

TEST(StoredRaces, StoredRacesEqualTheFoundRaces) {
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

TEST(StoredRaces, EmptyTableIsStoredIfThereAreNoRaces) {
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

TEST(StoredRaces, NoTableIsStoredWithoutTurns) {
  RaceTrace trace;
  trace.store(trace.store_site, kDramBase, 1);
  trace.thread(1).access(trace.load_site, kDramBase);
  const TemporaryTrace written(trace);
  store_races(written.path());
  EXPECT_EQ(frames_of(written.path(), FrameKind::kRaces), 0u);
}

// Recorded races are used as they are in the table, unless they are impossible.
TEST(StoredRaces, ImpossibleRacesAreRejected) {
  const std::vector<RaceRecord> impossible{
      {.number = 1, .count = 1, .thread = 1, .other = 0},  // no such operation
      {.number = 0, .count = 2, .thread = 1, .other = 0},  // there are not so many operations
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

TEST(StoredRaces, TooLongTableIsRejected) {
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

TEST(StoredRaces, PossibleButWrongRacesFailTheVerification) {
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
    EXPECT_EQ(Races(file).of(1).size(), 1u);
    if (count == 1) {
      EXPECT_NO_THROW(verify(file));
    } else {
      EXPECT_THROW(verify(file), TraceError);
    }
  }
}

// Threads 0 and 1 wait for each other's second operation.
TEST(StoredRaces, CircularRacesAreAnErrorAndDoNotHang) {
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
  const auto machine = configure(settings({{"ordering", "x86"}, {"atomicity", "none"}}));
  EXPECT_THROW(simulate(file, machine, {}), Error);
}

// ---- In the simulated machine ------------------------------------------------------------------

TEST(SimulatedRaces, FinalMemoryEqualsTheRecordedMemory) {
  for (std::uint64_t seed = 1; seed <= (kSanitized ? 20 : 100); ++seed) {
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

TEST(SimulatedRaces, LaterAccessWaitsForTheEarlierAccess) {
  const RaceTrace sites;
  const std::uint32_t load = sites.load_site, store = sites.store_site;
  for (const auto& [first, second] : {std::pair{store, load}, {load, store}, {store, store}}) {
    LateAccess late(first, second);
    EXPECT_GT(late.takes_ns("recorded"), 2000);
    EXPECT_LT(late.takes_ns("recorded"), 2500);
  }
}

TEST(SimulatedRaces, SimulatedLockOrderIgnoresTheRecordedOrder) {
  LateAccess late(RaceTrace().store_site, RaceTrace().load_site);
  EXPECT_LT(late.takes_ns("simulated"), 1500);
}

TEST(SimulatedRaces, ThreadsThatOnlyReadDoNotWait) {
  LateAccess late(RaceTrace().load_site, RaceTrace().load_site);
  EXPECT_LT(late.takes_ns("recorded"), 1500);
}

}  // namespace
}  // namespace pmemsim::trace
