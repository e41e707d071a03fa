#include "pmemsim/trace/races.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>

#include "pmemsim/core/line_table.hpp"
#include "pmemsim/trace/accesses.hpp"
#include "pmemsim/trace/happens_before.hpp"
#include "pmemsim/trace/race_table.hpp"
#include "pmemsim/trace/reader.hpp"
#include "pmemsim/trace/turns.hpp"

namespace pmemsim::trace {
namespace {

constexpr std::uint64_t kWordBytes = 8;

constexpr KindSet kAccesses{SiteKind::kLoad,       SiteKind::kStore,       SiteKind::kNonTemporal,
                            SiteKind::kAtomicLoad, SiteKind::kAtomicStore, SiteKind::kAtomicUpdate,
                            SiteKind::kCopyLoad,   SiteKind::kCopyStore};
constexpr KindSet kAccessesAndSync = kAccesses | KindSet{SiteKind::kSync};

// Lines that several threads access, at least one of which writes. What is known of lines stands by
// page, since this is asked for each access of a recording, and accesses have neighbours.
class SharedLines {
 public:
  explicit SharedLines(const TraceFile& trace) {
    for (std::uint32_t thread = 0; thread < trace.metadata().threads; ++thread) {
      OperationStream stream(trace, thread);
      Operation operation;
      for (stream.skip_to(kAccesses); stream.next(operation); stream.skip_to(kAccesses)) {
        const bool writes = stores_something(operation);
        note(thread, writes, first_line(operation));
        note(thread, writes, last_line(operation));
      }
    }
  }

  bool any_of(const Operation& operation) {
    return contain(first_line(operation)) || contain(last_line(operation));
  }

 private:
  // The first thread that accesses the line, counted from 1, and what else is known; 0: nothing.
  using Use = std::uint16_t;
  static constexpr Use kShared = 1u << 14, kWritten = 1u << 15, kThread = kShared - 1;
  static_assert(kMaxThreads < kShared);
  static constexpr std::uint64_t kPageLines = 64;
  using Page = std::array<Use, kPageLines>;
  struct Found {
    std::uint64_t number = UINT64_MAX;
    Page* page = nullptr;
  };

  static Line first_line(const Operation& operation) { return Line::of(operation.address); }
  static Line last_line(const Operation& operation) {
    return Line::of(operation.address + operation.size - 1);
  }

  Use& use_of(Line line) {
    const std::uint64_t number = line.number / kPageLines;
    Found& found = found_[number % found_.size()];
    if (found.number != number) found = {number, &pages_[number]};
    return (*found.page)[line.number % kPageLines];
  }
  void note(std::uint32_t thread, bool writes, Line line) {
    Use& use = use_of(line);
    if (use == 0) use = static_cast<Use>(thread + 1);
    if ((use & kThread) != thread + 1) use |= kShared;
    if (writes) use |= kWritten;
  }
  bool contain(Line line) { return (use_of(line) & (kShared | kWritten)) == (kShared | kWritten); }

  std::unordered_map<std::uint64_t, Page> pages_;
  std::array<Found, 1024> found_;  // the latest ones, by their numbers' last bits
};

struct Word {
  std::uint64_t number;
  bool operator==(const Word&) const = default;
};

struct Access {
  static constexpr std::uint32_t kPlain = UINT32_MAX;

  std::uint32_t thread;
  HappensBefore::Epoch epoch;
  std::uint64_t number;  // of the thread's operations
  std::uint32_t object;  // of an atomic one: the variable's
  std::uint8_t bytes;    // of the word
};

// What later accesses of a word may race with. Several atomic variables may stand in it.
struct LatestAccesses {
  std::optional<Access> write;  // the latest plain one
  // Since then: of each atomic variable the latest write, and of each thread the latest read, plain
  // and of each variable.
  std::vector<Access> atomic_writes, reads;
};

class Search {
 public:
  explicit Search(const TraceFile& trace)
      : shared_(trace),
        happens_(trace.metadata().threads, trace.metadata().sync_objects),
        waits_(trace.metadata().threads),
        waited_(trace.metadata().threads, std::vector<std::uint64_t>(trace.metadata().threads)) {
    for (std::uint32_t thread = 0; thread < trace.metadata().threads; ++thread) {
      streams_.push_back(std::make_unique<OperationStream>(trace, thread));
      streams_.back()->skip_to(kAccessesAndSync);
    }
  }

  Races::Waits go(const TraceFile& trace) {
    std::vector<std::uint64_t> all;
    for (std::uint32_t thread = 0; thread < streams_.size(); ++thread) {
      all.push_back(trace.operations(thread));
    }
    Turns turns(trace);
    const auto pending = [&](std::uint32_t thread) -> std::optional<std::uint64_t> {
      const std::uint64_t position = streams_[thread]->position();
      if (position == all[thread]) return {};
      return position;
    };
    while (const auto next = turns.next(pending)) take(next->thread, next->turn.end);
    return std::move(waits_);
  }

 private:
  void take(std::uint32_t thread, std::uint64_t end) {
    OperationStream& stream = *streams_[thread];
    Operation operation;
    while (stream.position() < end && stream.next(operation)) {
      if (operation.kind != SiteKind::kSync && shared_.any_of(operation)) access(thread, operation);
      happens_.synchronise(thread, operation);
      stream.skip_to(kAccessesAndSync);
    }
  }

  void access(std::uint32_t thread, const Operation& operation) {
    Access now{.thread = thread,
               .epoch = happens_.now(thread),
               .number = streams_[thread]->position() - 1,
               .object = is_atomic(operation.kind) ? operation.object : Access::kPlain,
               .bytes = 0};
    const bool reads = loads_something(operation), writes = stores_something(operation);
    const std::uint64_t end = operation.address + operation.size;
    for (Word word{operation.address / kWordBytes}; word.number * kWordBytes < end; ++word.number) {
      now.bytes = bytes_of(word, operation);
      LatestAccesses* found = words_.find(word);
      LatestAccesses& latest = found != nullptr ? *found : words_.insert(word);
      if (latest.write) follow(now, *latest.write);
      for (const Access& before : latest.atomic_writes) follow(now, before);
      if (writes) {
        write(now, latest);
      } else if (reads) {
        replace_or_add(latest.reads, now, true);
      }
    }
  }

  static std::uint8_t bytes_of(Word word, const Operation& operation) {
    std::uint8_t bytes = 0;
    for (std::uint64_t i = 0; i < kWordBytes; ++i) {
      if (word.number * kWordBytes + i - operation.address < operation.size) bytes |= 1u << i;
    }
    return bytes;
  }

  void write(const Access& now, LatestAccesses& latest) {
    for (const Access& before : latest.reads) follow(now, before);
    if (now.object != Access::kPlain) return replace_or_add(latest.atomic_writes, now, false);
    latest.write = now;
    latest.atomic_writes.clear();
    latest.reads.clear();
  }

  // Where what it is the latest of has one already, that gives way.
  static void replace_or_add(std::vector<Access>& accesses, const Access& now, bool of_thread) {
    for (Access& before : accesses) {
      if (before.object != now.object || (of_thread && before.thread != now.thread)) continue;
      before = now;
      return;
    }
    accesses.push_back(now);
  }

  // By the variable's versions; or it is of no matter, since they share no byte.
  static bool ordered_as_atomic(const Access& now, const Access& before) {
    if (now.object == Access::kPlain || before.object == Access::kPlain) return false;
    return now.object == before.object || (now.bytes & before.bytes) == 0;
  }

  void follow(const Access& now, const Access& before) {
    if (now.thread == before.thread || ordered_as_atomic(now, before)) return;
    if (happens_.before(before.thread, before.epoch, now.thread)) return;
    std::uint64_t& waited = waited_[now.thread][before.thread];
    if (waited > before.number) return;
    waited = before.number + 1;
    waits_[now.thread].push_back(
        {.number = now.number, .count = waited, .thread = before.thread, .version = 0});
  }

  SharedLines shared_;
  HappensBefore happens_;
  std::vector<std::unique_ptr<OperationStream>> streams_;
  FlatTable<Word, LatestAccesses> words_;
  Races::Waits waits_;
  // By thread and other thread: so many of its operations have been waited for.
  std::vector<std::vector<std::uint64_t>> waited_;
};

}  // namespace

Races::Waits find_races(const TraceFile& trace) { return Search(trace).go(trace); }

Races::Races(const TraceFile& trace) {
  if (trace.metadata().threads < 2 || !Turns(trace).recorded()) return;
  std::optional<Waits> stored = stored_races(trace);
  waits_ = stored ? std::move(*stored) : find_races(trace);
  number_places();
}

void Races::number_places() {
  awaited_.resize(waits_.size());
  for (const std::vector<Wait>& waits : waits_) {
    for (const Wait& wait : waits) awaited_[wait.thread].push_back(wait.count);
  }
  for (std::vector<std::uint64_t>& places : awaited_) {
    std::ranges::sort(places);
    places.erase(std::ranges::unique(places).begin(), places.end());
  }
  for (std::vector<Wait>& waits : waits_) {
    for (Wait& wait : waits) {
      const std::vector<std::uint64_t>& places = awaited_[wait.thread];
      const auto place = std::ranges::lower_bound(places, wait.count);
      wait.version = static_cast<std::uint32_t>(place - places.begin()) + 1;
    }
  }
}

}  // namespace pmemsim::trace
