#include "pmemsim/analysis/races.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "pmemsim/analysis/happens_before.hpp"
#include "pmemsim/analysis/race_table.hpp"
#include "pmemsim/analysis/turns.hpp"
#include "pmemsim/common/line_table.hpp"
#include "pmemsim/common/units.hpp"
#include "pmemsim/trace/accesses.hpp"
#include "pmemsim/trace/pm_addresses.hpp"
#include "pmemsim/trace/reader.hpp"
#include "pmemsim/trace/writer.hpp"

namespace pmemsim::trace {
namespace {

// Limit of a thread's recorded reads of one word. Variables of up to 16 bytes at 23 addresses may
// overlap the word (16 + 8 - 1), each read in several sizes.
constexpr std::size_t kMostReads = 128;

constexpr KindSet kAccesses{SiteKind::kLoad,       SiteKind::kStore,       SiteKind::kNonTemporal,
                            SiteKind::kAtomicLoad, SiteKind::kAtomicStore, SiteKind::kAtomicUpdate,
                            SiteKind::kCopyLoad,   SiteKind::kCopyStore};
constexpr KindSet kAccessesAndSync = kAccesses | KindSet{SiteKind::kSync};

// Lines that several threads access and at least one thread writes. The table is organised by page,
// because it is queried for each access of a recording, and accesses are often close together.
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
  // Use of a line: the first thread that accesses it, counted from 1, and two flags; 0: not
  // accessed.
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
  std::array<Found, 1024> found_;  // recently used pages, by the last bits of their numbers
};

struct Word {
  std::uint64_t number;
  bool operator==(const Word&) const = default;
};

struct Access {
  static constexpr std::uint32_t kPlain = UINT32_MAX;

  std::uint32_t thread;
  HappensBefore::Epoch epoch;
  std::uint64_t number;  // position among the thread's operations
  std::uint32_t object;  // the object of an atomic access's variable; kPlain otherwise
  std::uint8_t bytes;    // bit mask of the word's bytes
};

// The accesses with which later accesses of a word may race. An access keeps only the bytes that no
// later access covers: a thread that waits for the later access has also waited for the earlier
// one.
struct LatestAccesses {
  std::vector<Access> writes;  // for each byte the latest write
  std::vector<Access> reads;   // reads since the latest write: for each thread the latest plain
                               // one, and the reads of each atomic variable
};

class Search {
 public:
  explicit Search(const TraceFile& trace)
      : trace_(trace),
        pm_(trace.metadata()),
        shared_(trace),
        happens_(trace.metadata().threads, trace.metadata().sync_objects, trace.metadata().threads),
        waits_(trace.metadata().threads),
        waited_(trace.metadata().threads, std::vector<std::uint64_t>(trace.metadata().threads)) {
    for (std::uint32_t thread = 0; thread < trace.metadata().threads; ++thread) {
      streams_.push_back(std::make_unique<OperationStream>(trace, thread));
      streams_.back()->skip_to(kAccessesAndSync);
    }
  }

  Races::Waits go() {
    std::vector<std::uint64_t> all;
    for (std::uint32_t thread = 0; thread < streams_.size(); ++thread) {
      all.push_back(trace_.operations(thread));
    }
    Turns turns(trace_);
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
    const bool writes = stores_something(operation);
    const std::uint64_t end = operation.address + operation.size;
    for (Word word{operation.address / kWordBytes}; word.number * kWordBytes < end; ++word.number) {
      now.bytes = bytes_of(word, operation);
      LatestAccesses* found = words_.find(word);
      LatestAccesses& latest = found != nullptr ? *found : words_.insert(word);
      for (const Access& before : latest.writes) wait_for(now, before);
      if (writes) {
        write(now, latest);
      } else if (loads_something(operation)) {
        read(now, latest);
      }
    }
  }

  // Rule 1: plain accesses of PM count as accesses of whole words.
  std::uint8_t bytes_of(Word word, const Operation& operation) {
    if (!is_atomic(operation.kind) && pm_.contains(word.number * kWordBytes)) return UINT8_MAX;
    std::uint8_t bytes = 0;
    for (std::uint64_t i = 0; i < kWordBytes; ++i) {
      if (word.number * kWordBytes + i - operation.address < operation.size) bytes |= 1u << i;
    }
    return bytes;
  }

  static bool of_one_variable(const Access& one, const Access& other) {
    return one.object == other.object && one.object != Access::kPlain;
  }

  void read(const Access& now, LatestAccesses& latest) const {
    std::size_t of_thread = 0;
    take_from(latest.reads, now, [&](const Access& read) {
      if (read.thread != now.thread) return false;
      ++of_thread;
      return now.object == Access::kPlain || read.object == now.object;
    });
    if (of_thread > kMostReads) {
      throw TraceError(fmt::format(
          "{}: thread {}, operation {}: too many atomic variables share a word; record it again",
          trace_.path(), now.thread, now.number));
    }
    latest.reads.push_back(now);
  }

  void write(const Access& now, LatestAccesses& latest) {
    for (const Access& before : latest.reads) wait_for(now, before);
    take_from(latest.writes, now, [](const Access&) { return true; });
    take_from(latest.reads, now, [&](const Access& read) { return !of_one_variable(now, read); });
    latest.writes.push_back(now);
  }
  // Removes the bytes of `now` from the selected accesses; later accesses need not wait for them.
  template <class Which>
  static void take_from(std::vector<Access>& accesses, const Access& now, Which&& which) {
    std::erase_if(accesses, [&](Access& before) {
      if (which(before)) before.bytes &= static_cast<std::uint8_t>(~now.bytes);
      return before.bytes == 0;
    });
  }

  void wait_for(const Access& now, const Access& before) {
    if (now.thread == before.thread || (now.bytes & before.bytes) == 0) return;
    if (of_one_variable(now, before)) return;
    if (happens_.before(before.thread, before.epoch, now.thread)) return;
    std::uint64_t& waited = waited_[now.thread][before.thread];
    if (waited > before.number) return;
    waited = before.number + 1;
    waits_[now.thread].push_back(
        {.number = now.number, .count = waited, .thread = before.thread, .version = 0});
  }

  const TraceFile& trace_;
  PmAddresses pm_;
  SharedLines shared_;
  HappensBefore happens_;
  std::vector<std::unique_ptr<OperationStream>> streams_;
  FlatTable<Word, LatestAccesses> words_;
  Races::Waits waits_;
  // How many of the other thread's operations a thread has waited for: [thread][other].
  std::vector<std::vector<std::uint64_t>> waited_;
};

}  // namespace

Races::Waits find_races(const TraceFile& trace) { return Search(trace).go(); }

Races::Races(const TraceFile& trace) {
  if (trace.metadata().threads < 2 || !Turns(trace).recorded()) return;
  std::optional<Waits> stored = stored_races(trace);
  waits_ = stored ? std::move(*stored) : find_races(trace);
  number_awaited_points();
}

void Races::number_awaited_points() {
  awaited_.resize(waits_.size());
  for (const std::vector<Wait>& waits : waits_) {
    for (const Wait& wait : waits) awaited_[wait.thread].push_back(wait.count);
  }
  for (std::vector<std::uint64_t>& points : awaited_) {
    std::ranges::sort(points);
    points.erase(std::ranges::unique(points).begin(), points.end());
  }
  for (std::vector<Wait>& waits : waits_) {
    for (Wait& wait : waits) {
      const std::vector<std::uint64_t>& points = awaited_[wait.thread];
      const auto point = std::ranges::lower_bound(points, wait.count);
      wait.version = static_cast<std::uint32_t>(point - points.begin()) + 1;
    }
  }
}

void store_races(const std::string& path) {
  const TraceFile trace(path);
  if (!Turns(trace).recorded() || trace.first_frame(FrameKind::kRaces) != nullptr) return;
  const std::vector<std::byte> table = race_table(find_races(trace));
  Writer writer(path);
  writer.copy(trace, FrameKind::kRaces);
  for (std::span<const std::byte> left(table); !left.empty();) {
    const auto part = left.first(std::min<std::size_t>(left.size(), kMaxFrameBytes));
    writer.frame(FrameKind::kRaces, 0, part, 0);
    left = left.subspan(part.size());
  }
  writer.finish();
}

void verify_races(const TraceFile& trace) {
  const FrameEntry* table = trace.first_frame(FrameKind::kRaces);
  if (table == nullptr) return;
  if (!Turns(trace).recorded()) {
    trace.fail(table->offset, "the recording has races, but no turns that order them");
  }
  if (stored_races(trace) != find_races(trace)) {
    trace.fail(table->offset, "the race table does not match the operations");
  }
}

}  // namespace pmemsim::trace
