// The event queue against a list that is sorted.
#include "pmemsim/common/event_queue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <type_traits>
#include <vector>

namespace pmemsim {
namespace {

// Executes events that schedule others, `at_once` at a time on the average, and records the
// expected order of execution.
class Program {
 public:
  explicit Program(std::uint32_t at_once) : at_once_(at_once) {}

  void run(std::uint32_t events) {
    left_ = events;
    for (std::uint32_t i = 0; i < at_once_; ++i) schedule();
    while (queue_.step()) {
    }
  }
  void execute(std::uint64_t number, Time now) {
    EXPECT_EQ(queue_.now(), now);
    executed_.push_back({now, expected_[number].phase, number});
    if (left_ > 0) schedule();
  }

  struct Event {
    Time when;
    Phase phase;
    std::uint64_t number;
    auto operator<=>(const Event&) const = default;
  };
  const std::vector<Event>& executed() const { return executed_; }
  std::vector<Event> expected() const {
    std::vector<Event> sorted = expected_;
    std::sort(sorted.begin(), sorted.end());
    return sorted;
  }
  bool empty() const { return queue_.empty(); }

 private:
  // Most events are scheduled for a near time, as those of cores are, and many for equal times.
  void schedule() {
    --left_;
    const std::int64_t distance = random_() % 4 == 0 ? 1000 : 5;
    const Time when =
        queue_.now() +
        Picoseconds{static_cast<std::int64_t>(random_() % static_cast<std::uint32_t>(distance))};
    // An event that is scheduled for the current time comes after the events that have been
    // executed.
    const auto phase = when == queue_.now() ? Phase::kCore : static_cast<Phase>(random_() % 4);
    expected_.push_back({when, phase, expected_.size()});
    queue_.schedule(when, phase, completion<&Program::execute>(*this, expected_.size() - 1));
  }

  EventQueue queue_;
  std::mt19937 random_{1};
  const std::uint32_t at_once_;
  std::uint32_t left_ = 0;
  std::vector<Event> expected_, executed_;
};

class EventQueueTest : public testing::TestWithParam<std::uint32_t> {};

TEST_P(EventQueueTest, ExecutesByTimePhaseAndSequence) {
  Program program(GetParam());
  program.run(20'000);
  EXPECT_EQ(program.executed().size(), 20'000u);
  EXPECT_EQ(program.executed(), program.expected());
  EXPECT_TRUE(program.empty());
}

TEST(EventQueueDeathTest, SchedulingBeforeNowIsRefused) {
  EventQueue queue;
  const Completion nothing{[](void*, std::uint64_t, Time) {}};
  queue.schedule(Time{10}, Phase::kCore, nothing);
  queue.step();
  queue.schedule(Time{10}, Phase::kCore, nothing);
  queue.schedule(queue.now_or_later(Time{9}), Phase::kCore, nothing);
  EXPECT_DEATH(queue.schedule(Time{9}, Phase::kCore, nothing), "when >= now_");
}

// Durations and points in time don't convert into each other.
static_assert(!std::is_convertible_v<Picoseconds, Time>);
static_assert(!std::is_convertible_v<Time, Picoseconds>);
static_assert(std::is_same_v<decltype(Time{} - Time{}), Picoseconds>);
static_assert(std::is_same_v<decltype(Time{} - Picoseconds{}), Time>);

INSTANTIATE_TEST_SUITE_P(PendingEvents, EventQueueTest, testing::Values(1, 10, 32, 33, 50, 1000));

}  // namespace
}  // namespace pmemsim
