// A test bench for persist orderings: real controllers, and cores, caches and threads whose actions
// a test schedules. Every answer, and every write that the controllers have accepted, is recorded
// with its time.
//
// A cycle is 0.5 ns. All other latencies are different round numbers of nanoseconds.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "pmemsim/designs/backend/backend.hpp"
#include "pmemsim/designs/ordering/ordering.hpp"
#include "pmemsim/machine/memory/memory.hpp"
#include "run_trace.hpp"
#include "unit/memory_bench.hpp"

namespace pmemsim {

inline constexpr Picoseconds kBenchCycle{500};
inline constexpr Picoseconds kBenchWayOut = ns(7), kBenchWayBack = ns(9), kBenchFrontEnd = ns(4);
// Time from a controller's acceptance of a store to its acknowledgement at the core.
inline constexpr Picoseconds kBenchAcknowledgement = kBenchFrontEnd + kBenchWayBack;
// Latency of a read that nothing delays, from the controller and back to it.
inline constexpr Picoseconds kPmRead = ns(175) + kBenchFrontEnd;

// A memory of `controllers` controllers, whose lines alternate. With more stores than entries, they
// write in 94 ns each.
inline MemoryParameters ordering_memory(std::uint32_t controllers = 1,
                                        std::uint32_t wpq_entries = 64) {
  MemoryParameters p = simple_memory();
  p.controllers = controllers;
  p.interleaving = Interleaving::kLine;
  p.device = DeviceKind::kFixed;
  p.read_latency = ns(175);
  p.write_latency = ns(94);
  p.tburst = ns(0);
  p.front_latency = kBenchFrontEnd;
  p.wpq_entries = wpq_entries;
  return p;
}

// The i-th line of PM, and its words.
constexpr Line pm_line_of(std::uint64_t i) { return {kPmBase / kLineBytes + i}; }
constexpr std::uint64_t pm_word(std::uint64_t line, std::uint64_t word = 0) {
  return kPmBase + line * kLineBytes + word * 8;
}

// Data that a controller has accepted: the value of 8 bytes, from the lowest accepted byte on, and
// the mask of accepted bytes.
struct Arrival {
  Line line;
  std::uint64_t value;
  Time when;
  ByteMask bytes = bytes_from(0, 8);
  bool operator==(const Arrival&) const = default;
};
using Arrivals = std::vector<Arrival>;
inline void PrintTo(const Arrival& arrival, std::ostream* out) {
  *out << "line " << arrival.line.number - kPmBase / kLineBytes << " = " << arrival.value << " at "
       << arrival.when.count << "ps, bytes " << std::hex << arrival.bytes << std::dec;
}

// A notification: the core and the number that it concerns, and its time.
struct Notice {
  CoreId core;
  std::uint64_t number;
  Time when;
  bool operator==(const Notice&) const = default;
};
using Notices = std::vector<Notice>;
inline void PrintTo(const Notice& notice, std::ostream* out) {
  *out << "core " << notice.core << ", number " << notice.number << " at " << notice.when.count
       << "ps";
}

inline void PrintTo(const std::optional<Time>& when, std::ostream* out) {
  *out << (when ? std::to_string(when->count) + "ps" : "never");
}

// The answer to a core's request: the time at which the core continued.
struct Answer {
  std::optional<Time> when;
  bool at_once = false;
};

class OrderingBench : public PersistenceObserver,
                      public ProgramObserver,
                      public CachePort,
                      public ThreadControl {
 public:
  OrderingBench(std::uint32_t cores, std::unique_ptr<Ordering> made,
                const MemoryParameters& memory = ordering_memory())
      : pm(queue, memory),
        dram(queue, ordering_memory()),
        backend(queue, pm, {}, kBenchFrontEnd),
        ordering(std::move(made)),
        cores_(cores) {
    pm_space.add({kPmBase, kPmBase + (1 << 20)});
    program_events.observe(this);
    pm.observe(this);
    ordering->connect({queue, clock, *this, backend, dram, pm_space, program_events, *this});
  }

  // ---- Actions that a test schedules

  void at(Time when, std::function<void()> action) {
    actions_.push_back(std::move(action));
    queue.schedule(when, Phase::kCore, completion<&OrderingBench::act>(*this, actions_.size() - 1));
  }
  void run() {
    while (queue.step()) {
    }
  }
  // Executes all events up to this time.
  void run_until(Time until) {
    bool reached = false;
    at(until, [&reached] { reached = true; });
    while (!reached) queue.step();
  }

  // ---- Actions of cores at the current time

  // Stores a word, which becomes visible as soon as the design allows it.
  const Answer& store(CoreId core, std::uint64_t address, std::uint64_t value,
                      bool atomic = false) {
    PerCore& own = cores_[core];
    Leaving& leaving = leaving_.emplace_back(Leaving{core, address, {}});
    std::memcpy(leaving.value.data(), &value, sizeof value);
    const Store store{.core = core,
                      .site = 0,
                      .address = address,
                      .size = 8,
                      .value = leaving.value.data(),
                      .newest = pm_space.newest(),
                      .region = own.region,
                      .atomic = atomic};
    return ask([&](Completion resume) { return ordering->store(store, now(), resume); }, &leaving);
  }
  const Answer& fence(CoreId core, trace::FenceMeaning meaning) {
    const Fence fence{core, ++cores_[core].fences, meaning};
    return ask([&](Completion resume) { return ordering->fence(fence, now(), resume); });
  }
  const Answer& ofence(CoreId core) { return fence(core, trace::FenceMeaning::kOrder); }
  const Answer& dfence(CoreId core) { return fence(core, trace::FenceMeaning::kDurable); }
  const Answer& release(CoreId core) {
    return ask([&](Completion resume) { return ordering->release(core, now(), resume); });
  }
  // Takes a lock, and returns the added latency.
  Picoseconds lock(CoreId core) {
    ordering->synchronised(core, trace::SyncKind::kMutexLock, now());
    return Picoseconds{ordering->lock_latency().count};
  }
  void unlock(CoreId core) { ordering->synchronised(core, trace::SyncKind::kMutexUnlock, now()); }
  void load(CoreId core, std::uint64_t address, bool forwarded = false) {
    ordering->load({core, address, 8, cores_[core].region, forwarded}, now());
  }
  void begin(CoreId core, std::uint64_t region) {
    cores_[core].region = region;
    cores_[core].undo.clear();
    ordering->region_begin(core, region);
  }
  const Answer& end(CoreId core) {
    const std::uint64_t region = cores_[core].region;
    return ask(
        [&](Completion resume) { return ordering->region_end(core, region, now(), resume); });
  }

  // ---- Actions of the shared cache at the current time

  // Evicts a modified line; the bench writes it nowhere.
  void evict(Line line) {
    EXPECT_FALSE(ordering->may_leave(line));
    EXPECT_EQ(ordering->evicted(line, pm_space.newest().read(line), now()), Eviction::kTaken);
  }
  // Starts a read at the controller after a miss. Returns when it is answered.
  const Answer& fetch(CoreId core, Line line) {
    return ask([&](Completion done) {
      if (!ordering->fetch(core, line, now(), done)) backend.read(line, done);
      return false;
    });
  }

  // ---- Results

  Time now() const { return queue.now(); }
  double statistic(const std::string& name) const {
    StatisticsCollector collector;
    ordering->statistics(collector);
    for (const Statistic& found : collector.found) {
      if (found.name == name) return found.value;
    }
    throw Error("no statistic " + name);
  }
  // in_pm(): value that a read of PM returns now. newest(): value that the caches hold.
  std::uint64_t in_pm(std::uint64_t address) const {
    return word(pm.newest(Line::of(address)), address % kLineBytes);
  }
  std::uint64_t newest(std::uint64_t address) const {
    return word(pm_space.newest().read(Line::of(address)), address % kLineBytes);
  }

  Arrivals arrivals;
  Notices fulfilled, durable;                                 // fences and regions
  std::vector<std::pair<CoreId, std::uint64_t>> stale_loads;  // with their regions
  std::vector<std::pair<Line, Time>> reported, dropped_lines;
  Notices paused, resumed, rewound;  // rewound: with the rolled-back regions
  bool drops = true;                 // False: lines to be dropped are in flight from memory

  EventQueue queue;
  Clock clock{{2'000'000'000}, 1};
  PmSpace pm_space;
  ProgramEvents program_events;
  Memory pm, dram;
  Backend backend;
  const std::unique_ptr<Ordering> ordering;

  // ---- PersistenceObserver

  void persisted(const Write& write, PersistencePoint, Time when) override {
    const auto first = static_cast<std::uint64_t>(std::countr_zero(write.bytes));
    arrivals.push_back({write.line, word(write.data, first), when, write.bytes});
  }
  void persisted_with_next(const Write&) override {}
  void dropped(const Write&, Time) override {}

  // ---- ProgramObserver

  void stored(Line, std::uint32_t) override {}
  void region_durable(CoreId core, std::uint64_t region) override {
    durable.push_back({core, region, now()});
  }
  void fence_fulfilled(CoreId core, std::uint64_t fence) override {
    fulfilled.push_back({core, fence, now()});
  }
  void stale_load(CoreId core, std::uint64_t region, Line) override {
    stale_loads.emplace_back(core, region);
  }
  void stale_line_reported(Line line) override { reported.emplace_back(line, now()); }

  // ---- CachePort

  void flush(CoreId, Line, bool, bool, Time, Completion) override { ADD_FAILURE(); }
  bool combine(CoreId, Line, ByteMask, Time, Completion) override { return false; }
  void mark_clean(Line) override { ADD_FAILURE(); }
  bool drop(Line line) override {
    if (drops) dropped_lines.emplace_back(line, now());
    return drops;
  }
  Picoseconds shared_to_controller() const override { return kBenchWayOut; }
  Picoseconds core_to_controller(CoreId) const override { return kBenchWayOut; }
  Picoseconds controller_to_core() const override { return kBenchWayBack; }

  // ---- ThreadControl

  std::uint32_t cores() const override { return static_cast<std::uint32_t>(cores_.size()); }
  void pause(CoreId core) override { paused.push_back({core, 0, now()}); }
  void resume(CoreId core) override { resumed.push_back({core, 0, now()}); }
  bool in_region(CoreId core) const override { return cores_[core].region != 0; }
  // Undoes all stores of the core since its region began, the latest first.
  void rewind(CoreId core) override {
    PerCore& own = cores_[core];
    rewound.push_back({core, own.region, now()});
    own.region = 0;
    for (std::vector<Undo> undo = std::exchange(own.undo, {}); !undo.empty(); undo.pop_back()) {
      const Undo& last = undo.back();
      pm_space.newest().write(last.address, last.before.data(), last.before.size());
      ordering->restored(core, last.address, static_cast<std::uint32_t>(last.before.size()));
    }
  }

 private:
  using Word = std::array<std::byte, 8>;
  struct Leaving {
    CoreId core;
    std::uint64_t address;
    Word value;
  };
  struct Undo {
    std::uint64_t address;
    Word before;
  };
  struct PerCore {
    std::uint64_t region = 0, fences = 0;
    std::vector<Undo> undo;
  };
  struct Asked {
    Answer answer;
    const Leaving* store;
  };

  // `question` returns true if the answer is immediate, and then makes no call.
  const Answer& ask(const std::function<bool(Completion)>& question,
                    const Leaving* store = nullptr) {
    Asked& asked = queried_.emplace_back(Asked{{}, store});
    if (question(completion<&OrderingBench::goes_on>(*this, queried_.size() - 1))) {
      goes_on(queried_.size() - 1, now());
      asked.answer.at_once = true;
    }
    return asked.answer;
  }
  void goes_on(std::uint64_t number, Time when) {
    Asked& asked = queried_[number];
    EXPECT_FALSE(asked.answer.when) << "answered twice";
    asked.answer.when = when;
    if (asked.store == nullptr) return;
    const auto& [core, address, value] = *asked.store;
    Word before;
    const LineData line = pm_space.newest().read(Line::of(address));
    std::memcpy(before.data(), line.data() + address % kLineBytes, sizeof before);
    cores_[core].undo.push_back({address, before});
    pm_space.newest().write(address, value.data(), value.size());
    ordering->visible(core, Line::of(address));
  }
  void act(std::uint64_t number, Time) { actions_[number](); }
  static std::uint64_t word(const LineData& line, std::uint64_t at) {
    std::uint64_t value = 0;
    std::memcpy(&value, line.data() + at, std::min<std::size_t>(sizeof value, line.size() - at));
    return value;
  }

  std::vector<PerCore> cores_;
  // Completions have references to these objects.
  std::deque<Asked> queried_;
  std::deque<Leaving> leaving_;
  std::deque<std::function<void()>> actions_;
};

}  // namespace pmemsim
