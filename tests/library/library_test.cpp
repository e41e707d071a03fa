// The library natively: pools and their files, regions and what they cost, the allocator, threads.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "long_tests.hpp"
#include "pmemsim/pm.h"
#include "pmemsim/trace/format.hpp"
#include "pool_census.hpp"

extern "C" {
#include "marks.h"
}

namespace trace = pmemsim::trace;

// The library's numbers are the trace format's.
static_assert(MARK_ROI_BEGIN == int(trace::MarkKind::kRoiBegin));
static_assert(MARK_ROI_END == int(trace::MarkKind::kRoiEnd));
static_assert(MARK_REGION_BEGIN == int(trace::MarkKind::kRegionBegin));
static_assert(MARK_REGION_END == int(trace::MarkKind::kRegionEnd));
static_assert(MARK_LOG_RANGE == int(trace::MarkKind::kLogRange));
static_assert(MARK_PURPOSE == int(trace::MarkKind::kPurpose));
static_assert(MARK_NEXT_FENCE == int(trace::MarkKind::kNextFence));
static_assert(MARK_ALLOCATE == int(trace::MarkKind::kAllocate));
static_assert(MARK_FREE == int(trace::MarkKind::kFree));
static_assert(MARK_HINT == int(trace::MarkKind::kHint));
static_assert(MARK_HINT_DATA == int(trace::MarkKind::kHintData));
static_assert(MARK_READ_FIRST == int(trace::MarkKind::kReadFirst));
static_assert(MARK_FENCE_REGIONS == int(trace::MarkKind::kFenceRegions));
static_assert(PURPOSE_PROGRAM == int(trace::Purpose::kProgram));
static_assert(PURPOSE_LOG == int(trace::Purpose::kLog));
static_assert(PURPOSE_DATA_FLUSH == int(trace::Purpose::kDataFlush));
static_assert(PURPOSE_COMMIT == int(trace::Purpose::kCommit));
static_assert(FENCE_ORDER == int(trace::FenceMeaning::kOrder));
static_assert(FENCE_DURABLE == int(trace::FenceMeaning::kDurable));
static_assert(HINT_BOTH == int(trace::HintKind::kBoth));
static_assert(HINT_ADDRESS == int(trace::HintKind::kAddress));
static_assert(HINT_DATA == int(trace::HintKind::kData));
static_assert(HINT_VALUE == int(trace::HintKind::kValue));
static_assert(HINT_BOTH_BUFFERED == int(trace::HintKind::kBothBuffered));
static_assert(HINT_ADDRESS_BUFFERED == int(trace::HintKind::kAddressBuffered));
static_assert(HINT_DATA_BUFFERED == int(trace::HintKind::kDataBuffered));
static_assert(HINT_START_BUFFERED == int(trace::HintKind::kStartBuffered));

namespace {

struct Mark {
  std::uint32_t kind;
  std::uint64_t first, second;
  bool operator==(const Mark&) const = default;
};

void PrintTo(const Mark& mark, std::ostream* out) {
  *out << "mark " << mark.kind << " (" << mark.first << ", " << mark.second << ")";
}

thread_local std::vector<Mark> marks;

}  // namespace

// Replaces the recorder's function.
extern "C" void pmemsim_rt_mark(std::uint32_t mark, std::uint64_t first, std::uint64_t second) {
  marks.push_back({mark, first, second});
}

namespace {

constexpr unsigned kPool = 0;
unsigned char* const kStart = reinterpret_cast<unsigned char*>(PM_BASE + kPool * PM_POOL_STRIDE);
constexpr std::uint64_t kPoolBytes = 8 << 20;

std::uint64_t address(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

std::vector<std::uint64_t> fences(const std::vector<Mark>& all) {
  std::vector<std::uint64_t> meanings;
  for (const Mark& mark : all)
    if (mark.kind == MARK_NEXT_FENCE) meanings.push_back(mark.first);
  return meanings;
}

const std::vector<std::uint64_t> kThreeFences = {FENCE_ORDER, FENCE_ORDER, FENCE_DURABLE};

// ---- Files -----------------------------------------------------------------------------------

class PoolFile : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::remove(path_); }
  void TearDown() override { std::filesystem::remove(path_); }

  void expect_refused(const std::string& why, std::uint64_t bytes = 0, unsigned number = kPool) {
    pm_pool* pool = pm_open(path_.c_str(), bytes, number);
    EXPECT_EQ(nullptr, pool);
    EXPECT_EQ(why, pm_error());
    if (pool) pm_close(pool);
  }

  // A pool that has been used and closed.
  void make_used_pool() {
    pm_pool* pool = pm_open(path_.c_str(), kPoolBytes, kPool);
    ASSERT_TRUE(pool) << pm_error();
    std::uint64_t* root = static_cast<std::uint64_t*>(pm_root(pool, 128));
    pm_begin(pool);
    pm_log(root, 8);
    root[0] = 42;
    pm_end();
    std::vector<void*> blocks;
    for (int i = 0; i < 500; ++i) blocks.push_back(pm_alloc(pool, 64 + i % 7 * 1000));
    for (int i = 0; i < 500; i += 2) pm_free(pool, blocks[i]);
    pm_free(pool, pm_alloc(pool, 200000));
    ASSERT_TRUE(pm_alloc(pool, 100000));
    ASSERT_EQ(0, pm_close(pool));
  }

  const std::string path_ = testing::TempDir() + "pmemsim_library_test_" + std::to_string(getpid());
};

TEST_F(PoolFile, KeepsItsContents) {
  make_used_pool();
  pm_pool* pool = pm_open(path_.c_str(), kPoolBytes, kPool);
  ASSERT_TRUE(pool) << pm_error();
  EXPECT_EQ(0u, pm_rolled_back(pool));
  auto* root = static_cast<std::uint64_t*>(pm_root(pool, 128));
  EXPECT_EQ(42u, root[0]);
  EXPECT_EQ(0u, root[1]);
  EXPECT_EQ(root, pm_root(pool, 8));
  EXPECT_EQ(nullptr, pm_root(pool, 129));
  EXPECT_STREQ("pm_root: the pool's root has 128 bytes, not 129", pm_error());
  pm_close(pool);
}

TEST_F(PoolFile, RefusesWhatItCannotOpen) {
  expect_refused("cannot open " + path_ + ": No such file or directory");
  std::ofstream(path_).close();
  expect_refused(path_ + " is empty; creating a pool in it requires a size");
  std::ofstream(path_) << std::string(1 << 20, 'x');
  expect_refused(path_ + " is not a pmemsim/pm.h pool");
  std::ofstream(path_) << std::string(1000, 'x');
  expect_refused(path_ +
                 " cannot be a pool: its size of 1000 bytes is not a multiple of 65536 from 393216 "
                 "up to 274877906944");
  std::filesystem::remove(path_);
  make_used_pool();
  expect_refused(path_ + " has 8388608 bytes, not 16777216", 16 << 20);
  expect_refused(
      path_ + " was created as pool number 0, and its pointers are valid only under that number", 0,
      2);
  expect_refused("pool number 16 is above 15", 0, 16);
  pm_pool* pool = pm_open(path_.c_str(), 0, kPool);
  ASSERT_TRUE(pool) << pm_error();
  expect_refused(path_ + " is in use by another process");
  EXPECT_EQ(nullptr, pm_open(nullptr, kPoolBytes, kPool));
  EXPECT_NE(nullptr, std::strstr(pm_error(), "the address range is in use"));
  pm_close(pool);
  std::filesystem::resize_file(path_, kPoolBytes / 2);
  expect_refused(
      path_ +
      " has 4194304 bytes, but its superblock states 8388608: the file was truncated or extended");
}

TEST_F(PoolFile, RefusesADamagedSuperblock) {
  make_used_pool();
  for (std::streamoff at = 0; at < 56; ++at) {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(at);
    const int byte = file.get();
    file.seekp(at);
    file.put(static_cast<char>(byte ^ 0x10));
    file.flush();
    EXPECT_EQ(nullptr, pm_open(path_.c_str(), 0, kPool)) << "byte " << at;
    file.seekp(at);
    file.put(static_cast<char>(byte));
  }
  pm_pool* pool = pm_open(path_.c_str(), 0, kPool);
  EXPECT_TRUE(pool) << pm_error();
  pm_close(pool);
}

// Damage anywhere in the management data is either harmless or refused in words. The long form
// damages it 2,000 times instead of 500.
TEST_F(PoolFile, SurvivesRandomDamage) {
  make_used_pool();
  std::ifstream file(path_, std::ios::binary);
  const std::vector<char> good((std::istreambuf_iterator<char>(file)), {});
  std::vector<std::size_t> used;  // the words that are not zero, in front of the chunks
  for (std::size_t at = 0; at < first_chunk_offset(kPoolBytes); at += 8)
    if (std::any_of(&good[at], &good[at] + 8, [](char c) { return c; })) used.push_back(at);
  std::mt19937 random(1);
  unsigned refused = 0;
  const unsigned rounds = pmemsim::long_tests() ? 2000 : 500;
  for (unsigned i = 0; i < rounds; ++i) {
    std::fstream damaged(path_, std::ios::in | std::ios::out | std::ios::binary);
    const std::size_t at = used[random() % used.size()] + random() % 8;
    damaged.seekp(static_cast<std::streamoff>(at));
    damaged.put(static_cast<char>(random()));
    damaged.close();
    pm_pool* pool = pm_open(path_.c_str(), 0, kPool);
    if (pool) {
      pm_root(pool, 128);
      pm_close(pool);
    } else {
      ++refused;
      ASSERT_STRNE("", pm_error());
    }
    std::fstream repaired(path_, std::ios::in | std::ios::out | std::ios::binary);
    repaired.write(good.data(), static_cast<std::streamsize>(first_chunk_offset(kPoolBytes)));
  }
  EXPECT_GT(refused, rounds / 4);
}

TEST_F(PoolFile, UndoesTheRegionOfAProcessThatDied) {
  make_used_pool();
  const pid_t child = fork();
  if (child == 0) {
    pm_pool* pool = pm_open(path_.c_str(), 0, kPool);
    auto* root = static_cast<std::uint64_t*>(pm_root(pool, 128));
    pm_begin(pool);
    pm_log(root, 16);
    root[0] = root[1] = 1;
    _exit(0);
  }
  int status;
  waitpid(child, &status, 0);
  pm_pool* pool = pm_open(path_.c_str(), 0, kPool);
  ASSERT_TRUE(pool) << pm_error();
  EXPECT_EQ(1u, pm_rolled_back(pool));
  auto* root = static_cast<std::uint64_t*>(pm_root(pool, 128));
  EXPECT_EQ(42u, root[0]);
  EXPECT_EQ(0u, root[1]);
  pm_close(pool);
}

// The log's first chunk has 1024 lines. Records of three lines and then of two leave one line of
// it, so the last record is in the next chunk.
TEST_F(PoolFile, UndoesTheRecordAfterAChunkWithOneLineLeft) {
  constexpr std::size_t kLastLine = 512, kWords = 8, kBytes = (kLastLine + 1) * PM_LINE_BYTES;
  pm_pool* pool = pm_open(path_.c_str(), kPoolBytes, kPool);
  ASSERT_TRUE(pool) << pm_error();
  ASSERT_TRUE(pm_root(pool, kBytes));
  ASSERT_EQ(0, pm_close(pool));
  const pid_t child = fork();
  if (child == 0) {
    pool = pm_open(path_.c_str(), 0, kPool);
    auto* root = static_cast<std::uint64_t*>(pm_root(pool, kBytes));
    pm_begin(pool);
    pm_log(root, 2 * PM_LINE_BYTES);
    for (std::size_t line = 2; line <= kLastLine; ++line) pm_log(root + line * kWords, 8);
    for (std::size_t line = 0; line <= kLastLine; ++line) root[line * kWords] = 1;
    _exit(0);
  }
  int status;
  waitpid(child, &status, 0);
  pool = pm_open(path_.c_str(), 0, kPool);
  ASSERT_TRUE(pool) << pm_error();
  EXPECT_EQ(1u, pm_rolled_back(pool));
  auto* root = static_cast<std::uint64_t*>(pm_root(pool, kBytes));
  for (std::size_t line = 0; line <= kLastLine; ++line) EXPECT_EQ(0u, root[line * kWords]) << line;
  pm_close(pool);
}

// ---- Regions ---------------------------------------------------------------------------------

class Pool : public testing::Test {
 protected:
  void SetUp() override {
    pool_ = pm_open(nullptr, kPoolBytes, kPool);
    ASSERT_TRUE(pool_) << pm_error();
    root_ = static_cast<std::uint64_t*>(pm_root(pool_, 4096));
    live_[address(root_)] = 4096;
    marks.clear();
  }
  void TearDown() override {
    EXPECT_EQ("", census(kStart, kPoolBytes, live_));
    EXPECT_EQ(0, pm_close(pool_));
  }

  pm_pool* pool_;
  std::uint64_t* root_;
  std::map<std::uint64_t, std::uint64_t> live_;
};

TEST_F(Pool, RegionWithKnownRangesCostsThreeFences) {
  const pm_range ranges[] = {{&root_[0], 8}, {&root_[64], 512}, {&root_[7], 8}};
  pm_begin(pool_);
  pm_log_ranges(ranges, 3);
  root_[0] = root_[64] = 1;
  pm_end();
  EXPECT_EQ(kThreeFences, fences(marks));
}

TEST_F(Pool, AllocationsShareTheLogFence) {
  void* old = pm_alloc(pool_, 100);
  pm_free(pool_, pm_alloc(pool_, 100));  // the shelf has its magazine now
  marks.clear();
  pm_begin(pool_);
  void* memory = pm_alloc(pool_, 100);
  pm_free(pool_, old);
  pm_log(&root_[0], 8);
  root_[0] = address(memory);
  pm_end();
  EXPECT_EQ(kThreeFences, fences(marks));
  live_[address(memory)] = 100;
}

TEST_F(Pool, RegionThatDeclaresNothingCostsNothing) {
  pm_begin(pool_);
  pm_end();
  EXPECT_TRUE(fences(marks).empty());
}

TEST_F(Pool, EveryFurtherLoggedRangeCostsOneFence) {
  pm_begin(pool_);
  pm_log(&root_[0], 8);
  pm_log(&root_[1], 8);  // the same line
  pm_log(&root_[0], 64);
  pm_log(&root_[8], 8);
  pm_end();
  EXPECT_EQ((std::vector<std::uint64_t>{FENCE_ORDER, FENCE_ORDER, FENCE_ORDER, FENCE_DURABLE}),
            fences(marks));
}

// The second word of a hint's mark.
std::uint64_t hint_word(std::uint64_t bytes, hint kind, pm_pre object) {
  return bytes | std::uint64_t{kind} << 32 | std::uint64_t{object.id} << 40;
}

TEST_F(Pool, RegionsFencesAndPurposesOfCodeAreRecordedAsMarks) {
  const pm_range ranges[] = {{&root_[0], 8}, {&root_[9], 16}};
  pm_pre before;
  pm_pre_init(&before);
  pm_roi_begin();
  pm_begin(pool_);
  pm_begin(pool_);
  pm_log_ranges(ranges, 2);
  pm_end();
  pm_end();
  pm_fence_regions();
  pm_order();
  pm_durable();
  pm_roi_end();
  const auto* committed = reinterpret_cast<const std::uint64_t*>(kStart + COMMIT_OFFSET);
  const std::vector<Mark> expected = {
      {MARK_ROI_BEGIN, 0, 0},
      {MARK_REGION_BEGIN, 1, 0},
      {MARK_REGION_BEGIN, 2, 0},
      {MARK_LOG_RANGE, address(&root_[0]), 8},
      {MARK_LOG_RANGE, address(&root_[9]), 16},
      {MARK_PURPOSE, PURPOSE_LOG, 0},
      {MARK_HINT_DATA, *committed, 0},
      {MARK_HINT, address(committed), hint_word(8, HINT_VALUE, {before.id + 1})},
      {MARK_NEXT_FENCE, FENCE_ORDER, 0},
      {MARK_PURPOSE, PURPOSE_DATA_FLUSH, 0},
      {MARK_PURPOSE, PURPOSE_PROGRAM, 0},
      {MARK_REGION_END, 2, 0},
      {MARK_PURPOSE, PURPOSE_DATA_FLUSH, 0},
      {MARK_NEXT_FENCE, FENCE_ORDER, 0},
      {MARK_PURPOSE, PURPOSE_PROGRAM, 0},
      {MARK_PURPOSE, PURPOSE_COMMIT, 0},
      {MARK_NEXT_FENCE, FENCE_DURABLE, 0},
      {MARK_PURPOSE, PURPOSE_PROGRAM, 0},
      {MARK_REGION_END, 1, 0},
      {MARK_FENCE_REGIONS, 0, 0},
      {MARK_NEXT_FENCE, FENCE_ORDER, 0},
      {MARK_NEXT_FENCE, FENCE_DURABLE, 0},
      {MARK_ROI_END, 0, 0},
  };
  EXPECT_EQ(expected, marks);
}

TEST_F(Pool, AllocationsAndHintsAreRecordedAsMarks) {
  void* memory = pm_alloc(pool_, 100);
  pm_free(pool_, memory);
  EXPECT_EQ(1, std::count(marks.begin(), marks.end(), Mark{MARK_ALLOCATE, address(memory), 100}));
  EXPECT_EQ(1, std::count(marks.begin(), marks.end(), Mark{MARK_FREE, address(memory), 0}));

  marks.clear();
  pm_pre a, b;
  pm_pre_init(&a);
  pm_pre_init(&b);
  EXPECT_NE(a.id, b.id);
  std::uint64_t data[8] = {10, 11, 12, 13, 14, 15, 16, 17};
  pm_pre_both(&a, root_, data, 24);
  pm_pre_both_val(&b, root_, 5);
  pm_pre_data_buf(&b, data, 16);
  pm_pre_addr_buf(&b, root_, 64);
  pm_pre_start_buf(&b);
  EXPECT_EQ((std::vector<Mark>{{MARK_HINT_DATA, 10, 11},
                               {MARK_HINT_DATA, 12, 0},
                               {MARK_HINT, address(root_), hint_word(24, HINT_BOTH, a)},
                               {MARK_HINT_DATA, 5, 0},
                               {MARK_HINT, address(root_), hint_word(8, HINT_VALUE, b)},
                               {MARK_HINT_DATA, 10, 11},
                               {MARK_HINT, 0, hint_word(16, HINT_DATA_BUFFERED, b)},
                               {MARK_HINT, address(root_), hint_word(64, HINT_ADDRESS_BUFFERED, b)},
                               {MARK_HINT, 0, hint_word(0, HINT_START_BUFFERED, b)}}),
            marks);
}

using PoolDeathTest = Pool;

TEST_F(PoolDeathTest, MisuseOfTheInterfaceEndsTheProgram) {
  EXPECT_DEATH(pm_end(), "pm_end: there is no region to end");
  EXPECT_DEATH(pm_log(root_, 8), "pm_log: not inside a region");
  std::uint64_t outside;
  EXPECT_DEATH((pm_begin(pool_), pm_log(&outside, 8)),
               "8 bytes at .* are not in the region's pool");
  EXPECT_DEATH((pm_begin(pool_), pm_log(kStart + kPoolBytes - 8, 16)), "not in the region's pool");
  EXPECT_DEATH(pm_free(pool_, root_ + 8), "pm_free: .* is not the start of an allocation");
  EXPECT_DEATH(pm_free(pool_, &outside), "pm_free: .* is not in the pool");
  pm_pool* other = pm_open(nullptr, kPoolBytes, kPool + 1);
  EXPECT_DEATH((pm_begin(pool_), pm_begin(other)), "pm_begin: .* belongs to another pool");
  EXPECT_DEATH((pm_begin(pool_), pm_alloc(other, 8)), "pm_alloc: .* belongs to another pool");
  pm_close(other);
}

TEST_F(Pool, RefusesToCloseOrMakeARootInARegion) {
  pm_begin(pool_);
  EXPECT_EQ(-1, pm_close(pool_));
  EXPECT_STREQ("pm_close: this thread is inside a region", pm_error());
  EXPECT_EQ(nullptr, pm_root(pool_, 8));
  pm_end();
}

// ---- Allocator -------------------------------------------------------------------------------

TEST_F(Pool, AllocatesEverySize) {
  std::size_t last = 0;
  for (std::size_t bytes :
       {0, 1, 64, 65, 512, 513, 1000, 8192, 8193, 32768, 32769, 65536, 300000}) {
    auto* memory = static_cast<char*>(pm_alloc(pool_, bytes));
    ASSERT_TRUE(memory) << pm_error();
    EXPECT_EQ(0u, address(memory) % 64);
    std::memset(memory, 1, bytes);
    live_[address(memory)] = bytes;
    last = bytes;
  }
  EXPECT_EQ(nullptr, pm_alloc(pool_, kPoolBytes));
  EXPECT_STREQ("the pool is full: it has no free space for 8388608 bytes", pm_error());
  EXPECT_EQ(nullptr, pm_alloc(pool_, SIZE_MAX));
  EXPECT_EQ(300000u, last);
}

TEST_F(Pool, MemoryFreedIsUsedAgainAfterTheRegion) {
  void* memory = pm_alloc(pool_, 640);
  pm_begin(pool_);
  pm_free(pool_, memory);
  void* other = pm_alloc(pool_, 640);
  pm_end();
  EXPECT_NE(memory, other);
  EXPECT_EQ(memory, pm_alloc(pool_, 640));
  live_[address(memory)] = live_[address(other)] = 640;

  void* large = pm_alloc(pool_, 5 << 20);
  ASSERT_TRUE(large);
  EXPECT_EQ(nullptr, pm_alloc(pool_, 5 << 20));
  pm_free(pool_, large);
  EXPECT_EQ(large, pm_alloc(pool_, 5 << 20));
  live_[address(large)] = 5 << 20;
}

// A block that one thread frees can be allocated by another: a producer and a consumer don't fill
// the pool.
TEST_F(Pool, BlocksFreedByAnotherThreadAreReused) {
  constexpr int kRounds = 200, kBlocks = 500;  // 800 bytes each: 76 MiB through a pool of 8
  for (int round = 0; round < kRounds; ++round) {
    std::vector<void*> blocks;
    std::thread([&] {
      ASSERT_EQ(0, pm_thread(pool_, 1));
      for (int i = 0; i < kBlocks; ++i) {
        blocks.push_back(pm_alloc(pool_, 800));
        ASSERT_TRUE(blocks.back()) << "round " << round << ": " << pm_error();
      }
    }).join();
    std::thread([&] {
      ASSERT_EQ(0, pm_thread(pool_, 2));
      for (void* block : blocks) pm_free(pool_, block);
    }).join();
  }
}

TEST_F(Pool, ThreadsNeverShareABlock) {
  constexpr unsigned kThreads = 8;
  std::mutex mutex;
  std::vector<std::thread> threads;
  std::vector<std::pair<std::uint64_t*, std::uint64_t>> shared;  // blocks that any thread may free
  for (unsigned t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      std::mt19937_64 random(t);
      for (int i = 0; i < 4000; ++i) {
        const std::size_t words = 1 + random() % 60;
        auto* block = static_cast<std::uint64_t*>(pm_alloc(pool_, words * 8));
        ASSERT_TRUE(block) << pm_error();
        const std::uint64_t stamp = random() << 8 | words;
        std::fill_n(block, words, stamp);
        const std::lock_guard lock(mutex);
        shared.emplace_back(block, stamp);
        if (shared.size() < 100) continue;
        std::swap(shared[random() % shared.size()], shared.back());
        const auto [victim, expected] = shared.back();
        shared.pop_back();
        for (std::size_t word = 0; word < (expected & 0xff); ++word)
          ASSERT_EQ(expected, victim[word]);
        pm_free(pool_, victim);
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const auto& [block, stamp] : shared) live_[address(block)] = (stamp & 0xff) * 8;
}

// ---- Threads ---------------------------------------------------------------------------------

TEST_F(Pool, ThreadIndexIsUniqueUntilItsThreadEnds) {
  EXPECT_EQ(-1, pm_thread(pool_, PM_MAX_THREADS));
  EXPECT_STREQ("pm_thread: index 128 is above 127", pm_error());
  EXPECT_EQ(-1, pm_thread(pool_, 5));
  EXPECT_STREQ("pm_thread: this thread already has index 0", pm_error());
  for (int round = 0; round < 2; ++round)  // an index is free again when its thread has ended
    std::thread([&] {
      EXPECT_EQ(-1, pm_thread(pool_, 0));
      EXPECT_STREQ("pm_thread: another thread has index 0", pm_error());
      EXPECT_EQ(0, pm_thread(pool_, 7));
      EXPECT_EQ(0, pm_thread(pool_, 7));
    }).join();
}

TEST_F(Pool, TwoOpenPoolsKeepTheirOwnData) {
  pm_pool* other = pm_open(nullptr, kPoolBytes, kPool + 1);
  ASSERT_TRUE(other) << pm_error();
  auto* theirs = static_cast<std::uint64_t*>(pm_root(other, 64));
  for (int i = 0; i < 100; ++i)
    for (auto [pool, word] : {std::pair{pool_, root_}, std::pair{other, theirs}}) {
      pm_begin(pool);
      pm_log(word, 8);
      ++*word;
      pm_end();
    }
  EXPECT_EQ(100u, *root_);
  EXPECT_EQ(100u, *theirs);
  pm_close(other);
}

}  // namespace
