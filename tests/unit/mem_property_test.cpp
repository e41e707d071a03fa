// Random traffic: no write is lost, notified twice or written in the wrong order. At any time, the
// data that would survive a crash are the data that have been notified as persistent.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "long_tests.hpp"
#include "memory_bench.hpp"

namespace pmemsim {
namespace {

// One run: sends random reads, writes, drops and reservations at random times, and follows every
// write.
class RandomTraffic : public PersistenceObserver {
 public:
  RandomTraffic(const MemoryParameters& parameters, std::uint64_t seed, bool drops)
      : bench_(parameters),
        random_(seed),
        drops_(drops),
        wpq_entries_(parameters.wpq_entries),
        log_queue_(parameters.log_queue_entries > 0),
        accepted_counts_(parameters.persistence == PersistencePoint::kAccepted && !log_queue_),
        reserved_(parameters.channels()) {
    bench_.memory.observe(this);
  }

  void run(int requests) {
    for (int i = 0; i < requests; ++i) {
      send();
      if (random_() % 16 == 0) check_survivors();
      if (random_() % 64 == 0) check_capacity();
      if (random_() % 4 == 0) {
        bench_.run_until(bench_.queue.now() +
                         Picoseconds{static_cast<std::int64_t>(
                             random_() % (random_() % 8 == 0 ? 500'000 : 9'000))});
      }
    }
    for (std::uint32_t channel = 0; channel < reserved_.size(); ++channel) {
      for (; reserved_[channel] > 0; --reserved_[channel]) bench_.memory.release(channel);
    }
    bench_.drain();
    check_end();
    check_all_entries_are_back();
  }

  void persisted(const Write& write, PersistencePoint, Time when) override {
    note(1, value_of(write.data), when);
    ++observed_;
    std::uint64_t& newest = surviving_[write.line.number];
    newest = std::max(newest, value_of(write.data));
  }
  void persisted_with_next(const Write&) override {}
  void dropped(const Write& write, Time when) override { note(2, value_of(write.data), when); }
  const std::vector<std::uint64_t>& history() const { return history_; }

 private:
  Line some_line() {
    // Half of the traffic goes to a few lines, so that they merge, forward and conflict.
    return Line{random_() % 2 == 0 ? random_() % 12 : random_() % 4096};
  }

  void send() {
    const std::uint64_t choice = random_() % 100;
    if (choice < 40) {
      bench_.read(++reads_, some_line());
    } else if (choice < 50) {
      reserve_or_release();
    } else if (choice < 95 || !drops_ || ids_.empty()) {
      write();
    } else {
      drop(ids_[random_() % 8 < 6
                    ? ids_.size() - 1 - random_() % std::min<std::size_t>(ids_.size(), 20)
                    : random_() % ids_.size()]);
    }
  }

  void write() {
    const Line line = some_line();
    const std::uint64_t number = ++writes_;
    lines_[number] = line.number;
    // Log and data must not share a line if they have queues of their own.
    const auto kind = static_cast<WriteKind>((log_queue_ ? line.number : random_()) % 2);
    std::uint32_t& reserved = reserved_[bench_.memory.channel_of(line)];
    if (kind == WriteKind::kData && reserved > 0 && random_() % 2 == 0) {
      --reserved;
      ++reserved_writes_;
      ids_.push_back(bench_.write_reserved(number, line));
    } else {
      // Owners last a while, so that some writes merge.
      ids_.push_back(bench_.write(number, line, kind, writes_ / 64));
    }
  }

  void reserve_or_release() {
    const auto channel = static_cast<std::uint32_t>(random_() % reserved_.size());
    if (random_() % 4 > 0) {
      reserved_[channel] += bench_.memory.reserve(channel);
    } else if (reserved_[channel] > 0) {
      --reserved_[channel];
      bench_.memory.release(channel);
    }
  }

  // Reservations and accepted writes that no bank has taken.
  void check_capacity() {
    if (!accepted_counts_) return;
    std::set<const Write*> accepted;
    bench_.memory.for_each_accepted(
        [](void* set, const Write& write) {
          static_cast<std::set<const Write*>*>(set)->insert(&write);
        },
        &accepted);
    std::vector<std::set<const Write*>> held(reserved_.size());
    for (const WriteId id : ids_) {
      const Write* const pending = bench_.memory.pending(id);
      if (pending != nullptr && accepted.count(pending) > 0) held[id.channel].insert(pending);
    }
    for (std::size_t channel = 0; channel < held.size(); ++channel) {
      EXPECT_LT(reserved_[channel], wpq_entries_);
      EXPECT_LE(held[channel].size() + reserved_[channel], wpq_entries_);
    }
  }

  void check_all_entries_are_back() {
    for (std::uint32_t channel = 0; channel < reserved_.size(); ++channel) {
      std::uint32_t free = 0;
      while (bench_.memory.reserve(channel)) ++free;
      EXPECT_EQ(free, wpq_entries_ - 1);
      for (; free > 0; --free) bench_.memory.release(channel);
    }
  }

  void drop(WriteId id) {
    const bool possible = bench_.memory.pending(id) != nullptr;
    EXPECT_EQ(bench_.memory.drop(id), possible);
  }

  // After a drop, the line's surviving data are those of an older entry or of the device.
  void check_survivors() {
    if (drops_) return;
    std::map<std::uint64_t, std::uint64_t> found;
    for (const auto& [line, value] : surviving_) {
      found[line] = value_of(bench_.memory.device().read(Line{line}));
    }
    bench_.memory.for_each_accepted(
        [](void* map, const Write& write) {
          (*static_cast<std::map<std::uint64_t, std::uint64_t>*>(map))[write.line.number] =
              value_of(write.data);
        },
        &found);
    EXPECT_EQ(found, surviving_);
    for (const auto& [line, value] : surviving_) {
      EXPECT_EQ(value_of(bench_.memory.surviving(Line{line})), value);
    }
  }

  void check_end() {
    EXPECT_TRUE(bench_.memory.idle()) << bench_.memory.describe_pending();
    EXPECT_TRUE(bench_.queue.empty());
    for (std::uint64_t read = 1; read <= reads_; ++read) {
      ASSERT_EQ(bench_.read_at[read].size(), 1u) << "read " << read;
      note(3, read, bench_.read_at[read][0]);
    }
    std::uint64_t written = 0;
    std::map<std::uint64_t, std::uint64_t> newest;  // by line, of those that were written
    for (std::uint64_t number = 1; number <= writes_; ++number) {
      ASSERT_LE(bench_.persisted_at[number].size(), 1u) << "write " << number;
      ASSERT_LE(bench_.written_at[number].size(), 1u) << "write " << number;
      if (bench_.written_at[number].empty()) continue;
      ++written;
      ASSERT_EQ(bench_.persisted_at[number].size(), 1u) << "write " << number;
      newest[lines_[number]] = number;
      note(4, number, bench_.written_at[number][0]);
    }
    for (const auto& [line, number] : newest) {
      EXPECT_EQ(value_of(bench_.memory.device().read(Line{line})), number) << "line " << line;
    }
    const MemoryStatistics& statistics = bench_.memory.statistics();
    EXPECT_EQ(statistics.reads, reads_);
    EXPECT_EQ(statistics.reads, statistics.reads_forwarded + statistics.lines_read);
    EXPECT_EQ(statistics.all_writes(), writes_);
    EXPECT_EQ(statistics.all_writes(), statistics.all_lines_written() + statistics.writes_merged +
                                           statistics.writes_dropped);
    if (!drops_) {
      EXPECT_EQ(written, writes_);
      // If writes merge before they are persistent, only the newest one survives.
      EXPECT_GE(observed_, statistics.all_lines_written());
      EXPECT_LE(observed_, writes_);
      // A reserved write replaces all waiting writes of its line.
      if (accepted_counts_ && reserved_writes_ == 0) {
        EXPECT_EQ(observed_, writes_);
      }
      check_survivors();
    }
    for (std::uint32_t bank = 0; bank < 4; ++bank) {
      EXPECT_EQ(bench_.memory.pending_operations()[bank], 0u);
    }
  }

  void note(std::uint64_t what, std::uint64_t number, Time when) {
    history_.insert(history_.end(), {what, number, static_cast<std::uint64_t>(when.count)});
  }

  MemoryBench bench_;
  std::mt19937_64 random_;
  bool drops_;
  std::uint32_t wpq_entries_;
  bool log_queue_;
  bool accepted_counts_;                 // for every write
  std::vector<std::uint32_t> reserved_;  // entries of each channel
  std::uint64_t reserved_writes_ = 0;
  std::uint64_t reads_ = 0;
  std::uint64_t writes_ = 0;
  std::uint64_t observed_ = 0;
  std::vector<WriteId> ids_;
  std::map<std::uint64_t, std::uint64_t> lines_;
  std::map<std::uint64_t, std::uint64_t> surviving_;
  std::vector<std::uint64_t> history_;
};

MemoryParameters random_memory(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto chance = [&] { return random() % 2 == 0; };
  MemoryParameters p = simple_memory();
  p.controllers = 1 + random() % 2;
  p.channels_per_controller = 1 + random() % 3;
  p.ranks = chance() ? 1 : 2;
  p.device = chance() ? DeviceKind::kDram : chance() ? DeviceKind::kFixed : DeviceKind::kBuffered;
  p.interleaving = chance() ? Interleaving::kPage : Interleaving::kLine;
  p.internal_line = {p.interleaving == Interleaving::kPage ? 128u : 64u};
  p.write_buffer_lines = static_cast<std::uint32_t>(1 + random() % 4);
  p.page_policy = chance() ? PagePolicy::kOpen : PagePolicy::kClosed;
  p.max_accesses_per_row = chance() ? 3 : 16;
  p.persistence = chance() ? PersistencePoint::kAccepted : PersistencePoint::kWritten;
  p.log_queue_entries = chance() ? 0 : static_cast<std::uint32_t>(1 + random() % 8);
  p.write_merging = random() % 4 != 0;
  p.wpq_entries = static_cast<std::uint32_t>(1 + random() % 24);
  p.read_queue_entries = static_cast<std::uint32_t>(1 + random() % 24);
  p.min_writes_per_switch = static_cast<std::uint32_t>(1 + random() % 16);
  p.write_high_watermark = {chance() ? 1 : 0.85};
  p.write_low_watermark = {chance() ? 0 : 0.5};
  p.front_latency = ns(static_cast<std::int64_t>(random() % 12));
  p.trefi = chance() ? ns(0) : ns(1000);
  p.trfc = ns(120);
  p.tburst = chance() ? ns(5) : ns(0);
  if (chance()) {
    p.link_latency = ns(60);
    p.link_bandwidth = {chance() ? 0u : 10'000'000'000u};
    p.queue_place = chance() ? QueuePlace::kHost : QueuePlace::kDevice;
  }
  p.idle_writes = chance() ? IdleWrites::kDrain : IdleWrites::kHold;
  p.channel_hashing = chance();
  p.bank_hashing = chance();
  return p;
}

class MemoryProperty : public testing::TestWithParam<std::uint64_t> {};

TEST_P(MemoryProperty, EachRequestCompletesOnce) {
  RandomTraffic(random_memory(GetParam()), GetParam(), false).run(3000);
}

TEST_P(MemoryProperty, EachRequestCompletesOrIsDroppedOnce) {
  RandomTraffic(random_memory(GetParam()), GetParam(), true).run(3000);
}

TEST_P(MemoryProperty, EqualTrafficHasEqualHistories) {
  RandomTraffic first(random_memory(GetParam()), GetParam(), true);
  RandomTraffic second(random_memory(GetParam()), GetParam(), true);
  first.run(1000);
  second.run(1000);
  EXPECT_GT(first.history().size(), 1000u);
  EXPECT_EQ(first.history(), second.history());
}

// The long form has 60 seeds instead of 20, each with a memory and a traffic of its own.
INSTANTIATE_TEST_SUITE_P(Seeds, MemoryProperty, seeds<std::uint64_t>(1, 10, 60));

}  // namespace
}  // namespace pmemsim
