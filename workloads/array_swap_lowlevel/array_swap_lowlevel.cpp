// array_swap_lowlevel: array_swap with an undo log of its own instead of atomic regions, as in the
// low-level programs of Janus and PMWeaver.
//
// One operation takes two random, different items and swaps their contents. Its four steps each
// end with a fence. It writes both items to the thread's log with their slots' numbers; sets the
// log valid; swaps the items; sets it invalid. It writes four times --data-bytes and three lines.
//
// In PM: Root {Header header; u64 array; u64 logs}, both addresses. The array is that of
// array_swap: header.items slots of header.data_bytes each, rounded up to whole lines. A slot holds
// the words word(number, header.seed, index) of the payload, where number (from 0) is the item's.
// There are kLogs logs, one a thread: a line whose first word is 1 if the log is valid; a line {u64
// first, second} with the slots' numbers; the contents of both slots, each rounded up to whole
// lines.
//
// A program that opens the pool must first copy the contents of valid logs back to their slots. A
// log is complete before it becomes valid, and its slots' changes are durable before it becomes
// invalid: the array is intact at every point. Two valid logs never name the same slot, because the
// slots' locks are held until the log is invalid.
//
// Locks: slot i has lock i % 1024; a swap takes the two in ascending order.
#include "swap_array.hpp"

namespace {

class ArraySwapLowLevel : public workload::DataItems {
 public:
  static constexpr workload::About kAbout = {
      "array_swap_lowlevel",
      "Swaps two random items of an array, with an undo log of its own: --regions counts swaps.\n"
      "--data-bytes is the size of an item; a swap writes two, and two to the log.",
      10000};

  struct Log {
    struct alignas(PM_LINE_BYTES) {
      std::uint64_t valid;
    } state;
    struct alignas(PM_LINE_BYTES) {
      std::uint64_t first, second;
    } slots;
    // The two slots' contents follow.
  };

  struct Root : workload::SlotArray {
    char* logs;

    Log* log(unsigned thread) const {
      const std::uint64_t bytes = sizeof(Log) + 2 * workload::padded(header.data_bytes);
      return reinterpret_cast<Log*>(logs + thread * bytes);
    }
    char* first_copy(Log* log) const { return reinterpret_cast<char*>(log + 1); }
    char* second_copy(Log* log) const {
      return first_copy(log) + workload::padded(header.data_bytes);
    }
  };

  struct Scratch {
    Scratch(unsigned thread, const Root& root) : log(root.log(thread)) {}
    Log* log;
  };

  ArraySwapLowLevel(pm_pool* pool, Root* root) : pool_(pool), root_(root) {}

  void create() {
    const std::uint64_t bytes = kLogs * (sizeof(Log) + 2 * workload::padded(data_bytes()));
    root_->logs = static_cast<char*>(workload::require(pm_alloc(pool_, bytes)));
    for (unsigned thread = 0; thread < kLogs; ++thread) {
      root_->log(thread)->state.valid = 0;
      pm_flush(&root_->log(thread)->state, sizeof(Log::state));
    }
  }

  // Undoes the swaps that a crash has interrupted.
  void take_over() {
    for (unsigned thread = 0; thread < kLogs; ++thread) {
      Log* log = root_->log(thread);
      if (log->state.valid != 1) continue;
      restore(log->slots.first, root_->first_copy(log));
      restore(log->slots.second, root_->second_copy(log));
      pm_order();
      set_valid(log, 0);
      pm_durable();
    }
  }

  void swap(std::uint64_t first, std::uint64_t second, Scratch& scratch) {
    Log* log = scratch.log;
    char *a = root_->slot(first), *b = root_->slot(second);
    char *a_copy = root_->first_copy(log), *b_copy = root_->second_copy(log);
    const std::uint64_t bytes = data_bytes();
    // Janus: the future contents of the log and the slots are known once the locks are held.
    if constexpr (workload::kHints) {
      workload::announce(a_copy, a, bytes);
      workload::announce(b_copy, b, bytes);
      workload::announce_value(&log->state.valid, 1);
      workload::announce(a, b, bytes);
      workload::announce(b, a, bytes);
    }

    log->slots = {first, second};
    std::memcpy(a_copy, a, bytes);
    std::memcpy(b_copy, b, bytes);
    pm_flush(&log->slots, sizeof log->slots + 2 * workload::padded(bytes));
    pm_order();

    set_valid(log, 1);
    pm_order();
    if constexpr (workload::kHints)
      workload::announce_value(&log->state.valid, 0);  // not before 1 is written

    std::memcpy(a, b_copy, bytes);
    std::memcpy(b, a_copy, bytes);
    pm_flush(a, bytes);
    pm_flush(b, bytes);
    pm_order();

    set_valid(log, 0);
    pm_durable();
  }

 private:
  static constexpr unsigned kLogs = PM_MAX_THREADS;

  std::uint64_t data_bytes() const { return root_->header.data_bytes; }

  static void set_valid(Log* log, std::uint64_t valid) {
    log->state.valid = valid;
    pm_flush(&log->state, sizeof log->state);
  }

  void restore(std::uint64_t index, const char* copy) {
    if (index >= root_->header.items) return;  // the image is damaged, which check() will report
    std::memcpy(root_->slot(index), copy, data_bytes());
    pm_flush(root_->slot(index), data_bytes());
  }

  pm_pool* pool_;
  Root* root_;
};

}  // namespace

int main(int argc, char** argv) {
  return workload::main<workload::SwapWorkload<ArraySwapLowLevel>>(argc, argv);
}
