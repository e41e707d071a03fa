// load_misspeculation: PMEM-Spec's synthetic program (ASPLOS 2021, 8.4), which reads a line back
// from PM before its store has arrived there. It is not for measuring: no program needs to do
// this.
//
// One region stores its number to its thread's line, and evicts the line from the caches by loading
// other lines of its set. It loads the line again and stores the loaded value to a second line. The
// steps behind the store take less than 200 ns in total. So on a persist path of that latency the
// load reads the old value of the line; on one of 10 ns it never does.
//
// The lines of a set are kSetBytes apart: those of a shared cache of 16 MiB with 16 ways. They are
// in ordinary memory, which answers sooner than PM. All but one are loaded before the store, each
// followed by the thread's line. This line stays in the L1 and becomes the oldest of its set in the
// shared cache. So one more load evicts it there, and from the L1 with that.
//
// In PM: Root {Header header; u64 pairs}, where pairs is the address of a Pair {line {u64 number}
// stored; line {u64 number} found} of each thread. Both numbers are those of the thread's last
// region.
//
// Locks: none, since threads share nothing.
#include <cstdlib>
#include <memory>

#include "workload.hpp"

namespace {

constexpr std::size_t kSetBytes = 1 << 20;
constexpr std::size_t kWays = 16;

class LoadMisspeculation {
 public:
  static constexpr workload::About kAbout = {
      "load_misspeculation",
      "Stores to a line of PM, evicts it from the caches and loads it again, in every atomic\n"
      "region: too early, if stores take a slow way to PM.",
      PM_MAX_THREADS, PM_LINE_BYTES, "its lines have one word each"};

  static std::uint64_t pool_bytes(const workload::Options& options) {
    return workload::pool_bytes_for(options, 0) + 4 * kSetBytes;
  }

  LoadMisspeculation(pm_pool* pool, const workload::Options& options) : LoadMisspeculation(pool) {
    workload::describe(root_->header, kAbout, options);
    char* const block = static_cast<char*>(workload::require(pm_alloc(pool, 2 * kSetBytes)));
    const std::size_t to_set = kSetBytes - reinterpret_cast<std::uintptr_t>(block) % kSetBytes;
    root_->pairs = reinterpret_cast<Pair*>(block + to_set % kSetBytes);
    for (std::size_t t = 0; t < PM_MAX_THREADS; ++t) pair(t) = {};
    pm_flush(root_->pairs, PM_MAX_THREADS * sizeof(Pair));
    pm_flush(root_, sizeof *root_);
    workload::set_ready(root_->header);
  }

  explicit LoadMisspeculation(pm_pool* pool)
      : pool_(pool),
        root_(workload::root_of<Root>(pool)),
        others_(static_cast<char*>(std::aligned_alloc(kSetBytes, kWays * kSetBytes))) {
    if (!others_) workload::refuse("no memory for the lines that evict others");
    for (std::size_t t = 0; t < PM_MAX_THREADS; ++t)
      for (std::size_t way = 0; way < kWays; ++way) other(t, way) = 0;
  }

  workload::Tally run(const workload::Work& work) {
    Pair& own = pair(work.thread);
    for (std::uint64_t i = 0; i < work.regions; ++i) {
      pm_begin(pool_);
      const pm_range ranges[] = {{&own.stored, sizeof own.stored}, {&own.found, sizeof own.found}};
      pm_log_ranges(ranges, 2);
      std::uint64_t zero = 0;  // makes each address depend on the load before
      for (std::size_t way = 0; way + 1 < kWays; ++way) {
        zero = load(other(work.thread, way + zero));
        load((&own.stored.number)[zero]);
      }
      settle();
      own.stored.number = work.first + i + 1;
      settle();
      load(other(work.thread, kWays - 1));
      settle();
      own.found.number = load(own.stored.number);
      pm_end();
    }
    return {};
  }

  workload::Check check() const {
    for (std::size_t t = 0; t < PM_MAX_THREADS; ++t) {
      if (pair(t).found.number != pair(t).stored.number)
        return {"thread " + std::to_string(t) + " has found another number than it had stored"};
    }
    return {"", root_->header.items};
  }

 private:
  struct alignas(PM_LINE_BYTES) Number {
    std::uint64_t number;
  };
  struct Pair {
    Number stored, found;
  };
  struct Root {
    workload::Header header;
    Pair* pairs;
  };

  Pair& pair(std::size_t thread) const { return root_->pairs[thread]; }

  // Returns a line that shares a set with the line to which a thread stores.
  std::uint64_t& other(std::size_t thread, std::size_t way) const {
    return *reinterpret_cast<std::uint64_t*>(others_.get() + way * kSetBytes +
                                             thread * sizeof(Pair));
  }

  // Loads by an access that the compiler keeps.
  static std::uint64_t load(const std::uint64_t& word) {
    return *static_cast<const volatile std::uint64_t*>(&word);
  }

  // Executes more instructions than a core has in flight, so that code before is complete when code
  // behind begins. Four chains of instructions keep the number of cycles small.
  static void settle() {
    constexpr unsigned kRounds = 40;
    std::uint64_t chains[4] = {1, 2, 3, 4};
    for (unsigned round = 0; round < kRounds; ++round)
      for (std::uint64_t& chain : chains) {
        ++chain;
        asm volatile("" : "+r"(chain));
      }
  }

  struct Free {
    void operator()(char* memory) const { std::free(memory); }
  };

  pm_pool* pool_;
  Root* root_;
  std::unique_ptr<char, Free> others_;
};

}  // namespace

int main(int argc, char** argv) { return workload::main<LoadMisspeculation>(argc, argv); }
