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

// The lines that the speculation buffer monitors for reads that occurred too early.
enum class Detection : std::uint8_t {
  kEvictions,  // 5.1.4: evicted lines
  kFetches,    // 5.1.2: fetched lines, the naive scheme, where a store miss is an alarm
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
  kArrival,     // on arrival, even if the controller has no room for it yet
  kAcceptance,  // on acceptance; a read that arrives between causes a false alarm
};

// The activity that stops while a speculation buffer is full.
enum class FullBuffer : std::uint8_t {
  kCores,             // cores dispatch and retire nothing; their store queues continue
  kCoresAndPmStores,  // cores, and stores to PM, which stay in their store queues
};

// The speculation ID of stores under an inner lock.
enum class InnerLocks : std::uint8_t { kNewId, kOuterId };

// The sound and the published behaviour, where the published one is unsound.
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
    visit("detection", detection, "the handler is not notified of misspeculation");
    visit("window", window, "the speculation window ends immediately");
    visit("second_write_back", second_write_back,
          "a second write-back of a line clears the record of its read");
    visit("early_store", early_store,
          "an evicted line is no longer monitored after one store to it has arrived");
    visit("tags", tags, "stores of critical sections carry no speculation ID");
    visit("masks", masks, "the persist path carries whole lines of the L1");
    visit("order", order, "nothing orders stores to different controllers");
    visit("barrier", barrier, "spec-barriers don't wait");
    visit("rollback", rollback, "an aborted region leaves its stores in PM");
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
          "Latency of a persist path from a core's store queue to the PM controllers");
    visit("store_interval", store_interval, {.least = 1, .most = 1e9},
          "Smallest interval between two stores that enter a persist path");
    visit("path_stores", path_stores, {.most = 1e6},
          "Capacity of a persist path in stores, including those that wait for a full controller; "
          "0: as many as enter it within its latency");
    visit("barrier_stops", barrier_stops, {},
          "What a spec-barrier stalls: stores to PM and synchronisation with other threads, or all "
          "later entries of the store queue");
    visit("window", window, {.most = kSecond},
          "Speculation window; 0ps: the latency of as many idle persist paths as there are cores, "
          "plus the time for a full path's stores to enter it if that exceeds a cycle each");
    visit("backed_up_windows", backed_up_windows, {},
          "Whether windows pause while a persist path is stalled, or continue, so that a stalled "
          "store can arrive too late for detection");
    visit("buffer_entries", buffer_entries, {.least = 1, .most = 4096},
          "Entries of a controller's speculation buffer (monitored lines)");
    visit("allocation", allocation, {},
          "Whether stores of critical sections also create entries of the speculation buffer, or "
          "only write-backs, so that store misspeculation is not detected");
    visit("detection", detection, {},
          "Whether evicted lines are monitored, or fetched lines, as in the naive scheme, in which "
          "every store miss is a misspeculation");
    visit("store_check", store_check, {},
          "Whether a store is checked at its arrival, or at its acceptance by the controller, so "
          "that a read in between causes a false alarm");
    visit("full_buffer_stops", full_buffer_stops, {},
          "What a full speculation buffer stalls: the cores, or also the stores to PM in their "
          "store queues");
    visit("assign_latency", assign_latency, {.most = kSecond},
          "Time in which spec-assign increments the counter that all cores share");
    visit("id_bits", id_bits, {.least = 2, .most = 32},
          "Width of a speculation ID in bits; with few bits, IDs wrap around within a window, so "
          "that older ones appear newer");
    visit("inner_locks", inner_locks, {},
          "Whether stores under an inner lock carry a new speculation ID, or the outer lock's, "
          "which may be older than other threads' stores under the inner lock");
    visit("interrupt_latency", interrupt_latency, {.most = kSecond},
          "Latency from misspeculation to the handler that marks the threads");
    visit("recovery", recovery, {},
          "Whether marked threads abort at the end of their region, or immediately");
    visit("retries", retries, {.least = 0, .most = 1e6},
          "Number of aborts after which a region is executed without speculation");
    visit("commit_check", commit_check, {},
          "Whether a region waits for pending interrupts before its commit and at its end, or "
          "checks its mark immediately, which may be too early");
    visit("releases", releases, {},
          "Whether a thread's synchronisation with others waits until its stores have arrived, or "
          "not, so that other threads' stores can arrive first");
    visit("alarmed_lines", alarmed_lines, {},
          "Whether the handler drops misspeculated lines from the caches, or keeps them, so that "
          "the re-executed region reads them again");
    visit("alarm_entries", alarm_entries, {.most = 4096},
          "Number of misspeculated lines recorded for the handler. A further one overwrites the "
          "oldest, whose line stays in the caches; 0: no limit; 1: as published");
    visit("controllers", controllers, {},
          "Whether stores to different controllers are ordered, or not, which is sound only with a "
          "single controller");
    visit("controller_latency", controller_latency, {.most = kSecond},
          "Latency from a controller's acceptance of a store to the sending of the core's next "
          "store to another controller");
  }
};

}  // namespace pmemsim
