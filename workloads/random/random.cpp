// random: random operations that programs may do with persistent memory. It is not for
// measuring: `pmemsim crash` tests designs with it.
//
// One region takes the locks of one block, of two, or of all, before it begins or inside. It writes
// some of their words by stores of all kinds and widths (plain, non-temporal, locked, across lines)
// and flushes a few of them itself. Other regions nest, wait for earlier regions, replace a block's
// allocated part, or only read one block and write the result to their thread's own line. Between
// regions, threads store to words beside those of regions, flushed and fenced or not, and to words
// of a line that eight threads share.
//
// In PM: Root {Header header; Block* blocks[]; Own shared[], own[]}. Block {u64 sum, count; Part*
// part; u64 part_sum; from byte 64 on: lines}. Words 5 and 6 of each line are written outside
// regions only. `sum` is the digest of all other words of the lines, and `part_sum` that of the
// part.
//
// Locks: one a block, taken in ascending order, also for stores outside regions. A part belongs
// to its block.
#include <array>
#include <mutex>
#include <vector>

#include <emmintrin.h>

#include "digest.hpp"
#include "ordered_locks.hpp"
#include "random.hpp"
#include "workload.hpp"

namespace {

using workload::Random;

constexpr std::size_t kWords = PM_LINE_BYTES / sizeof(std::uint64_t);
constexpr std::array<std::size_t, 10> kLines = {1, 1, 2, 3, 5, 17, 40, 1, 4, 9};
constexpr std::size_t kBlocks = kLines.size();
constexpr std::size_t kLinesOfAll = 83;
constexpr std::size_t kMostPartWords = 700;

// True for words of a line that are stored to outside regions.
constexpr bool is_raw(std::size_t word) { return word == 5 || word == 6; }

class RandomRegions {
 public:
  static constexpr workload::About kAbout = {
      "random",
      "Does what programs may do with persistent memory, at random: regions that write by stores "
      "of\n"
      "all kinds, nest, allocate and only read; stores, flushes and fences outside regions.",
      kLinesOfAll, 64, "its blocks have sizes of their own"};

  static std::uint64_t pool_bytes(const workload::Options& options) {
    return workload::pool_bytes_for(options, 256);
  }

  RandomRegions(pm_pool* pool, const workload::Options& options)
      : pool_(pool), root_(workload::root_of<Root>(pool)) {
    workload::describe(root_->header, kAbout, options);
    for (std::size_t b = 0; b < kBlocks; ++b) {
      const std::size_t bytes = sizeof(Block) + kLines[b] * PM_LINE_BYTES;
      auto* block = static_cast<Block*>(workload::require(pm_alloc(pool, bytes)));
      std::memset(static_cast<void*>(block), 0, bytes);
      block->sum = digest(*block, b);
      pm_flush(block, bytes);
      root_->blocks[b] = block;
    }
    pm_flush(root_->blocks, sizeof root_->blocks);
    workload::set_ready(root_->header);
  }

  explicit RandomRegions(pm_pool* pool) : pool_(pool), root_(workload::root_of<Root>(pool)) {}

  workload::Tally run(const workload::Work& work) {
    Random random = work.random();
    for (std::uint64_t i = 0; i < work.regions; ++i) {
      for (std::uint64_t n = random.below(3); n > 0; --n) store_outside(random, work.thread);
      region(random, work.thread);
      if (random.below(16) == 0) pm_fence_regions();
    }
    return {};
  }

  workload::Check check() const {
    for (std::size_t b = 0; b < kBlocks; ++b) {
      const Block& block = *root_->blocks[b];
      const std::string name = "block " + std::to_string(b);
      if (block.sum != digest(block, b)) return {name + " holds regions in part"};
      if (block.part && block.part_sum != digest(*block.part)) {
        return {"the part of " + name + " is incomplete"};
      }
    }
    return {"", root_->header.items};
  }

 private:
  struct Part {
    std::uint64_t words;
    std::uint64_t data[];
  };
  struct alignas(PM_LINE_BYTES) Block {
    std::uint64_t sum, count;
    Part* part;
    std::uint64_t part_sum;
    std::uint64_t* line(std::size_t number) const {
      auto* lines = reinterpret_cast<std::uint64_t*>(const_cast<Block*>(this) + 1);
      return lines + number * kWords;
    }
  };
  struct alignas(PM_LINE_BYTES) Own {
    std::uint64_t words[kWords];
  };
  struct Root {
    workload::Header header;
    Block* blocks[kBlocks];
    Own shared[PM_MAX_THREADS / kWords];  // a word each thread
    Own own[PM_MAX_THREADS];
  };

  static std::uint64_t digest(const Block& block, std::size_t number) {
    workload::Digest digest;
    for (std::size_t line = 0; line < kLines[number]; ++line) {
      for (std::size_t word = 0; word < kWords; ++word) {
        if (!is_raw(word)) digest.add(block.line(line)[word]);
      }
    }
    return digest.value();
  }
  static std::uint64_t digest(const Part& part) {
    workload::Digest digest;
    digest.add(part.data, part.words * sizeof(std::uint64_t));
    return digest.value();
  }

  void region(Random& random, unsigned thread) {
    workload::OrderedLocks locks(locks_);
    std::vector<std::size_t> blocks{random.below(kBlocks)};
    const std::uint64_t kind = random.below(12);
    if (kind < 3) blocks.push_back(random.below(kBlocks));
    if (kind == 3) {
      for (std::size_t b = 0; b < kBlocks; ++b) blocks.push_back(b);
    }
    for (const std::size_t block : blocks) locks.add(block);
    const bool lock_inside = random.below(4) == 0;
    if (!lock_inside) locks.lock();
    pm_begin(pool_);
    if (random.below(32) == 0) pm_fence_regions();
    if (lock_inside) locks.lock();
    if (kind < 5) {
      for (const std::size_t block : blocks) write(random, block);
    } else if (kind < 7) {
      replace_part(random, *root_->blocks[blocks[0]]);
    } else if (kind < 10) {
      only_read(*root_->blocks[blocks[0]], blocks[0], root_->own[thread]);
    } else {
      write(random, blocks[0]);
      pm_begin(pool_);
      write(random, blocks[0]);
      pm_end();
    }
    pm_end();
    locks.unlock();
  }

  // ---- In a region, under the block's lock

  void write(Random& random, std::size_t number) {
    Block& block = *root_->blocks[number];
    const pm_range ranges[] = {{&block, 2 * sizeof(std::uint64_t)},
                               {block.line(0), kLines[number] * PM_LINE_BYTES}};
    pm_log_ranges(ranges, 2);
    for (std::uint64_t n = 1 + random.below(6); n > 0; --n) {
      const std::size_t line = random.below(kLines[number]);
      store(random, block.line(line), line + 1 < kLines[number]);
      if (random.below(8) == 0) pm_flush(block.line(line), PM_LINE_BYTES);
      if (random.below(16) == 0) pm_durable();
    }
    ++block.count;
    block.sum = digest(block, number);
  }

  static void store(Random& random, std::uint64_t* line, bool another_follows) {
    const std::uint64_t value = random.next();
    switch (random.below(12)) {
      case 0:
        _mm_stream_si64(reinterpret_cast<long long*>(line + random.below(5)),
                        static_cast<long long>(value));
        return;
      case 1:
        __atomic_fetch_add(line + random.below(5), value, __ATOMIC_SEQ_CST);
        return;
      case 2:
        __atomic_store_n(line + random.below(5), value, __ATOMIC_RELEASE);
        return;
      case 3:
        std::memset(line, static_cast<int>(value), 1 + random.below(40));
        return;
      case 4:
        reinterpret_cast<std::uint16_t*>(line)[random.below(20)] =
            static_cast<std::uint16_t>(value);
        return;
      case 5:
        if (another_follows) return store_across(random, reinterpret_cast<char*>(line + 7), value);
        [[fallthrough]];
      default:
        line[random.below(8) == 0 ? 7 : random.below(5)] = value;
    }
  }
  // Stores half in a line's last word, half in the next line's first.
  static void store_across(Random& random, char* last_word, std::uint64_t value) {
    char* const at = last_word + sizeof(value) / 2;
    if (random.below(8) > 0) {
      std::memcpy(at, &value, sizeof(value));
    } else {
      asm volatile("lock xaddq %0, %1"
                   : "+r"(value), "+m"(*reinterpret_cast<char(*)[sizeof(value)]>(at)));
    }
  }

  void replace_part(Random& random, Block& block) {
    const std::uint64_t words = 1 + random.below(random.below(8) == 0 ? kMostPartWords : 40);
    auto* part = static_cast<Part*>(
        workload::require(pm_alloc(pool_, sizeof(Part) + words * sizeof(std::uint64_t))));
    part->words = words;
    for (std::uint64_t i = 0; i < words; ++i) part->data[i] = random.next();
    if (random.below(4) == 0) {  // one more, which is freed at once
      void* passing = workload::require(pm_alloc(pool_, 64));
      std::memset(passing, 3, random.below(64));
      pm_free(pool_, passing);
    }
    pm_log(&block, sizeof block);
    if (block.part) pm_free(pool_, block.part);
    block.part = part;
    block.part_sum = digest(*part);
  }

  void only_read(const Block& block, std::size_t number, Own& own) {
    pm_log(&own, 4 * sizeof(std::uint64_t));
    own.words[0] = number;
    own.words[1] = block.count;
    own.words[2] = digest(block, number);
    own.words[3] = block.part_sum;
  }

  // ---- Outside regions

  void store_outside(Random& random, unsigned thread) {
    std::uint64_t* words = nullptr;
    std::size_t word = 0;
    const std::size_t number = random.below(kBlocks);
    const std::uint64_t kind = random.below(4);
    if (kind == 0) {
      words = root_->shared[thread / kWords].words;
      word = thread % kWords;
    } else if (kind == 1) {
      words = root_->own[thread].words;
      word = 4 + random.below(4);
    } else {
      locks_[number].lock();
      words = root_->blocks[number]->line(random.below(kLines[number]));
      word = 5 + random.below(2);
    }
    if (random.below(6) == 0) {
      _mm_stream_si64(reinterpret_cast<long long*>(words + word),
                      static_cast<long long>(random.next()));
    } else {
      words[word] = random.next();
    }
    if (random.below(3) > 0) pm_flush(words + word, sizeof *words);
    if (random.below(3) > 0) pm_durable();
    if (kind > 1) locks_[number].unlock();
  }

  pm_pool* pool_;
  Root* root_;
  std::vector<std::mutex> locks_ = std::vector<std::mutex>(kBlocks);
};

}  // namespace

int main(int argc, char** argv) { return workload::main<RandomRegions>(argc, argv); }
