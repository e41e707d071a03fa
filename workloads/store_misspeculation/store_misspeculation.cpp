// store_misspeculation: two threads store to one line in one order, and their stores reach PM in
// the other (PMEM-Spec, ASPLOS 2021, 5.2). It is not for measuring, and not for crashing: locks are
// released inside regions, so that rolling back a region may overwrite another's word.
//
// One region stores to kLines lines of the thread, and takes the lock of a pair of threads. It
// counts itself in the line that the two share and writes there that it was the last. Then it
// releases the lock and ends. On a design whose locks don't wait for stores, these stores queue
// behind those to the lines, while the other thread's overtake them.
//
// In PM: Root {Header header; Shared shared[]; u64 lines}; Shared is a line {u64 count[2], last} of
// two threads, lines is the address of kLines lines {u64 number} of each thread. Each number is the
// count of its thread; last is 1 or 2, for the first or second thread of the two, or 0.
//
// Locks: one for two threads.
#include <array>
#include <mutex>
#include <vector>

#include "workload.hpp"

namespace {

constexpr std::size_t kLines = 96;
constexpr std::size_t kPairs = PM_MAX_THREADS / 2;

class StoreMisspeculation {
 public:
  static constexpr workload::About kAbout = {
      "store_misspeculation",
      "Stores to many lines and then to a line that two threads share, in every atomic region. It\n"
      "takes a lock for the last store, and releases it before the region ends.",
      PM_MAX_THREADS, PM_LINE_BYTES, "its lines have one word each"};

  static std::uint64_t pool_bytes(const workload::Options& options) {
    return workload::pool_bytes_for(options, 0) + 2 * PM_MAX_THREADS * sizeof(Lines);
  }

  StoreMisspeculation(pm_pool* pool, const workload::Options& options) : StoreMisspeculation(pool) {
    workload::describe(root_->header, kAbout, options);
    constexpr std::size_t kBytes = PM_MAX_THREADS * sizeof(Lines);
    root_->lines = static_cast<Lines*>(workload::require(pm_alloc(pool, kBytes)));
    for (std::size_t t = 0; t < PM_MAX_THREADS; ++t) root_->lines[t] = {};
    pm_flush(root_->lines, kBytes);
    pm_flush(root_, sizeof *root_);
    workload::set_ready(root_->header);
  }

  explicit StoreMisspeculation(pm_pool* pool) : pool_(pool), root_(workload::root_of<Root>(pool)) {}

  workload::Tally run(const workload::Work& work) {
    Lines& lines = root_->lines[work.thread];
    Shared& shared = root_->shared[work.thread / 2];
    std::uint64_t& count = shared.count[work.thread % 2];
    std::mutex& lock = locks_[work.thread / 2];
    for (std::uint64_t i = 0; i < work.regions; ++i) {
      pm_begin(pool_);
      pm_log(&lines, sizeof lines);
      for (Line& line : lines) ++line.number;
      lock.lock();
      pm_log(&shared, sizeof shared);
      ++count;
      shared.last = work.thread % 2 + 1;
      lock.unlock();
      pm_end();
    }
    return {};
  }

  workload::Check check() const {
    for (std::size_t t = 0; t < PM_MAX_THREADS; ++t) {
      const Shared& shared = root_->shared[t / 2];
      const std::uint64_t count = shared.count[t % 2];
      if (shared.last > 2 || (shared.last > 0 && shared.count[shared.last - 1] == 0))
        return {"a thread that has counted nothing was the last"};
      for (const Line& line : root_->lines[t]) {
        if (line.number != count)
          return {"thread " + std::to_string(t) + " has counted itself " + std::to_string(count) +
                  " times, but one of its lines " + std::to_string(line.number) + " times"};
      }
    }
    return {"", root_->header.items};
  }

 private:
  struct alignas(PM_LINE_BYTES) Line {
    std::uint64_t number;
  };
  using Lines = std::array<Line, kLines>;
  struct alignas(PM_LINE_BYTES) Shared {
    std::uint64_t count[2], last;
  };
  struct Root {
    workload::Header header;
    Shared shared[kPairs];
    Lines* lines;
  };

  pm_pool* pool_;
  Root* root_;
  std::vector<std::mutex> locks_ = std::vector<std::mutex>(kPairs);
};

}  // namespace

int main(int argc, char** argv) { return workload::main<StoreMisspeculation>(argc, argv); }
