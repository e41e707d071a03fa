// The time from the end of each region until it is durable, for percentiles of a run.
//
//   1  A region's end and its durability are reported in either order, because cores compute ahead.
//      A region that is durable before its end has a latency of 0.
//   2  A region that is durable makes all earlier regions of its core durable.
//   3  A region that is rolled back and executes again ends when it ends last.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

#include "pmemsim/common/event_queue.hpp"
#include "pmemsim/common/latencies.hpp"
#include "pmemsim/common/units.hpp"

namespace pmemsim {

class CommitLatencies {
 public:
  CommitLatencies(const EventQueue& queue, std::uint32_t cores) : queue_(queue), cores_(cores) {}

  void ended(CoreId number, std::uint64_t region, Time when) {
    PerCore& core = cores_[number];
    while (!core.ended.empty() && core.ended.back().region >= region) core.ended.pop_back();
    if (region <= core.durable) {
      add(when, core.durable_since);
    } else {
      core.ended.push_back({region, when});
    }
  }
  void durable(CoreId number, std::uint64_t region, Time when) {
    PerCore& core = cores_[number];
    if (region <= core.durable) return;
    for (; !core.ended.empty() && core.ended.front().region <= region; core.ended.pop_front()) {
      add(core.ended.front().when, when);
    }
    core.durable = region;
    core.durable_since = when;
  }
  Time now() const { return queue_.now(); }
  const Latencies& latencies() const { return latencies_; }

 private:
  struct End {
    std::uint64_t region;
    Time when;
  };
  struct PerCore {
    std::deque<End> ended;      // regions that aren't durable, oldest first
    std::uint64_t durable = 0;  // the last durable region
    Time durable_since{};
  };

  void add(Time end, Time durable) { latencies_.add(std::max(durable - end, Picoseconds{0})); }

  const EventQueue& queue_;
  std::vector<PerCore> cores_;
  Latencies latencies_;
};

}  // namespace pmemsim
