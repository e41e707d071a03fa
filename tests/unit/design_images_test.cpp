// Compares the images that a design's guarantees allow with known images of programs, and with an
// enumeration by the definition for small random programs.
#include "pmemsim/checks/images/design_images.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "guaranteed_program.hpp"
#include "long_tests.hpp"

namespace pmemsim::guaranteed {
namespace {

constexpr std::size_t kLines = 4;

constexpr Promises kSoftware{
    .whole_regions = true, .fences = FencePromise::kFlushed, .regions = RegionPromise::kAtEnd};
constexpr Promises kRedo{.whole_regions = true,
                         .commits_cover_flushes = true,
                         .fences = FencePromise::kFlushed,
                         .regions = RegionPromise::kAtEnd};
constexpr Promises kAsap{.whole_regions = true,
                         .fences = FencePromise::kFlushed,
                         .regions = RegionPromise::kWhenDeclared};
constexpr Promises kX86{.fences = FencePromise::kFlushed};
constexpr Promises kEpochs{.reads_in_order = true, .fences = FencePromise::kStores};
constexpr Promises kEpochRegions{.whole_regions = true,
                                 .reads_in_order = true,
                                 .fences = FencePromise::kStores,
                                 .regions = RegionPromise::kAtEnd};
constexpr Promises kStrict{
    .stores_in_order = true, .reads_in_order = true, .fences = FencePromise::kStores};
constexpr Promises kStrictRegions{.whole_regions = true,
                                  .stores_in_order = true,
                                  .reads_in_order = true,
                                  .fences = FencePromise::kStores,
                                  .regions = RegionPromise::kAtEnd};
constexpr Promises kCaches{.stores_in_order = true,
                           .reads_in_order = true,
                           .caches_persist = true,
                           .fences = FencePromise::kStores};

// A recording and the images that a design's guarantees allow.
class Allowed {
 public:
  Allowed(const Deeds& deeds, const Promises& promises, std::uint64_t most = ImageSearch::kMostSets,
          const trace::LeftOut& without = {})
      : recorder_(deeds),
        file_(recorder_.builder),
        trace_(file_.path()),
        images(trace_,
               {{},
                {.promises = promises,
                 .lines_whole = true,
                 .after_guarantees = true,
                 .without = without}},
               1, most) {}

  WordImages all() {
    WordImages found;
    while (images.next()) {
      ++shown;
      found.insert(words());
    }
    return found;
  }
  WordValues words() const {
    WordValues values(kLines * kWordsOfLine);
    for (std::size_t word = 0; word < values.size(); ++word) {
      const LineData line = images.image().read(Line::of(kPmBase + word * 8));
      std::memcpy(&values[word], line.data() + word % kWordsOfLine * 8, 8);
    }
    return values;
  }

 private:
  DeedRecorder recorder_;
  TemporaryTrace file_;
  trace::TraceFile trace_;

 public:
  DesignImages images;
  std::size_t shown = 0;
};

// Words of lines of their own, and the second one of the first line.
constexpr std::uint64_t kA = 0, kSecond = 1, kB = 8, kC = 16;
using Rows = std::set<std::vector<std::uint64_t>>;

Rows rows(const Deeds& deeds, const Promises& promises, const std::vector<std::uint64_t>& words) {
  Rows rows;
  for (const WordValues& image : Allowed(deeds, promises).all()) {
    std::vector<std::uint64_t> row;
    for (const std::uint64_t word : words) row.push_back(image[word]);
    rows.insert(row);
  }
  return rows;
}

Deed deed(std::uint32_t thread, Act act, std::uint64_t word = 0, std::uint64_t value = 1) {
  return {thread, act, word, value};
}
Deeds region(std::uint32_t thread, std::vector<Deed> inside) {
  Deeds deeds{deed(thread, Act::kBegin)};
  deeds.insert(deeds.end(), inside.begin(), inside.end());
  deeds.push_back(deed(thread, Act::kEnd));
  return deeds;
}
Deeds one_after_another(std::vector<Deeds> parts) {
  Deeds deeds;
  for (const Deeds& part : parts) deeds.insert(deeds.end(), part.begin(), part.end());
  return deeds;
}
Deed store(std::uint32_t thread, std::uint64_t word, std::uint64_t value = 1) {
  return {thread, Act::kStore, word, value};
}

const Rows kAnyTwo{{0, 0}, {0, 1}, {1, 0}, {1, 1}};
const Rows kFirstThenSecond{{0, 0}, {1, 0}, {1, 1}};
const Rows kBoth{{0, 0}, {1, 1}};

TEST(GuaranteedRegions, RegionsAreWholeOrAbsent) {
  const Deeds program = region(0, {store(0, kA), store(0, kB)});
  for (const Promises& promises : {kSoftware, kRedo, kAsap, kEpochRegions, kStrictRegions}) {
    EXPECT_EQ(rows(program, promises, {kA, kB}), kBoth);
  }
  EXPECT_EQ(rows(program, kX86, {kA, kB}), kAnyTwo) << "no regions there";
}

TEST(GuaranteedRegions, RegionsPersistInTheOrderOfTheirThread) {
  const Deeds program = one_after_another({region(0, {store(0, kA)}), region(0, {store(0, kB)})});
  for (const Promises& promises : {kSoftware, kAsap, kEpochRegions}) {
    EXPECT_EQ(rows(program, promises, {kA, kB}), kFirstThenSecond);
  }
}

TEST(GuaranteedRegions, RegionsDurableAtTheirEndPersistBeforeLaterStores) {
  // The later stores are a store outside regions, and one in another thread's region. That thread
  // synchronises with the end by a lock.
  const Deeds same_thread = one_after_another({region(0, {store(0, kA)}), {store(0, kB)}});
  const Deeds other_thread = one_after_another({{deed(0, Act::kLock)},
                                                region(0, {store(0, kA)}),
                                                {deed(0, Act::kUnlock), deed(1, Act::kLock)},
                                                region(1, {store(1, kB)})});
  for (const Deeds& program : {same_thread, other_thread}) {
    EXPECT_EQ(rows(program, kSoftware, {kA, kB}), kFirstThenSecond);
    EXPECT_EQ(rows(program, kEpochRegions, {kA, kB}), kFirstThenSecond);
    EXPECT_EQ(rows(program, kAsap, {kA, kB}), kAnyTwo);
  }
  // A region of a thread that hasn't synchronised with the other one may persist first.
  EXPECT_EQ(rows(one_after_another({region(0, {store(0, kA)}), region(1, {store(1, kB)})}),
                 kSoftware, {kA, kB}),
            kAnyTwo);
}

TEST(GuaranteedRegions, AsapRegionsAreDurableAfterTheirFence) {
  const Deeds program =
      one_after_another({region(0, {store(0, kA)}), {deed(0, Act::kFenceRegions), store(0, kB)}});
  EXPECT_EQ(rows(program, kAsap, {kA, kB}), kFirstThenSecond);
  // A fence of another thread doesn't make the regions durable.
  const Deeds others =
      one_after_another({region(0, {store(0, kA)}), {deed(1, Act::kFenceRegions), store(0, kB)}});
  EXPECT_EQ(rows(others, kAsap, {kA, kB}), kAnyTwo);
  // A fence before the region, or inside it, doesn't make it durable.
  EXPECT_EQ(rows(one_after_another(
                     {region(0, {store(0, kA), deed(0, Act::kFenceRegions)}), {store(0, kB)}}),
                 kAsap, {kA, kB}),
            kAnyTwo);
  // A flush and a fence don't make the region durable.
  EXPECT_EQ(
      rows(one_after_another({region(0, {store(0, kA)}),
                              {deed(0, Act::kFlush, kA), deed(0, Act::kDurable), store(0, kB)}}),
           kAsap, {kA, kB}),
      kAnyTwo);
}

TEST(GuaranteedRegions, RegionsFollowRegionsWhoseDataTheyReadOrOverwrite) {
  const auto with = [](const Deed& what) {
    return one_after_another({{deed(0, Act::kLock)},
                              region(0, {store(0, kA)}),
                              {deed(0, Act::kUnlock), deed(1, Act::kLock)},
                              region(1, {what, store(1, kB)})});
  };
  EXPECT_EQ(rows(with(deed(1, Act::kLoad, kA)), kAsap, {kA, kB}), kFirstThenSecond);
  EXPECT_EQ(rows(with(store(1, kA, 2)), kAsap, {kA, kB}), (Rows{{0, 0}, {1, 0}, {2, 1}}));
  EXPECT_EQ(rows(with(deed(1, Act::kLoad, kC)), kAsap, {kA, kB}), kAnyTwo);
}

TEST(GuaranteedRegions, UnfinishedRegionIsAbsentFromEveryImage) {
  const Deeds program{deed(0, Act::kBegin), store(0, kA), deed(0, Act::kDurable)};
  EXPECT_EQ(rows(program, kSoftware, {kA}), (Rows{{0}}));
}

TEST(GuaranteedRegions, MutuallyDependentRegionsPersistTogether) {
  // Each reads what the other one has written before it ends.
  const Deeds program{deed(0, Act::kBegin),
                      deed(0, Act::kLock),
                      store(0, kA),
                      deed(0, Act::kUnlock),
                      deed(1, Act::kBegin),
                      deed(1, Act::kLock),
                      deed(1, Act::kLoad, kA),
                      store(1, kB),
                      deed(1, Act::kUnlock),
                      deed(0, Act::kLock),
                      deed(0, Act::kLoad, kB),
                      deed(0, Act::kUnlock),
                      deed(0, Act::kEnd),
                      deed(1, Act::kEnd)};
  EXPECT_EQ(rows(program, kAsap, {kA, kB}), kBoth);
}

TEST(GuaranteedStores, StoresOfALineKeepTheirOrder) {
  const Deeds program{store(0, kA), store(0, kSecond)};
  EXPECT_EQ(rows(program, kX86, {kA, kSecond}), kFirstThenSecond);
  EXPECT_EQ(rows(program, kEpochs, {kA, kSecond}), kFirstThenSecond);
  EXPECT_EQ(rows({store(0, kA), store(0, kB)}, kEpochs, {kA, kB}), kAnyTwo);
}

TEST(GuaranteedStores, StoresFollowTheStoresBeforeAFence) {
  for (const Act fence : {Act::kOrder, Act::kDurable, Act::kBareFence}) {
    const Deeds unflushed{store(0, kA), deed(0, fence), store(0, kB)};
    const Deeds flushed{store(0, kA), deed(0, Act::kFlush, kA), deed(0, fence), store(0, kB)};
    EXPECT_EQ(rows(unflushed, kX86, {kA, kB}), kAnyTwo);
    EXPECT_EQ(rows(flushed, kX86, {kA, kB}), kFirstThenSecond);
    EXPECT_EQ(rows(unflushed, kEpochs, {kA, kB}), kFirstThenSecond);
  }
  const Deeds none{store(0, kA), store(0, kB)};
  EXPECT_EQ(rows(none, kStrict, {kA, kB}), kFirstThenSecond);
  EXPECT_EQ(rows(none, kCaches, {kA, kB}), kFirstThenSecond);
}

// The later store is one of another thread, which synchronises with the fence by a lock.
TEST(GuaranteedStores, StoresOfOtherThreadsFollowADurableFence) {
  const auto with = [](Act fence) {
    return Deeds{deed(0, Act::kLock), store(0, kA),          deed(0, Act::kFlush, kA),
                 deed(0, fence),      deed(0, Act::kUnlock), deed(1, Act::kLock),
                 store(1, kB)};
  };
  for (const Promises& promises : {kX86, kEpochs, kStrict}) {
    EXPECT_EQ(rows(with(Act::kDurable), promises, {kA, kB}), kFirstThenSecond);
  }
  EXPECT_EQ(rows(with(Act::kOrder), kX86, {kA, kB}), kFirstThenSecond) << "the same instruction";
  EXPECT_EQ(rows(with(Act::kOrder), kEpochs, {kA, kB}), kAnyTwo) << "an ofence guarantees nothing";
}

TEST(GuaranteedStores, StoresFollowTheDataThatTheirThreadHasRead) {
  const Deeds program{deed(0, Act::kLock),     store(0, kA),
                      deed(0, Act::kUnlock),   deed(1, Act::kLock),
                      deed(1, Act::kLoad, kA), store(1, kB)};
  EXPECT_EQ(rows(program, kEpochs, {kA, kB}), kFirstThenSecond);
  EXPECT_EQ(rows(program, kX86, {kA, kB}), kAnyTwo);
}

TEST(GuaranteedStores, VisibleStoresArePersistentWithPersistentCaches) {
  const Deeds program{deed(0, Act::kLock), store(0, kA), deed(0, Act::kUnlock), deed(1, Act::kLock),
                      store(1, kB)};
  EXPECT_EQ(rows(program, kCaches, {kA, kB}), kFirstThenSecond);
  EXPECT_EQ(rows(program, kStrict, {kA, kB}), kAnyTwo);
}

TEST(GuaranteedStores, StoreFlushedInARegionPersistsNoLaterThanTheRegion) {
  const Deeds program = one_after_another(
      {{store(0, kSecond)},
       region(0, {store(0, kA), deed(0, Act::kFlush, kA), deed(0, Act::kDurable)})});
  EXPECT_EQ(rows(program, kRedo, {kSecond, kA}), kFirstThenSecond);
  const Deeds unflushed = one_after_another({{store(0, kSecond)}, region(0, {store(0, kA)})});
  EXPECT_EQ(rows(unflushed, kRedo, {kSecond, kA}), kAnyTwo);
}

// ---- Random programs ----------------------------------------------------------------------------

std::string written(const Deeds& deeds) {
  constexpr std::array kNames{"begin",   "end",  "store", "load",   "flush",        "order",
                              "durable", "bare", "lock",  "unlock", "fence regions"};
  std::string text;
  for (const Deed& deed : deeds) {
    text += fmt::format("{}: {} {} {}\n", deed.thread, kNames[static_cast<std::size_t>(deed.act)],
                        deed.word, deed.value);
  }
  return text;
}

class GuaranteeClasses : public testing::TestWithParam<Promises> {};
INSTANTIATE_TEST_SUITE_P(All, GuaranteeClasses,
                         testing::Values(kSoftware, kRedo, kAsap, kX86, kEpochs, kEpochRegions,
                                         kStrict, kStrictRegions, kCaches));

TEST_P(GuaranteeClasses, ImagesOfRandomProgramsMatchTheDefinition) {
  std::mt19937 random(1);
  std::size_t images = 0;
  const std::size_t programs = amount(80u, 150u, 1'000u);
  for (std::size_t compared = 0; compared < programs;) {
    const Deeds deeds = RandomDeeds(random, {}).deeds;
    const GuaranteesDefinition definition(deeds, GetParam(), kLines);
    if (definition.units() == 0 || definition.units() > 8) continue;
    Allowed allowed(deeds, GetParam());
    const WordImages expected = definition.images();
    ASSERT_TRUE(allowed.all() == expected) << written(deeds);
    ASSERT_TRUE(allowed.images.complete());
    ASSERT_EQ(allowed.shown, expected.size()) << "an image came twice: " << written(deeds);
    images += expected.size();
    ++compared;
  }
  EXPECT_GT(images, 2 * programs);
}

// Compares programs with more allowed images than the limit.
TEST_P(GuaranteeClasses, LikelyAndRandomImagesAreAllowed) {
  std::mt19937 random(2);
  const int programs = amount(12, 24, 100);
  for (int compared = 0; compared < programs;) {
    const Deeds deeds = RandomDeeds(random, {}).deeds;
    const WordImages all = Allowed(deeds, GetParam()).all();
    if (all.size() < 4) continue;
    Allowed some(deeds, GetParam(), all.size() - 1);
    const WordImages seen = some.all();
    EXPECT_TRUE(std::ranges::includes(all, seen)) << written(deeds);
    EXPECT_EQ(some.shown, seen.size());
    EXPECT_FALSE(some.images.complete());
    EXPECT_GE(some.images.possible(), static_cast<double>(all.size()));
    ++compared;
  }
}

// ---- The sequence -------------------------------------------------------------------------------

TEST(DesignImages, GoToRestoresEachImageByItsNumber) {
  const Deeds program = one_after_another({region(0, {store(0, kA)}),
                                           region(1, {store(1, kB)}),
                                           region(0, {store(0, kC)}),
                                           {store(1, kSecond)}});
  for (const std::uint64_t most : {5u, 100u}) {
    Allowed allowed(program, kAsap, most);
    std::vector<WordValues> shown;
    while (allowed.images.next()) shown.push_back(allowed.words());
    for (std::uint64_t number = shown.size(); number > 0; --number) {
      ASSERT_TRUE(allowed.images.go_to(number));
      EXPECT_EQ(allowed.words(), shown[number - 1]);
    }
    EXPECT_FALSE(allowed.images.go_to(shown.size() + 1));
  }
}

TEST(DesignImages, ChangedLinesDescribeEachImage) {
  const Deeds program = one_after_another({region(0, {store(0, kA)}),
                                           region(1, {store(1, kB)}),
                                           region(0, {store(0, kC)}),
                                           {store(1, kSecond)}});
  Allowed allowed(program, kAsap, 5);
  Image followed;
  while (allowed.images.next()) {
    for (const Line line : allowed.images.changed()) {
      followed.write(line, allowed.images.image().read(line));
    }
    for (std::uint64_t line = 0; line < kLines; ++line) {
      const Line number = Line::of(kPmBase + line * kLineBytes);
      EXPECT_EQ(followed.read(number), allowed.images.image().read(number));
    }
  }
}

TEST(DesignImages, CompleteAndEmptyImagesAreShownFirst) {
  Deeds program;
  for (std::uint32_t number = 0; number < 16; ++number) {
    program.push_back(store(0, number % 4 * kWordsOfLine, number + 1));
  }
  Allowed allowed(program, kX86, 4);
  std::vector<WordValues> shown;
  while (allowed.images.next()) shown.push_back(allowed.words());
  ASSERT_EQ(shown.size(), 4u);
  EXPECT_EQ(shown[0][0], 13u) << "all";
  EXPECT_EQ(shown[1][0], 0u) << "nothing";
}

// A lost store can be restored, and lost again.
TEST(DesignImages, LossesListWhatIsLostAndCanBeRestored) {
  const Deeds program = one_after_another({region(0, {store(0, kA)}),
                                           {deed(0, Act::kFenceRegions)},
                                           region(0, {store(0, kB)}),
                                           {store(0, kC)}});
  Allowed allowed(program, kAsap);
  std::set<std::size_t> losses;
  while (allowed.images.next()) {
    const WordValues before = allowed.words();
    const std::vector<std::uint64_t> lost = allowed.images.losses();
    losses.insert(lost.size());
    // Before the first region is there nothing after its fence has happened.
    EXPECT_EQ(lost.size(), before[kA] == 0 ? 1 : (before[kB] == 0) + (before[kC] == 0));
    allowed.images.restore_losses(lost, true);
    EXPECT_TRUE(allowed.images.losses().empty() == (before[kA] != 0 || lost.empty()));
    allowed.images.restore_losses(lost, false);
    EXPECT_EQ(allowed.words(), before);
  }
  EXPECT_EQ(losses, (std::set<std::size_t>{0, 1, 2}));
}

// Goes to the image that has these values there.
void go_to_image(Allowed& allowed, const std::vector<std::uint64_t>& words,
                 const std::vector<std::uint64_t>& values) {
  for (std::uint64_t number = 1; allowed.images.go_to(number); ++number) {
    const WordValues now = allowed.words();
    if (std::ranges::equal(words, values, {}, [&](std::uint64_t word) { return now[word]; }))
      return;
  }
}

TEST(DesignImages, RestoringALossRestoresWhatItFollows) {
  const Deeds program = one_after_another(
      {region(0, {store(0, kA)}), region(0, {store(0, kB)}), region(0, {store(0, kC)})});
  Allowed allowed(program, kAsap);
  go_to_image(allowed, {kA, kB, kC}, {0, 0, 0});
  const std::vector<std::uint64_t> lost = allowed.images.losses();
  ASSERT_EQ(lost.size(), 3u);
  allowed.images.restore_losses(std::span(lost).subspan(1, 1), true);
  EXPECT_EQ(allowed.words()[kA], 1u);
  EXPECT_EQ(allowed.words()[kB], 1u);
  EXPECT_EQ(allowed.words()[kC], 0u);
  allowed.images.restore_losses(std::span(lost).subspan(1, 1), false);
  EXPECT_EQ(allowed.words()[kA], 0u);
}

TEST(GroupValues, LastWriterDeterminesTheValueInAnyOrderOfCalls) {
  // A region doesn't follow the store outside regions that it has overwritten.
  const Deeds program = one_after_another({{store(0, kA, 1)}, region(0, {store(0, kA, 2)})});
  DeedRecorder recorder(program);
  const TemporaryTrace file(recorder.builder);
  const trace::TraceFile trace(file.path());
  const ProgramHistory history(trace, {},
                               {.promises = kAsap, .lines_whole = true, .after_guarantees = true});
  const GuaranteedOrder order(history);
  ASSERT_EQ(order.writers().size(), 2u);
  GroupValues values(trace, history, order);
  const auto value = [&] {
    return std::to_integer<int>(values.image().read(Line::of(kPmBase))[0]);
  };
  const GuaranteedOrder::Group store = order.group_of(0), region = order.group_of(1);
  values.set(region, true);
  values.set(store, true);
  EXPECT_EQ(value(), 2);
  values.set(region, false);
  EXPECT_EQ(value(), 1);
  values.set(store, false);
  EXPECT_EQ(value(), 0);
}

TEST(DesignImages, OmittedFenceAllowsMoreImages) {
  const Deeds program{store(0, kA), deed(0, Act::kOrder), store(0, kB), deed(0, Act::kDurable)};
  Allowed with(program, kEpochs);
  EXPECT_EQ(with.all().size(), 3u);
  using Operations = std::vector<std::vector<std::uint64_t>>;
  const Operations the_first_fence{{3}, {}};  // behind a store, and what says what it means
  Allowed without(program, kEpochs, ImageSearch::kMostSets,
                  std::make_shared<const Operations>(the_first_fence));
  EXPECT_EQ(without.all().size(), 4u);
  EXPECT_NE(with.images.fingerprint(), without.images.fingerprint());
}

TEST(DesignImages, CountHasAnUpperBoundForTooManyImages) {
  Deeds program;
  for (std::uint32_t line = 0; line < 3; ++line) {
    for (std::uint32_t number = 1; number <= 4; ++number) {
      program.push_back(store(0, line * kWordsOfLine, number));
    }
  }
  Allowed allowed(program, kX86, 10);
  EXPECT_EQ(allowed.images.possible(), 5 * 5 * 5);
  EXPECT_EQ(Allowed(program, kX86).all().size(), 5u * 5 * 5);
}

}  // namespace
}  // namespace pmemsim::guaranteed
