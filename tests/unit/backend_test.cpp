// Writes that the backend's operations hold or move, and reads that they delay: rules 1, 6 and 7 of
// designs/backend/backend.hpp, observed at banks, reservations and readers.
#include "pmemsim/designs/backend/backend.hpp"
#include "pmemsim/designs/backend/operation.hpp"
#include "pmemsim/designs/backend/prediction.hpp"
#include "pmemsim/machine/memory/memory.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "memory_bench.hpp"

namespace pmemsim {
namespace {

using Counts = std::vector<std::uint32_t>;
using Times = std::vector<Time>;

// An operation that delays writes and moves lines, optionally with metadata.
struct Manner {
  Picoseconds write{}, read{};
  std::uint64_t moves_by = 0;  // lines
  bool metadata = false;
};

class Slow final : public BackendOperation, public WriteGate {
 public:
  WriteGate* gate() override { return this; }
  explicit Slow(const Manner& manner) : manner_(manner) {}
  void connect(EventQueue& queue, const Memory&, MetadataPort&) override { queue_ = &queue; }
  Traits traits() const override { return {.most_metadata = manner_.metadata ? 1u : 0u}; }
  bool write(const Write&, const Prepared&, Completion done) override {
    return proceed(done, manner_.write);
  }
  void forget(const Completion&) override { forgotten_ = true; }
  bool read(Line, Completion done) override { return proceed(done, manner_.read); }
  void encode(const Write&, const Prepared&, Encoded& encoded) const override {
    encoded.place = {encoded.place.number + manner_.moves_by};
    if (manner_.metadata) encoded.metadata.push_back({{encoded.place.number + 1000}, {}});
  }

 private:
  bool proceed(Completion done, Picoseconds time) {
    if (time == ns(0)) return true;
    done_ = done;
    queue_->schedule(queue_->now() + time, Phase::kController, completion<&Slow::is_done>(*this));
    return false;
  }
  void is_done(std::uint64_t, Time now) {
    if (!forgotten_) done_(now);
  }

  const Manner manner_;
  EventQueue* queue_ = nullptr;
  Completion done_;
  bool forgotten_ = false;
};

struct SlowBench : MemoryBench {
  explicit SlowBench(const Manner& manner, const MemoryParameters& parameters = simple_memory())
      : MemoryBench(parameters) {
    BackendParts::Operations operations;
    operations.push_back(std::make_unique<Slow>(manner));
    backend = std::make_unique<Backend>(queue, memory, std::move(operations), ns(4));
  }
  static Write write_of(Line line) {
    return {.line = line, .data = {}, .persisted = {}, .written = {}};
  }
  Counts pending_operations() const {
    const auto counts = backend->pending_operations();
    return {counts.begin(), counts.end()};
  }
  void read(std::uint64_t number, Line line) {
    backend->read(line, completion<&SlowBench::note>(*this, number));
  }
  void note(std::uint64_t number, Time when) { read_at[number].push_back(when); }

  std::unique_ptr<Backend> backend;
};

// ---- Rule 1

TEST(Backend, HeldWritesCountAsPendingAtTheirBanks) {
  SlowBench bench({.write = ns(100)});
  bench.MemoryBench::read(1, line_in(1, 0));
  bench.backend->write(bench.write_of(line_in(2, 0)));
  const WriteId other = bench.backend->write(bench.write_of(line_in(2, 1)));
  EXPECT_EQ(bench.pending_operations(), (Counts{0, 1, 2, 0}));
  EXPECT_TRUE(bench.backend->drop(other));
  EXPECT_EQ(bench.pending_operations(), (Counts{0, 1, 1, 0}));
  bench.run_until(at_ns(99));
  EXPECT_EQ(bench.pending_operations(), (Counts{0, 0, 1, 0})) << "the read has been answered";
}

TEST(Backend, ReadIsAnsweredWhenMemoryAndOperationsAreDone) {
  constexpr Picoseconds kMemory = ns(10 + 20 + 5);  // tRCD, tCL, burst
  for (const Picoseconds operation : {ns(0), ns(20), ns(35), ns(36), ns(200)}) {
    SlowBench bench({.read = operation});
    bench.read(1, line_in(0, 0));
    bench.run();
    EXPECT_EQ(bench.read_at[1], Times{Time{} + max(kMemory, operation)});
  }
}

// Two channels of pages of two lines, each with one entry that can be reserved: the other entries
// are left for writes that arrive together.
MemoryParameters two_channels(std::uint32_t together) {
  MemoryParameters p = simple_memory();
  p.controllers = 2;
  p.wpq_entries = together + 1;
  return p;
}

// ---- Notifications in the step in which a write becomes persistent

// Records the order in which the sender and an observer are notified.
struct Notifications : PersistenceObserver {
  void persisting(std::uint64_t, Time when) { received.emplace_back("sender", when); }
  void persisted(const Write&, PersistencePoint, Time when) override {
    received.emplace_back("observer", when);
  }
  void persisted_with_next(const Write&) override {}
  void dropped(const Write&, Time) override {}
  std::vector<std::pair<std::string, Time>> received;
};

TEST(Backend, SenderOfAHeldWriteIsNotifiedBeforeObserversInTheSameStep) {
  for (const Picoseconds held : {ns(0), ns(20)}) {
    for (const bool metadata : {false, true}) {
      SlowBench bench({.write = held, .metadata = metadata}, two_channels(metadata ? 2 : 1));
      Notifications notifications;
      bench.memory.observe(&notifications);
      Write write = SlowBench::write_of({0});
      write.persisting = completion<&Notifications::persisting>(notifications);
      bench.backend->write(write);
      bench.run();
      ASSERT_GE(notifications.received.size(), 2u);
      EXPECT_EQ(notifications.received[0], std::pair(std::string("sender"), Time{} + held));
      EXPECT_EQ(notifications.received[1], std::pair(std::string("observer"), Time{} + held));
    }
  }
}

// ---- Rule 7

TEST(Backend, DroppedHeldWriteReleasesItsReservedEntry) {
  SlowBench bench({.write = ns(100)}, two_channels(1));
  ASSERT_TRUE(bench.backend->reserve(0));
  EXPECT_FALSE(bench.backend->reserve(0));
  const WriteId held = bench.backend->write_reserved(bench.write_of({0}));
  EXPECT_FALSE(bench.backend->reserve(0));
  EXPECT_TRUE(bench.backend->drop(held));
  EXPECT_TRUE(bench.backend->reserve(0));
}

TEST(Backend, WriteMovedToAnotherChannelReleasesItsReservedEntry) {
  for (const bool metadata : {false, true}) {
    SlowBench bench({.write = ns(100), .moves_by = 2, .metadata = metadata},
                    two_channels(metadata ? 2 : 1));
    ASSERT_EQ(bench.memory.channel_of({0}), 0u);
    ASSERT_EQ(bench.memory.channel_of({2}), 1u);
    ASSERT_TRUE(bench.backend->reserve(0));
    bench.backend->write_reserved(bench.write_of({0}));
    bench.run_until(at_ns(99));
    EXPECT_FALSE(bench.backend->reserve(0));
    bench.run_until(at_ns(100));
    EXPECT_TRUE(bench.backend->reserve(0));
  }
}

// ---- Rule 6

// Three writes of a line, by the order in which they left the caches.
struct OvertakingBench : SlowBench {
  OvertakingBench() : SlowBench({}) {
    for (std::uint64_t& one : departures) one = backend->next_departure();
  }
  // Returns the contents of the line after the write with this number has arrived.
  std::uint64_t arrives(std::size_t number) {
    Write write = write_of(line_in(0, 0));
    write.data = data_of(number);
    write.departure = departures[number];
    backend->write(write);
    return value_of(backend->newest(write.line));
  }
  std::array<std::uint64_t, 3> departures{};
};

// An overtaken write takes over the line's newest contents, and is no newer than these. A write
// that left the caches later isn't overtaken by it.
TEST(Backend, OvertakenWriteDoesNotOvertakeALaterWrite) {
  OvertakingBench bench;
  EXPECT_EQ(bench.arrives(1), 1u);
  EXPECT_EQ(bench.arrives(0), 1u);
  EXPECT_EQ(bench.arrives(2), 2u);
}

TEST(Backend, LateWriteIsOvertakenDespiteEarlierOvertakenWrites) {
  OvertakingBench bench;
  EXPECT_EQ(bench.arrives(2), 2u);
  EXPECT_EQ(bench.arrives(0), 2u);
  EXPECT_EQ(bench.arrives(1), 2u);
}

}  // namespace
}  // namespace pmemsim
