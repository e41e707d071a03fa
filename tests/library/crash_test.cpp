// Crashes the library at its flushes and fences, with every mixture of lost and surviving lines
// that a random choice finds, recovers, and compares with what the program had committed. Built for
// either log.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "long_tests.hpp"
#include "persist_model.hpp"
#include "pmemsim/pm.h"
#include "pool_census.hpp"

namespace {

constexpr unsigned kPool = 0;
unsigned char* const kStart = reinterpret_cast<unsigned char*>(PM_BASE + kPool * PM_POOL_STRIDE);
constexpr std::uint64_t kPoolBytes = 8 << 20;

constexpr std::size_t kSlots = 24, kWords = 48, kBulkLines = 1000;
constexpr unsigned kThreads = 4;
// Limits of crashes during a recovery: images of each crash, and the number of crashes that are
// checked.
constexpr std::size_t kSecondImages = 3, kSecondCrashes = 32;

// Contents of PM that belong to one thread of the program.
struct alignas(64) Part {
  std::uint64_t words[kWords];
  std::uint64_t* slots[kSlots];  // blocks: size in words, stamp, then words that follow from it
  std::uint64_t bulk[kBulkLines * 8];
};
struct Root {
  Part part[kThreads];
};

// A block that the program expects in PM.
struct Block {
  std::size_t words = 0;
  std::uint64_t stamp = 0;
  bool operator==(const Block&) const = default;
};
struct Belief {
  std::vector<std::uint64_t> words = std::vector<std::uint64_t>(kWords);
  std::vector<std::optional<Block>> slots = std::vector<std::optional<Block>>(kSlots);
  std::uint64_t bulk = 0;  // all of it has this value
  bool operator==(const Belief&) const = default;
};

void write_block(std::uint64_t* block, const Block& contents) {
  pm_set(block[0], contents.words);
  pm_set(block[1], contents.stamp);
  for (std::size_t i = 2; i < contents.words; ++i) pm_set(block[i], contents.stamp * i);
}

// Reads what PM really holds; nothing if it isn't whole.
std::optional<Belief> read(const Part& part, std::map<std::uint64_t, std::uint64_t>& live) {
  Belief belief;
  std::copy(std::begin(part.words), std::end(part.words), belief.words.begin());
  for (std::size_t slot = 0; slot < kSlots; ++slot) {
    const std::uint64_t* block = part.slots[slot];
    if (!block) continue;
    const std::uint64_t left = reinterpret_cast<const std::uint64_t*>(kStart + kPoolBytes) - block;
    if (reinterpret_cast<std::uint64_t>(block) % 64 != 0 || left > kPoolBytes / 8)
      return std::nullopt;
    const Block contents{block[0], block[1]};
    if (contents.words > left) return std::nullopt;
    for (std::size_t i = 2; i < contents.words; ++i)
      if (block[i] != contents.stamp * i) return std::nullopt;
    belief.slots[slot] = contents;
    live[reinterpret_cast<std::uint64_t>(block)] = contents.words * 8;
  }
  belief.bulk = part.bulk[0];
  for (const std::uint64_t word : part.bulk)
    if (word != belief.bulk) return std::nullopt;
  return belief;
}

// A thread of the program: random regions, and what PM holds after each.
class Program {
 public:
  Program(pm_pool* pool, Part* part, Belief now, unsigned seed)
      : pool_(pool), part_(part), random_(seed), history_{std::move(now)} {}

  void region() {
    Belief next = history_.back();
    pm_begin(pool_);
    switch (random_() % 8) {
      case 0:
        change_bulk(next);
        break;
      case 1:
        nest(next);
        break;
      case 2:
        one_by_one(next);
        break;
      default:
        together(next);
        break;
    }
    {
      const std::lock_guard lock(history_mutex_);
      history_.push_back(next);
    }
    pm_end();
    committed_.fetch_add(1);
  }

  std::size_t committed() const { return committed_.load(); }
  // Returns the expected contents of PM after the first `regions` regions; nothing if there were
  // fewer.
  std::optional<Belief> after(std::size_t regions) const {
    const std::lock_guard lock(history_mutex_);
    if (regions >= history_.size()) return std::nullopt;
    return history_[regions];
  }

 private:
  std::size_t random_words() {
    switch (random_() % 8) {
      case 0:
        return 2 + random_() % 12000;  // larger than any size class
      case 1:
        return 2 + random_() % 3000;
      default:
        return 2 + random_() % 40;
    }
  }

  void free_slot(std::size_t slot, Belief& next) {
    pm_free(pool_, pm_get(part_->slots[slot]));
    next.slots[slot].reset();
  }

  std::uint64_t* allocate(Block& contents) {
    contents = {random_words(), random_()};
    auto* block = static_cast<std::uint64_t*>(pm_alloc(pool_, contents.words * 8));
    if (block) write_block(block, contents);
    return block;
  }

  // Everything declared by one call, blocks allocated and freed before it.
  void together(Belief& next) {
    const std::size_t slot = random_() % kSlots, other = (slot + 1) % kSlots;
    const std::size_t word = random_() % (kWords - 9);
    if (pm_get(part_->slots[slot])) free_slot(slot, next);
    Block contents;
    std::uint64_t* block = allocate(contents);
    const pm_range ranges[] = {
        {&part_->slots[slot], 8}, {&part_->slots[other], 8}, {&part_->words[word], 72}};
    pm_log_ranges(ranges, 3);
    pm_set(part_->slots[slot], block);
    if (block) next.slots[slot] = contents;
    for (std::size_t i = word; i < word + 9; ++i)
      pm_set(part_->words[i], next.words[i] = random_());
  }

  // Declared, stored, declared again; blocks freed late and their size wanted again.
  void one_by_one(Belief& next) {
    for (int i = 0; i < 6; ++i) {
      const std::size_t word = random_() % kWords, slot = random_() % kSlots;
      pm_log(&part_->words[word], 8);
      pm_set(part_->words[word], next.words[word] = random_());
      pm_log(&part_->slots[slot], 8);
      if (pm_get(part_->slots[slot])) {
        free_slot(slot, next);
        pm_set(part_->slots[slot], nullptr);
      }
      Block contents;
      pm_set(part_->slots[slot], allocate(contents));
      if (pm_get(part_->slots[slot])) next.slots[slot] = contents;
      if (random_() % 4 == 0 && pm_get(part_->slots[slot])) {
        free_slot(slot, next);
        pm_set(part_->slots[slot], nullptr);
      }
    }
  }

  void nest(Belief& next) {
    together(next);
    pm_begin(pool_);
    one_by_one(next);
    pm_begin(pool_);
    pm_end();
    pm_end();
    together(next);
  }

  // More than one segment of the log holds.
  void change_bulk(Belief& next) {
    const std::size_t half = kBulkLines * 4;
    next.bulk = random_();
    pm_log(part_->bulk, half * 8);
    for (std::size_t i = 0; i < half; ++i) pm_set(part_->bulk[i], next.bulk);
    pm_log(part_->bulk, sizeof part_->bulk);
    for (std::size_t i = half; i < 2 * half; ++i) pm_set(part_->bulk[i], next.bulk);
  }

  pm_pool* pool_;
  Part* part_;
  std::mt19937_64 random_;
  mutable std::mutex history_mutex_;
  std::vector<Belief> history_;  // after 0, 1, 2, ... regions
  std::atomic<std::size_t> committed_{0};
};

class Crash : public testing::Test {
 protected:
  void TearDown() override {
    persist_model().stop();
    std::remove(path_.c_str());
  }

  pm_pool* open(const Image& image, bool watched = true) {
    write(image);
    if (watched) persist_model().watch(kStart, kPoolBytes, image);
    return pm_open(path_.c_str(), 0, kPool);
  }

  pm_pool* create() { return open({}); }

  void write(const Image& image) { ASSERT_TRUE(write_image(path_, image, kPoolBytes)); }

  // The file is in memory where possible: closing a pool writes it to its file.
  const std::string path_ = (access("/dev/shm", W_OK) == 0 ? "/dev/shm/" : testing::TempDir()) +
                            "pmemsim_crash_test_" + std::to_string(getpid());
};

Root* root_of(pm_pool* pool) { return static_cast<Root*>(pm_root(pool, sizeof(Root))); }

// The image that a crash left, and the number of regions that each program had committed.
struct CrashPoint {
  Image image;
  std::vector<std::size_t> committed;
};

// Contents of the recovered pool. `problem` describes a failure if they aren't the contents that
// some program committed.
struct Recovered {
  std::string problem;
  std::vector<Belief> beliefs;
};

Recovered examine(pm_pool* pool, const std::vector<std::unique_ptr<Program>>& programs,
                  const std::vector<std::size_t>& committed) {
  Recovered result;
  if (!pool) return {pm_error(), {}};
  const Root* root = root_of(pool);
  std::map<std::uint64_t, std::uint64_t> live;
  live[reinterpret_cast<std::uint64_t>(root)] = sizeof(Root);
  for (std::size_t t = 0; t < programs.size(); ++t) {
    const std::optional<Belief> found = read(root->part[t], live);
    if (!found) return {"part " + std::to_string(t) + " is torn", {}};
    if (found != programs[t]->after(committed[t]) && found != programs[t]->after(committed[t] + 1))
      return {"part " + std::to_string(t) + " is not what was committed", {}};
    result.beliefs.push_back(*found);
  }
  result.problem = census(kStart, kPoolBytes, live);
  return result;
}

// Runs random regions, taking crash images; checks them; returns how many were found wrong.
struct Outcome {
  std::size_t images = 0, rolled_back = 0, wrong = 0;
  std::string first_problem;
};

class CrashEverywhere : public Crash {
 protected:
  Outcome run(unsigned threads, unsigned regions, unsigned period, unsigned seed,
              std::pair<std::uint64_t, std::uint64_t> broken = {}) {
    std::vector<CrashPoint> points;
    pm_pool* pool = create();
    EXPECT_TRUE(pool) << pm_error();
    Root* root = root_of(pool);
    std::vector<std::unique_ptr<Program>> programs;
    for (unsigned t = 0; t < threads; ++t)
      programs.push_back(std::make_unique<Program>(pool, &root->part[t], Belief{}, seed + 100 * t));
    persist_model().break_fences(broken.first, broken.second);
    persist_model().sample(
        [&](Image image) {
          CrashPoint point{std::move(image), {}};
          for (const auto& program : programs) point.committed.push_back(program->committed());
          points.push_back(std::move(point));
        },
        4, period, seed);
    run_programs(programs, regions);
    persist_model().stop();
    EXPECT_EQ(0, pm_close(pool));

    Outcome outcome;
    for (const CrashPoint& point : points) {
      ++outcome.images;
      const std::string problem = check(point, programs, outcome);
      if (problem.empty()) continue;
      if (outcome.wrong++ == 0) outcome.first_problem = problem;
    }
    return outcome;
  }

 private:
  static void run_programs(const std::vector<std::unique_ptr<Program>>& programs,
                           unsigned regions) {
    std::vector<std::thread> threads;
    for (const auto& program : programs)
      threads.emplace_back([&program, regions] {
        for (unsigned i = 0; i < regions; ++i) program->region();
      });
    for (std::thread& thread : threads) thread.join();
  }

  // Recovers from the crash; then from crashes during that recovery, which must lead to the same;
  // then lets a program go on with the pool.
  std::string check(const CrashPoint& point, const std::vector<std::unique_ptr<Program>>& programs,
                    Outcome& outcome) {
    std::vector<Image> second;
    if (outcome.images % 16 == 0)
      persist_model().sample([&](Image image) { second.push_back(std::move(image)); },
                             kSecondImages, 2, static_cast<unsigned>(outcome.images));
    pm_pool* pool = open(point.image);
    persist_model().stop();
    const Recovered first = examine(pool, programs, point.committed);
    if (!pool) return first.problem;
    outcome.rolled_back += pm_rolled_back(pool);
    if (first.problem.empty() && outcome.images % 16 == 8) proceed(pool, first.beliefs[0]);
    pm_close(pool);
    if (!first.problem.empty()) return first.problem;
    // Spread over the recovery, since a redo log's flushes word by word, up to the last crash, when
    // most may be wrong.
    const std::size_t crashes = second.size() / kSecondImages;
    const std::size_t step = 1 + crashes / kSecondCrashes;
    for (std::size_t i = 0; i < second.size(); ++i) {
      if ((crashes - 1 - i / kSecondImages) % step != 0) continue;
      pool = open(second[i], false);
      const Recovered again = examine(pool, programs, point.committed);
      if (pool) pm_close(pool);
      if (!again.problem.empty()) return "after a crash in recovery: " + again.problem;
      if (again.beliefs != first.beliefs) return "after a crash in recovery: another outcome";
    }
    return "";
  }

  static void proceed(pm_pool* pool, const Belief& belief) {
    Root* root = root_of(pool);
    Program program(pool, &root->part[0], belief, 7);
    for (int i = 0; i < 20; ++i) program.region();
    std::map<std::uint64_t, std::uint64_t> live;
    live[reinterpret_cast<std::uint64_t>(root)] = sizeof(Root);
    EXPECT_EQ(program.after(20), read(root->part[0], live));
    for (unsigned t = 1; t < kThreads; ++t) read(root->part[t], live);
    EXPECT_EQ("", census(kStart, kPoolBytes, live));
  }
};

// The long form has two programs instead of one.
TEST_F(CrashEverywhere, EveryImageHasTheCommittedRegionsOfOneThread) {
  for (unsigned seed = 1; seed <= (pmemsim::long_tests() ? 2 : 1); ++seed) {
    const Outcome outcome = run(1, 30, 2, seed);
    EXPECT_EQ(0u, outcome.wrong) << outcome.first_problem;
    EXPECT_GT(outcome.images, 200u);
    EXPECT_GT(outcome.rolled_back, 50u);
  }
}

// How many images there are depends on how the threads meet: about 250.
TEST_F(CrashEverywhere, EveryImageHasTheCommittedRegionsOfSeveralThreads) {
  const Outcome outcome = run(kThreads, 25, 8, 11);
  EXPECT_EQ(0u, outcome.wrong) << outcome.first_problem;
  EXPECT_GT(outcome.images, 50u);
  EXPECT_GT(outcome.rolled_back, 20u);
}

// The check can fail: without the durability of the log, or of the data, or of the commits.
TEST_F(CrashEverywhere, LostLogIsDetected) {
  // The first log segment is the first chunk that a thread takes after the root object.
  const std::uint64_t begin = first_chunk_offset(kPoolBytes);
  const std::uint64_t root_end = begin + (sizeof(Root) / CHUNK_BYTES + 2) * CHUNK_BYTES;
  EXPECT_GT(run(1, 20, 2, 1, {begin, root_end}).wrong, 0u);
}

TEST_F(CrashEverywhere, LostCommitsAreDetected) {
  EXPECT_GT(run(1, 20, 2, 1, {COMMIT_OFFSET, SHELF_OFFSET}).wrong, 0u);
}

TEST_F(CrashEverywhere, LostAllocatorStateIsDetected) {
  EXPECT_GT(run(1, 20, 2, 1, {SHELF_OFFSET, CHUNK_TABLE_OFFSET}).wrong, 0u);
}

// Blocks move between threads through the depot, and are freed one by one and all at once.
TEST_F(Crash, BlocksMovingBetweenThreadsAreNeitherLostNorShared) {
  constexpr std::size_t kBlocks = 300;
  struct Point {
    Image image;
    std::size_t blocks;  // that the table held when the last region had committed
  };
  std::vector<Point> points;
  std::size_t blocks = 0;
  pm_pool* pool = create();
  std::uint64_t* table = root_of(pool)->part[0].bulk;
  persist_model().sample([&](Image image) { points.push_back({std::move(image), blocks}); }, 3, 24,
                         9);
  const auto set = [&](std::size_t i, bool there) {
    pm_begin(pool);
    void* block = there ? pm_alloc(pool, 64) : nullptr;
    if (!there) pm_free(pool, reinterpret_cast<void*>(pm_get(table[i])));
    pm_log(&table[i], 8);
    pm_set(table[i], reinterpret_cast<std::uint64_t>(block));
    pm_end();
  };
  const auto fill = [&] {
    for (; blocks < kBlocks; ++blocks) set(blocks, true);
  };
  const auto empty = [&] {
    for (; blocks > 0; --blocks) set(blocks - 1, false);
  };
  const auto empty_at_once = [&] {
    pm_begin(pool);
    for (std::size_t i = kBlocks; i-- > 0;) set(i, false);
    pm_end();
    blocks = 0;
  };
  for (int round = 0; round < 2; ++round) {
    std::thread([&] { pm_thread(pool, 1), fill(); }).join();
    std::thread([&] { pm_thread(pool, 2), empty(); }).join();
    std::thread([&] { pm_thread(pool, 3), fill(); }).join();
    std::thread([&] { pm_thread(pool, 2), empty_at_once(); }).join();
  }
  persist_model().stop();
  const auto* shelf = reinterpret_cast<const shelf_line*>(kStart + SHELF_OFFSET) + 3 * SHELVES;
  EXPECT_NE(0u, shelf->bottom) << "thread 3, which has freed nothing, took no magazine";
  pm_close(pool);

  ASSERT_GT(points.size(), 300u);
  for (const Point& point : points) {
    pool = open(point.image, false);
    ASSERT_TRUE(pool) << pm_error();
    std::map<std::uint64_t, std::uint64_t> live;
    live[reinterpret_cast<std::uint64_t>(root_of(pool))] = sizeof(Root);
    std::size_t found = 0;
    for (; found < kBlocks && table[found]; ++found) live[table[found]] = 64;
    EXPECT_EQ(found + 1, live.size());
    EXPECT_EQ("", census(kStart, kPoolBytes, live));
    EXPECT_TRUE(found + 1 == point.blocks || found == point.blocks || found == point.blocks + 1 ||
                (point.blocks == kBlocks && found == 0))
        << found << " blocks instead of " << point.blocks;
    pm_close(pool);
  }
}

#ifndef PM_REDO_LOG
// A torn first record hides the whole records after it. Recovery must not apply these when a later
// region has replaced the torn record by a whole one of the same size.
TEST_F(Crash, RecordsAfterATornRecordAreNeverRecovered) {
  std::vector<Image> images;
  const auto crash_at_next_fence = [&images] {
    images.clear();
    persist_model().sample([&](Image image) { images.push_back(std::move(image)); }, 2, 1, 5);
  };
  pm_pool* pool = create();
  std::uint64_t* bulk = root_of(pool)->part[0].bulk;
  pm_begin(pool);
  crash_at_next_fence();
  pm_log(bulk, 2 * RECORD_LINES * 64);  // two records under one fence
  persist_model().stop();
  pm_end();
  pm_close(pool);

  // Everything survives but the first line of the log. The two images that the fence took are the
  // last ones: without and with what was uncertain.
  Image torn = images[images.size() - 1];
  const Image& before = images[images.size() - 2];
  std::uint64_t log_page = first_chunk_offset(kPoolBytes) / kPageBytes;
  while (log_page < torn.size() && torn[log_page] == before[log_page]) ++log_page;
  ASSERT_LT(log_page, torn.size());
  auto page = std::make_shared<Page>(*torn[log_page]);
  std::fill_n(page->begin(), 64, static_cast<unsigned char>(0));
  torn[log_page] = page;

  pool = open(torn);
  ASSERT_TRUE(pool) << pm_error();
  EXPECT_EQ(0u, pm_rolled_back(pool));
  std::uint64_t* second = bulk + RECORD_LINES * 8;  // what the second record would restore
  *second = 1;
  pm_flush(second, 8);
  pm_durable();
  pm_begin(pool);
  pm_log(bulk, RECORD_LINES * 64);
  crash_at_next_fence();
  pm_order();
  persist_model().stop();
  pm_end();
  pm_close(pool);

  pool = open(images[0], false);
  ASSERT_TRUE(pool) << pm_error();
  EXPECT_EQ(1u, pm_rolled_back(pool));
  EXPECT_EQ(1u, *second);
  pm_close(pool);
}

#endif

// A pool is either not there or whole, wherever its making is interrupted.
TEST_F(Crash, PoolIsUsableAfterACrashDuringItsCreation) {
  std::vector<Image> images;
  persist_model().sample([&](Image image) { images.push_back(std::move(image)); }, 20, 1, 3);
  pm_pool* pool = create();
  ASSERT_TRUE(root_of(pool));
  persist_model().stop();
  pm_close(pool);
  ASSERT_GT(images.size(), 60u);
  for (const Image& image : images) {
    pool = open(image, false);
    ASSERT_TRUE(pool) << pm_error();
    const Root* root = root_of(pool);
    ASSERT_TRUE(root) << pm_error();
    for (const Part& part : root->part) {
      std::map<std::uint64_t, std::uint64_t> live;
      EXPECT_EQ(Belief{}, read(part, live));
    }
    EXPECT_EQ("",
              census(kStart, kPoolBytes, {{reinterpret_cast<std::uint64_t>(root), sizeof(Root)}}));
    pm_close(pool);
  }
}

// pm_recover_image does what pm_open does, on an image that lies elsewhere: undoes what hasn't
// committed, redoes what has.
TEST_F(Crash, ImageAtAnotherAddressIsRecovered) {
#ifdef PM_REDO_LOG
  constexpr std::uint64_t kBefore = 0, kAfter = 17;  // in the log, not yet in place
#else
  constexpr std::uint64_t kBefore = 17, kAfter = 0;
#endif
  pm_pool* pool = create();
  Root* root = root_of(pool);
  std::uint64_t* const word = &root->part[0].words[3];
  std::vector<Image> images;
  const std::uint64_t offset =
      reinterpret_cast<std::uint64_t>(word) - reinterpret_cast<std::uint64_t>(kStart);
  pm_begin(pool);
  pm_log(word, 8);
  pm_set(*word, 17);
  persist_model().sample([&](Image crash) { images.push_back(std::move(crash)); }, 2, 1, 1);
#ifdef PM_REDO_LOG
  pm_end();
#else
  pm_order();
#endif
  persist_model().stop();
#ifndef PM_REDO_LOG
  pm_end();
#endif
  pm_close(pool);

  std::vector<unsigned char> bytes(kPoolBytes + 64);
  unsigned char* copy = bytes.data() + 64 - reinterpret_cast<std::uint64_t>(bytes.data()) % 64;
  const auto load = [&](const Image& image) {
    std::memset(copy, 0, kPoolBytes);
    for (std::uint64_t page = 0; page < image.size(); ++page)
      if (image[page]) std::memcpy(copy + page * kPageBytes, image[page]->data(), kPageBytes);
    const auto* commit = reinterpret_cast<const commit_line*>(copy + COMMIT_OFFSET);
    return std::any_of(commit, commit + PM_MAX_THREADS,
                       [](const commit_line& line) { return line.to_redo > 0; });
  };
#ifdef PM_REDO_LOG
  // The first image in which the region has committed.
  ASSERT_NE(std::find_if(images.begin(), images.end(), load), images.end());
#else
  load(images.back());
#endif
  EXPECT_EQ(kBefore, copy[offset]);
  EXPECT_EQ(1, pm_recover_image(copy, kPoolBytes)) << pm_error();
  EXPECT_EQ(kAfter, copy[offset]);
  EXPECT_EQ(0, pm_recover_image(copy, kPoolBytes));
  copy[8] ^= 1;
  EXPECT_EQ(-1, pm_recover_image(copy, kPoolBytes));
  EXPECT_STREQ("the image is damaged: the checksum of its superblock is wrong", pm_error());
}

#ifdef PM_REDO_LOG
// Recovery reports a log that no crash explains, and leaves the image unchanged.
TEST_F(Crash, ImpossibleLogIsRejectedAndTheImageStaysUnchanged) {
  pm_pool* pool = create();
  std::uint64_t* const word = &root_of(pool)->part[0].words[0];
  pm_begin(pool);
  pm_set(*word, 1);
  pm_end();
  auto* const commit = reinterpret_cast<commit_line*>(kStart + COMMIT_OFFSET);
  auto* const entry = reinterpret_cast<redo_entry*>(kStart + first_chunk_offset(kPoolBytes) +
                                                    (sizeof(Root) / CHUNK_BYTES + 1) * CHUNK_BYTES);
  const auto refusal = [&](std::uint64_t entries, std::uint64_t offset) -> std::string {
    commit->to_redo = entries;
    for (std::size_t i = 0; i < CHUNK_ENTRIES; ++i) entry[i].offset = offset;
    return pm_recover_image(kStart, kPoolBytes) < 0 ? pm_error() : "";
  };
  EXPECT_EQ(refusal(100 * CHUNK_ENTRIES, 0),
            "the image is damaged: a log has fewer entries than were committed");
  EXPECT_EQ(refusal(1, kPoolBytes),
            "the image is damaged: a log refers to offset 8388608, which is not that of a word");
  EXPECT_EQ(refusal(1, 8 * 1024 + 4),
            "the image is damaged: a log refers to offset 8196, which is not that of a word");
  commit->to_redo = 0;
  pm_close(pool);
}

// A region reads its own stores, in segments of any size. No other code reads them before the
// region ends.
TEST_F(Crash, RegionReadsItsOwnLoggedStoresOfAnySize) {
  pm_pool* pool = create();
  auto* const bytes = reinterpret_cast<unsigned char*>(root_of(pool)->part[0].bulk);
  std::vector<unsigned char> expected(256);
  std::mt19937 random(1);
  pm_begin(pool);
  for (int i = 0; i < 500; ++i) {
    const std::size_t at = random() % 240, count = 1 + random() % 16;
    std::vector<unsigned char> some(count);
    for (unsigned char& byte : some) byte = static_cast<unsigned char>(random());
    pm_write(bytes + at, some.data(), count);
    std::copy(some.begin(), some.end(), expected.begin() + static_cast<std::ptrdiff_t>(at));
    const std::size_t from = random() % 240;
    pm_read(some.data(), bytes + from, count);
    ASSERT_TRUE(
        std::equal(some.begin(), some.end(), expected.begin() + static_cast<std::ptrdiff_t>(from)));
    EXPECT_EQ(pm_get(bytes[from]), expected[from]);
  }
  EXPECT_TRUE(std::all_of(bytes, bytes + 256, [](unsigned char byte) { return byte == 0; }))
      << "nothing is in place before the region ends";
  pm_end();
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), bytes));
  pm_close(pool);
}
#endif

}  // namespace
