// Writes of some bytes of a line, in the queues and through the backend. Each write's bytes survive
// writes of the line's other bytes in any order, and the drop of any other write.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <type_traits>
#include <utility>

#include "long_tests.hpp"
#include "memory_bench.hpp"
#include "pmemsim/designs/backend/backend.hpp"
#include "pmemsim/designs/backend/operation.hpp"
#include "pmemsim/designs/backend/prediction.hpp"
#include "pmemsim/machine/memory/memory.hpp"

namespace pmemsim {
namespace {

using Times = std::vector<Time>;

constexpr Line kLine = line_in(0, 0);
constexpr ByteMask word(std::uint64_t number) { return bytes_from(number * 8, 8); }

LineData filled(std::uint8_t value) {
  LineData data;
  data.fill(std::byte{value});
  return data;
}
// The words of a line whose bytes are all alike; 0xee: they aren't.
std::vector<std::uint8_t> words(const LineData& data) {
  std::vector<std::uint8_t> found;
  for (std::size_t at = 0; at < kLineBytes; at += 8) {
    const bool alike = std::all_of(data.begin() + at, data.begin() + at + 8,
                                   [&](std::byte byte) { return byte == data[at]; });
    found.push_back(alike ? std::to_integer<std::uint8_t>(data[at]) : 0xee);
  }
  return found;
}
using WordBytes = std::vector<std::uint8_t>;

Write part(std::uint8_t value, ByteMask bytes, std::uint64_t owner = 0) {
  return {.line = kLine,
          .owner = owner,
          .data = filled(value),
          .persisted = {},
          .written = {},
          .bytes = bytes};
}

// Contents that survive at each crash point, recorded by an observer.
class Survivors final : public PersistenceObserver {
 public:
  explicit Survivors(Memory& memory) : memory_(memory) { memory.observe(this); }
  void persisted(const Write& write, PersistencePoint, Time) override {
    image_.write(write.line, write.data, write.bytes);
    points.push_back(words(image_.read(kLine)));
  }
  void persisted_with_next(const Write& write) override {
    image_.write(write.line, write.data, write.bytes);
  }
  void dropped(const Write& write, Time) override {
    image_.write(write.line, memory_.surviving(write.line));
    points.push_back(words(image_.read(kLine)));
  }
  LineData read(Line line) const { return image_.read(line); }

  std::vector<WordBytes> points;

 private:
  Memory& memory_;
  Image image_;
};

class TwoCoresWords : public testing::TestWithParam<bool> {
 protected:
  // Writes merge only if their owners agree.
  std::uint64_t owner(std::uint64_t core) const { return GetParam() ? 0 : core; }
};
INSTANTIATE_TEST_SUITE_P(Merging, TwoCoresWords, testing::Bool());

TEST_P(TwoCoresWords, WordsOfBothWritesAreKept) {
  for (const auto& [first, second] : {std::pair{0, 1}, std::pair{1, 0}}) {
    MemoryBench bench(simple_memory());
    const Survivors survivors(bench.memory);
    bench.memory.write(part(1, word(static_cast<std::uint64_t>(first)), owner(1)));
    bench.memory.write(part(2, word(static_cast<std::uint64_t>(second)), owner(2)));
    EXPECT_EQ(bench.memory.statistics().writes_merged, GetParam() ? 1u : 0u);
    WordBytes one(8), both(8);
    one[static_cast<std::size_t>(first)] = both[static_cast<std::size_t>(first)] = 1;
    both[static_cast<std::size_t>(second)] = 2;
    EXPECT_EQ(survivors.points, (std::vector{one, both}));
    EXPECT_EQ(words(bench.memory.newest(kLine)), both);
    EXPECT_EQ(words(bench.memory.surviving(kLine)), both);
    bench.drain();
    EXPECT_EQ(words(bench.memory.device().read(kLine)), both);
  }
}

TEST_P(TwoCoresWords, PartialWritesLeaveTheOtherBytesUnchanged) {
  MemoryBench bench(simple_memory());
  bench.memory.device().write(kLine, filled(9));
  bench.memory.write(part(1, bytes_from(3, 1), owner(1)));
  bench.memory.write(part(2, bytes_from(3, 2), owner(2)));
  LineData expected = filled(9);
  expected[3] = expected[4] = std::byte{2};
  EXPECT_EQ(bench.memory.newest(kLine), expected);
  EXPECT_EQ(bench.memory.surviving(kLine), expected);
  bench.drain();
  EXPECT_EQ(bench.memory.device().read(kLine), expected);
}

TEST(ByteMask, UnmergedWritesAreDroppedSeparately) {
  MemoryBench bench(simple_memory());
  const Survivors survivors(bench.memory);
  bench.memory.device().write(kLine, filled(9));
  const WriteId older = bench.memory.write(part(1, word(0) | word(1), 1));
  const WriteId newer = bench.memory.write(part(2, word(1) | word(2), 2));
  EXPECT_TRUE(bench.memory.drop(newer));
  EXPECT_EQ(survivors.points.back(), (WordBytes{1, 1, 9, 9, 9, 9, 9, 9}));
  const WriteId again = bench.memory.write(part(3, word(1), 3));
  EXPECT_TRUE(bench.memory.drop(older));
  EXPECT_EQ(survivors.points.back(), (WordBytes{9, 3, 9, 9, 9, 9, 9, 9}));
  EXPECT_TRUE(bench.memory.drop(again));
  EXPECT_EQ(words(bench.memory.newest(kLine)), WordBytes(8, 9));
}

TEST(ByteMask, ReadIsForwardedIfTheQueueHoldsAllBytesOfTheLine) {
  MemoryParameters p = simple_memory();
  p.front_latency = ns(4);
  MemoryBench bench(p);
  bench.memory.write(part(1, ~word(0), 1));
  bench.read(1, kLine);
  bench.memory.write(part(2, word(0), 2));
  bench.read(2, kLine);
  bench.run();
  EXPECT_EQ(bench.read_at[1], Times{at_ns(35 + 4)}) << "as from its bank";
  EXPECT_EQ(bench.read_at[2], Times{at_ns(4)});
  EXPECT_EQ(bench.memory.statistics().reads_forwarded, 1u);
}

TEST(ByteMask, ReservedWriteIncludesTheBytesOfOvertakenWrites) {
  MemoryParameters p = simple_memory();
  p.wpq_entries = 2;
  MemoryBench bench(p);
  Survivors survivors(bench.memory);
  ASSERT_TRUE(bench.memory.reserve(0));
  bench.memory.write(part(1, word(0) | word(1) | word(2), 1));
  bench.memory.write(part(2, word(1) | word(2), 2));  // waits
  bench.memory.write(part(3, word(1) | word(3), 3));  // too
  EXPECT_EQ(survivors.points.back(), (WordBytes{1, 1, 1, 0, 0, 0, 0, 0}));
  bench.memory.write_reserved(part(4, word(3), 4));
  EXPECT_EQ(survivors.points.back(), (WordBytes{1, 3, 2, 4, 0, 0, 0, 0}));
  EXPECT_EQ(words(bench.memory.surviving(kLine)), survivors.points.back());
  bench.drain();
  EXPECT_EQ(words(bench.memory.device().read(kLine)), survivors.points.back());
}

TEST(ByteMask, MergingReservedWriteIncludesTheBytesOfOvertakenWrites) {
  MemoryParameters p = simple_memory();
  p.wpq_entries = 2;
  MemoryBench bench(p);
  Survivors survivors(bench.memory);
  ASSERT_TRUE(bench.memory.reserve(0));
  bench.memory.write(part(1, word(0) | word(1), 1));
  bench.memory.write(part(2, word(1), 2));
  bench.memory.write_reserved(part(3, word(2), 1));
  EXPECT_EQ(survivors.points.back(), (WordBytes{1, 2, 3, 0, 0, 0, 0, 0}));
  EXPECT_EQ(words(bench.memory.surviving(kLine)), survivors.points.back());
}

TEST(ByteMask, WrittenBytesPersistWhenTheBankHasWrittenThem) {
  MemoryParameters p = simple_memory();
  p.persistence = PersistencePoint::kWritten;
  MemoryBench bench(p);
  const Survivors survivors(bench.memory);
  bench.memory.write(part(1, word(0), 1));
  bench.memory.write(part(2, word(1), 2));
  EXPECT_EQ(words(bench.memory.surviving(kLine)), WordBytes(8, 0));
  EXPECT_EQ(words(bench.memory.newest(kLine)), (WordBytes{1, 2, 0, 0, 0, 0, 0, 0}));
  bench.drain();
  EXPECT_EQ(survivors.points,
            (std::vector<WordBytes>{{1, 0, 0, 0, 0, 0, 0, 0}, {1, 2, 0, 0, 0, 0, 0, 0}}));
}

// ---- Through the backend

// Holds every write for 100 ns, or for a random time, and encrypts each byte with the number of the
// line's write. This number is in a register, and in a line of metadata that is accepted together
// with the data.
class Cipher final : public BackendOperation, public WriteGate {
 public:
  WriteGate* gate() override { return this; }
  explicit Cipher(std::uint64_t seed = 0) : seed_(seed), random_(seed) {}
  void connect(EventQueue& queue, const Memory&, MetadataPort&) override { queue_ = &queue; }
  Traits traits() const override { return {.most_metadata = 1}; }
  bool write(const Write& write, const Prepared&, Completion done) override {
    seen.push_back(words(write.data));
    if (seed_ > 0 && random_() % 4 == 0) return true;
    const auto random = static_cast<std::int64_t>(random_() % 300'000);
    waiting_.push_back(done);
    queue_->schedule(queue_->now() + (seed_ > 0 ? Picoseconds{random} : ns(100)),
                     Phase::kController, completion<&Cipher::proceed>(*this, waiting_.size() - 1));
    return false;
  }
  void forget(const Completion& done) override {
    for (Completion& waiting : waiting_) {
      if (waiting.argument == done.argument) waiting = {};
    }
  }
  void encode(const Write& write, const Prepared&, Encoded& encoded) const override {
    const std::uint8_t number = number_of(write.line) + 1;
    encoded.data = crypted(encoded.data, number);
    encoded.metadata.push_back({{write.line.number + 100}, filled(number)});
  }
  void accepted(const Write& write, const Encoded&) override { ++numbers_[write.line]; }
  void dropped(const Write& write, const Encoded&, bool accepted) override {
    numbers_[write.line] -= accepted;
  }
  LineData decode(Line line, const LineData& data) const override {
    return crypted(data, number_of(line));
  }
  std::vector<WordBytes> seen;

 private:
  static LineData crypted(LineData data, std::uint8_t number) {
    for (std::byte& byte : data) byte ^= std::byte{number};
    return data;
  }
  std::uint8_t number_of(Line line) const {
    const auto found = numbers_.find(line);
    return found == numbers_.end() ? 0 : found->second;
  }
  void proceed(std::uint64_t number, Time now) {
    const Completion done = std::exchange(waiting_[number], {});
    if (done) done(now);
  }

  const std::uint64_t seed_;
  std::mt19937_64 random_;
  EventQueue* queue_ = nullptr;
  std::vector<Completion> waiting_;
  std::map<Line, std::uint8_t> numbers_;
};

struct BackendBench : MemoryBench {
  explicit BackendBench(const MemoryParameters& parameters = simple_memory())
      : MemoryBench(parameters) {
    BackendParts::Operations operations;
    operations.push_back(std::make_unique<Cipher>());
    cipher = static_cast<Cipher*>(operations.front().get());
    backend = std::make_unique<Backend>(queue, memory, std::move(operations), ns(4));
  }
  void read(std::uint64_t number) {
    backend->read(kLine, completion<&BackendBench::note>(*this, number));
  }
  void note(std::uint64_t number, Time when) { read_at[number].push_back(when); }
  WordBytes newest() const { return words(backend->newest(kLine)); }
  WordBytes surviving() const { return words(backend->surviving(kLine)); }

  Cipher* cipher;
  std::unique_ptr<Backend> backend;
};

TEST(BackendByteMask, HeldWritesAreFoundAndCompletedOnRelease) {
  BackendBench bench;
  bench.backend->write(part(1, word(0) | word(1), 1));
  bench.run_until(at_ns(10));
  bench.backend->write(part(2, word(1) | word(2), 2));
  EXPECT_EQ(bench.newest(), (WordBytes{1, 2, 2, 0, 0, 0, 0, 0}));
  EXPECT_EQ(bench.surviving(), WordBytes(8, 0));
  EXPECT_EQ(bench.cipher->seen,
            (std::vector<WordBytes>{{1, 1, 0, 0, 0, 0, 0, 0}, {1, 2, 2, 0, 0, 0, 0, 0}}));
  bench.run_until(at_ns(100));
  EXPECT_EQ(bench.surviving(), (WordBytes{1, 1, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(bench.newest(), (WordBytes{1, 2, 2, 0, 0, 0, 0, 0}));
  bench.drain();
  EXPECT_EQ(bench.surviving(), (WordBytes{1, 2, 2, 0, 0, 0, 0, 0}));
}

TEST(BackendByteMask, DroppedHeldWriteLeavesNoBytes) {
  BackendBench bench;
  const WriteId older = bench.backend->write(part(1, word(0) | word(1), 1));
  bench.backend->write(part(2, word(1), 2));
  EXPECT_TRUE(bench.backend->drop(older));
  EXPECT_EQ(bench.newest(), (WordBytes{0, 2, 0, 0, 0, 0, 0, 0}));
  bench.drain();
  EXPECT_EQ(bench.surviving(), (WordBytes{0, 2, 0, 0, 0, 0, 0, 0}));
}

TEST(BackendByteMask, WriteIncludedInANewerWriteCannotBeDropped) {
  BackendBench bench;
  const WriteId older = bench.backend->write(part(1, word(0), 1));
  const WriteId newer = bench.backend->write(part(2, word(1), 2));
  bench.run_until(at_ns(100));
  EXPECT_EQ(bench.surviving(), (WordBytes{1, 2, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(bench.backend->pending(older), nullptr);
  EXPECT_FALSE(bench.backend->drop(older));
  WriteId found;
  ASSERT_TRUE(bench.backend->find(kLine, WriteKind::kData, found));
  EXPECT_EQ(found, newer);
  EXPECT_TRUE(bench.backend->drop(newer));
  EXPECT_EQ(bench.surviving(), (WordBytes{1, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_TRUE(bench.backend->drop(older)) << "with the other one its copy is gone";
  EXPECT_EQ(bench.surviving(), WordBytes(8, 0));
}

TEST(BackendByteMask, WriteReusingADroppedEntryHasNoneOfItsBytes) {
  MemoryParameters p = simple_memory();
  p.wpq_entries = 3;
  BackendBench bench(p);
  const WriteId older = bench.backend->write(part(1, word(0), 1));
  bench.backend->write(part(2, word(1), 2));
  while (bench.backend->pending().find("too few free entries") == std::string::npos) {
    ASSERT_TRUE(bench.queue.step());
  }
  EXPECT_EQ(bench.surviving(), (WordBytes{1, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_TRUE(bench.backend->drop(older));
  EXPECT_EQ(bench.surviving(), (WordBytes{0, 2, 0, 0, 0, 0, 0, 0}));
}

TEST(BackendByteMask, AcceptedWriteCanBeDroppedUnderAWholeLineWrite) {
  BackendBench bench;
  const WriteId older = bench.backend->write(part(1, word(0), 1));
  bench.backend->write(part(2, kWholeLine, 2));
  bench.run_until(at_ns(100));
  EXPECT_TRUE(bench.backend->drop(older));
  EXPECT_EQ(bench.backend->pending(older), nullptr);
}

TEST(BackendByteMask, ReadIsAnsweredByHeldWritesThatCoverTheLine) {
  BackendBench bench;
  bench.backend->write(part(1, ~word(0), 1));
  bench.read(1);
  bench.backend->write(part(2, word(0), 2));
  bench.read(2);
  bench.run();
  EXPECT_EQ(bench.read_at[1], Times{at_ns(35)}) << "as from its bank";
  EXPECT_EQ(bench.read_at[2], Times{at_ns(4)});
}

// ---- At random, against a model that knows single bytes

// A write's state, by its number.
struct Progress {
  bool sent = false, persistent = false, dropped = false;
};

class Notes final : public BackendOperation {
 public:
  explicit Notes(std::vector<Progress>& progress) : progress_(progress) {}
  void sent(const Write& write, const Encoded&) override {
    progress_[write.home.number].sent = true;
  }
  void accepted(const Write& write, const Encoded&) override {
    progress_[write.home.number].persistent = true;
  }

 private:
  std::vector<Progress>& progress_;
};

// Random partial writes to few lines, drops and reservations; after every event, what the device
// will hold, what is newest and what would survive are the newest bytes of those that count.
template <class Pm>
class RandomParts {
 public:
  RandomParts(MemoryBench& bench, Pm& pm, std::vector<Progress>& progress, std::uint64_t seed)
      : bench_(bench), pm_(pm), progress_(progress), survivors_(bench.memory), random_(seed) {}

  void run(int requests) {
    for (int i = 0; i < requests && !testing::Test::HasFailure(); ++i) {
      act();
      check();
      for (std::uint64_t steps = random_() % 6; steps > 0 && bench_.queue.step(); --steps) check();
    }
    while (reserved_ > 0) release();
    bench_.run();
    bench_.drain();
    check();
    for (std::uint64_t line = 0; line < kLines; ++line) {
      EXPECT_EQ(pm_.surviving(Line{line}), expected(Line{line}, false));
    }
    EXPECT_TRUE(bench_.memory.idle());
  }

 private:
  static constexpr std::uint64_t kLines = 3;
  struct Sent {
    Line line;
    LineData data;
    ByteMask bytes;
    WriteId id;
  };

  void act() {
    const std::uint64_t choice = random_() % 16;
    if (choice < 3) {
      if (pm_.reserve(0)) ++reserved_;
    } else if (choice < 4 && reserved_ > 0) {
      release();
    } else if (choice < 8 && !sent_.empty()) {
      drop();
    } else {
      write();
    }
  }
  void release() {
    --reserved_;
    pm_.release(0);
  }
  ByteMask some_bytes() {
    switch (random_() % 4) {
      case 0:
        return kWholeLine;
      case 1:
        return word(random_() % 8);
      case 2:
        return random_() | 1;
      default:
        return bytes_from(random_() % 60, 1 + random_() % 4);
    }
  }
  // Half of the writes have an owner of their own, so that they never merge and can be dropped by
  // themselves.
  void write() {
    Sent one{Line{random_() % kLines}, {}, some_bytes(), {}};
    for (std::byte& byte : one.data) byte = std::byte(random_());
    const std::uint64_t number = sent_.size();
    progress_.emplace_back();
    const bool alone = random_() % 2 == 0;
    const Write write{.line = one.line,
                      .owner = alone ? number + 1 : 0,
                      .data = one.data,
                      .persisted = {},
                      .written = {},
                      .home = {number},
                      .persisting = completion<&RandomParts::note>(*this, number),
                      .bytes = one.bytes};
    sent_.push_back(one);
    WriteId id;
    if (reserved_ > 0 && random_() % 2 == 0) {
      --reserved_;
      id = pm_.write_reserved(write);
    } else {
      id = pm_.write(write);
      if (!alone) id = {};
      sent_[number].id = id;
    }
  }
  void drop() {
    const std::size_t number =
        sent_.size() - 1 - random_() % std::min<std::size_t>(sent_.size(), 8);
    const WriteId id = sent_[number].id;
    if (id == WriteId{} || is_covered(number)) return;
    const bool possible = pm_.pending(id) != nullptr;
    EXPECT_EQ(pm_.drop(id), possible);
    progress_[number].dropped |= possible;
  }
  // Operations can undo only the newest write of a line.
  bool is_covered(std::size_t number) const {
    for (std::size_t later = number + 1; later < sent_.size() && progress_[number].sent; ++later) {
      const Progress& other = progress_[later];
      if (sent_[later].line == sent_[number].line && other.sent && !other.dropped) return true;
    }
    return false;
  }
  void note(std::uint64_t number, Time) { progress_[number].persistent = true; }

  LineData expected(Line line, bool only_persistent) const {
    LineData data{};
    for (std::size_t number = 0; number < sent_.size(); ++number) {
      const Sent& one = sent_[number];
      const Progress& progress = progress_[number];
      if (one.line != line || progress.dropped) continue;
      if (only_persistent && !progress.persistent) continue;
      // Each byte in turn, of thousands of writes: not by operator[], which is a call here.
      const std::byte* const from = one.data.data();
      std::byte* const to = data.data();
      for (std::size_t at = 0; at < kLineBytes; ++at) {
        if ((one.bytes >> at & 1) != 0) to[at] = from[at];
      }
    }
    return data;
  }
  void check() {
    for (Line line{0}; line.number < kLines; ++line.number) {
      ASSERT_EQ(pm_.newest(line), expected(line, false)) << "after " << sent_.size();
      const LineData persistent = expected(line, true);
      ASSERT_EQ(pm_.surviving(line), persistent) << "after " << sent_.size();
      if constexpr (std::is_same_v<Pm, Memory>) {
        ASSERT_EQ(survivors_.read(line), persistent) << "after " << sent_.size();
      }
    }
  }

  MemoryBench& bench_;
  Pm& pm_;
  std::vector<Progress>& progress_;
  Survivors survivors_;
  std::mt19937_64 random_;
  std::vector<Sent> sent_;
  std::uint32_t reserved_ = 0;
};

class RandomBytes : public testing::TestWithParam<std::uint64_t> {
 protected:
  static MemoryParameters memory() {
    MemoryParameters p = simple_memory();
    p.wpq_entries = static_cast<std::uint32_t>(2 + GetParam() % 4);
    p.write_merging = GetParam() % 5 != 0;
    p.front_latency = ns(3);
    return p;
  }
};
// The long form has 60 seeds instead of 12.
INSTANTIATE_TEST_SUITE_P(Seeds, RandomBytes, seeds<std::uint64_t>(1, 6, 60));

TEST_P(RandomBytes, EachByteComesFromItsNewestWrite) {
  for (const PersistencePoint point : {PersistencePoint::kAccepted, PersistencePoint::kWritten}) {
    MemoryParameters p = memory();
    p.persistence = point;
    if (GetParam() % 3 == 0) {
      p.link_latency = ns(60);
      p.link_bandwidth = {10'000'000'000};
      p.queue_place = QueuePlace::kDevice;
    }
    MemoryBench bench(p);
    std::vector<Progress> progress;
    RandomParts<Memory>(bench, bench.memory, progress, GetParam()).run(400);
  }
}

TEST_P(RandomBytes, EachByteComesFromItsNewestWriteThroughABackend) {
  MemoryBench bench(memory());
  std::vector<Progress> progress;
  BackendParts::Operations operations;
  operations.push_back(std::make_unique<Notes>(progress));
  operations.push_back(std::make_unique<Cipher>(GetParam()));
  Backend backend(bench.queue, bench.memory, std::move(operations), ns(2));
  RandomParts<Backend>(bench, backend, progress, GetParam()).run(400);
}

}  // namespace
}  // namespace pmemsim
