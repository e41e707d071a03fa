// The parameters of PMEM-Spec (ASPLOS 2021, 5, 6 and 8.1), and switches for the published behaviour
// where that isn't sound.
#pragma once

#include <span>
#include <string_view>

#include "pmemsim/common/parameters.hpp"
#include "pmemsim/designs/ordering/durable_fence.hpp"

namespace pmemsim {

// The requests that make an entry of the speculation buffer.
enum class Allocation : std::uint8_t {
  kWriteBacksAndTagged,  // 5.3: write-backs, and stores of critical sections
  kWriteBacks,           // 8.3.2: write-backs alone
};

// The lines that are watched for reads that were too early.
enum class Detection : std::uint8_t {
  kEvictions,  // 5.1.4: evicted lines
  kFetches,    // 5.1.2: fetched lines, the naive scheme: every store miss looks wrong
};

// The time when a thread that may have read stale data rolls back.
enum class SpecRecovery : std::uint8_t {
  kLazy,   // 6.2.1: at its region's end
  kEager,  // 6.2.2: at once
};

// The behaviour of a speculation window while a persist path is backed up.
enum class BackedUpWindows : std::uint8_t { kStandStill, kGoOn };

// The time when the speculation buffer checks a store.
enum class StoreCheck : std::uint8_t {
  kArrival,     // on arrival, though the controller may have no room for it yet
  kAcceptance,  // on acceptance, so that reads which arrive before that look too early
};

// The activity that stops while a speculation buffer is full.
enum class FullBuffer : std::uint8_t {
  kCores,             // cores dispatch and retire nothing; their store queues continue
  kCoresAndPmStores,  // cores, and stores to PM, which stay in their store queues
};

// The speculation ID of stores under an inner lock.
enum class InnerLocks : std::uint8_t { kNewId, kOuterId };

// The sound and the published behaviour, where what the paper leaves is unsound.
enum class CommitCheck : std::uint8_t { kWaits, kPublished };
enum class Releases : std::uint8_t { kWait, kPublished };
enum class AlarmedLines : std::uint8_t { kDropped, kPublished };
enum class SpecControllers : std::uint8_t { kOrdered, kPublished };

inline std::span<const std::string_view> choice_names(Allocation) {
  static constexpr std::string_view kNames[] = {"write-back+tagged", "write-back"};
  return kNames;
}
inline std::span<const std::string_view> choice_names(Detection) {
  static constexpr std::string_view kNames[] = {"evictions", "fetches"};
  return kNames;
}
inline std::span<const std::string_view> choice_names(SpecRecovery) {
  static constexpr std::string_view kNames[] = {"lazy", "eager"};
  return kNames;
}
inline std::span<const std::string_view> choice_names(BackedUpWindows) {
  static constexpr std::string_view kNames[] = {"stand-still", "go-on"};
  return kNames;
}
inline std::span<const std::string_view> choice_names(StoreCheck) {
  static constexpr std::string_view kNames[] = {"arrival", "acceptance"};
  return kNames;
}
inline std::span<const std::string_view> choice_names(FullBuffer) {
  static constexpr std::string_view kNames[] = {"cores", "cores+pm-stores"};
  return kNames;
}
inline std::span<const std::string_view> choice_names(InnerLocks) {
  static constexpr std::string_view kNames[] = {"new-id", "outer-id"};
  return kNames;
}
inline std::span<const std::string_view> choice_names(CommitCheck) {
  static constexpr std::string_view kNames[] = {"waits", "published"};
  return kNames;
}
inline std::span<const std::string_view> choice_names(Releases) {
  static constexpr std::string_view kNames[] = {"wait", "published"};
  return kNames;
}
inline std::span<const std::string_view> choice_names(AlarmedLines) {
  static constexpr std::string_view kNames[] = {"dropped", "published"};
  return kNames;
}
inline std::span<const std::string_view> choice_names(SpecControllers) {
  static constexpr std::string_view kNames[] = {"ordered", "published"};
  return kNames;
}

// Injected faults: each disables one protective mechanism.
struct PmemSpecFaults {
  bool detection = false;
  bool window = false;
  bool second_write_back = false;
  bool early_store = false;
  bool tags = false;
  bool masks = false;
  bool order = false;
  bool barrier = false;
  bool rollback = false;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("detection", detection, "nobody is told of misspeculation");
    visit("window", window, "the speculation window is over at once");
    visit("second_write_back", second_write_back,
          "a second write-back of a line makes it forget that it was read");
    visit("early_store", early_store,
          "an evicted line isn't watched any more when one store to it has arrived");
    visit("tags", tags, "stores of critical sections carry no speculation ID");
    visit("masks", masks, "the persist path carries whole lines as they are in the L1");
    visit("order", order, "nothing orders stores to different controllers");
    visit("barrier", barrier, "spec-barriers don't wait");
    visit("rollback", rollback, "a region that is taken back leaves its stores in PM");
  }
};

struct PmemSpecParameters {
  Picoseconds path_latency{20'000};
  Delay store_interval = cycles(1);
  std::uint32_t path_stores = 0;
  DurableFence barrier_stops = DurableFence::kStopsPmStores;
  Picoseconds window{0};
  BackedUpWindows backed_up_windows = BackedUpWindows::kStandStill;
  std::uint32_t buffer_entries = 4;
  Allocation allocation = Allocation::kWriteBacksAndTagged;
  Detection detection = Detection::kEvictions;
  StoreCheck store_check = StoreCheck::kArrival;
  FullBuffer full_buffer_stops = FullBuffer::kCores;
  Picoseconds assign_latency{20'000};
  std::uint32_t id_bits = 32;
  InnerLocks inner_locks = InnerLocks::kNewId;
  Picoseconds interrupt_latency{2'000'000};
  SpecRecovery recovery = SpecRecovery::kLazy;
  std::uint32_t retries = 3;
  CommitCheck commit_check = CommitCheck::kWaits;
  Releases releases = Releases::kWait;
  AlarmedLines alarmed_lines = AlarmedLines::kDropped;
  std::uint32_t alarm_entries = 0;
  SpecControllers controllers = SpecControllers::kOrdered;
  Picoseconds controller_latency{20'000};
  PmemSpecFaults faults;

  template <class Visitor>
  void describe(Visitor& visit) {
    constexpr double kSecond = 1e12;
    visit("path_latency", path_latency, {.least = 1, .most = 1e9},
          "Persist path: from a core's store queue to the PM controllers");
    visit("store_interval", store_interval, {.least = 1, .most = 1e9},
          "From one store entering a persist path until the next one does, at the soonest");
    visit("path_stores", path_stores, {.most = 1e6},
          "Stores that a persist path holds, those before a full controller included; 0: as many "
          "as enter it in its latency");
    visit("barrier_stops", barrier_stops, {},
          "What waits behind a spec-barrier: stores to PM, and what is handed over to others, or "
          "all that follows in the store queue");
    visit(
        "window", window, {.most = kSecond},
        "Speculation window; 0ps: as many idle persist paths as the machine has cores, and, where "
        "stores take more than a cycle to enter a path, what those that it holds take");
    visit("backed_up_windows", backed_up_windows, {},
          "Whether windows stand still while a persist path is backed up, or go on, so that a "
          "store which waits there can come too late to be found out");
    visit("buffer_entries", buffer_entries, {.least = 1, .most = 4096},
          "Speculation buffer of a controller: lines that are watched");
    visit("allocation", allocation, {},
          "Whether stores of critical sections make entries of the speculation buffer, too, or "
          "write-backs alone, so that misspeculated stores go unnoticed");
    visit("detection", detection, {},
          "Whether evicted lines are watched, or fetched ones, as by the naive scheme, for which "
          "every store that misses is misspeculation");
    visit(
        "store_check", store_check, {},
        "Whether a store is looked at when it arrives, or when the controller has room for it, so "
        "that a read which comes meanwhile makes a false alarm");
    visit("full_buffer_stops", full_buffer_stops, {},
          "What a full speculation buffer stops: the cores, or also the stores to PM that are in "
          "their store queues");
    visit("assign_latency", assign_latency, {.most = kSecond},
          "spec-assign: how long it takes to increment the counter that all cores share");
    visit("id_bits", id_bits, {.least = 2, .most = 32},
          "Width of a speculation ID; with few bits they come round within a window, so that older "
          "ones look newer");
    visit("inner_locks", inner_locks, {},
          "Whether stores under an inner lock carry a new speculation ID, or keep the outer one's, "
          "which is older than what others have stored under the inner lock meanwhile");
    visit("interrupt_latency", interrupt_latency, {.most = kSecond},
          "From misspeculation to the handler that marks the threads");
    visit("recovery", recovery, {},
          "Whether marked threads go back at the end of their region, or at once");
    visit("retries", retries, {.least = 0, .most = 1e6},
          "Times that a region is taken back before it is executed without speculation");
    visit("commit_check", commit_check, {},
          "Whether a region waits, before its commit and at its end, until no interrupt is under "
          "way, or looks at its mark at once, which may come too early");
    visit("releases", releases, {},
          "Whether what a thread hands over to others waits until its stores have arrived, or not, "
          "so that those of others can arrive before");
    visit("alarmed_lines", alarmed_lines, {},
          "Whether the handler drops misspeculated lines from the caches, or leaves them there, "
          "where the region finds them again");
    visit("alarm_entries", alarm_entries, {.most = 4096},
          "Misspeculated lines that are kept for the handler, of which the oldest is overwritten "
          "and stays in the caches; 0: as many as there are; 1: as published");
    visit("controllers", controllers, {},
          "Whether stores to different controllers are ordered, or not, which only a machine with "
          "one can do with");
    visit("controller_latency", controller_latency, {.most = kSecond},
          "From one controller having a store to another one being given the next of that core");
  }
};

}  // namespace pmemsim
