// Verdicts on all images, of which only some are shown.
#include "pmemsim/checks/images/checked_images.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <random>

#include "pmemsim/checks/images/whole_images.hpp"
#include "read_checker.hpp"

namespace pmemsim::litmus {
namespace {

constexpr std::uint64_t kManyPages = 40;
constexpr auto kAllOfThem = ImageSearch::kMostSets;

// A program that stores to a line in each of this number of pages and never flushes it.
Program open_pages(std::uint64_t pages) {
  Program program;
  for (std::uint64_t page = 0; page < pages; ++page) {
    program.push_back({0, Do::kStore, page * kOnePage, 1});
  }
  return program;
}

struct Judged {
  std::uint64_t rejected, made, shown;
  std::size_t watched;
  bool complete;
  double possible;
  bool operator==(const Judged&) const = default;
};

Judged checked(const Program& program, std::uint64_t most, const Check& check, std::size_t late = 0,
               bool watch = true) {
  Recorder recorder(program, 2);
  const TemporaryTrace file(recorder.trace());
  const trace::TraceFile trace(file.path());
  WholeImages images(trace, PersistencyRules::kPx86, 1, most);
  CheckedImages checked(images, most, watch ? first_image(trace) : nullptr);
  LateChecker checker(check, late);
  const std::uint64_t rejected = checked.check_image(checker, [] { return true; });
  if (rejected != 0) {
    Reader reader(images.image());
    EXPECT_FALSE(check(reader)) << "they haven't come to the rejected image";
  }
  return {rejected,
          images.number(),
          checked.shown(),
          rejected != 0 ? 0 : checker.was_watched,
          images.images().search().complete(),
          images.images().search().possible()};
}

bool reads_two(Reader& reader) { return reader.word(3) + reader.word(30) < 10; }
// Each page's contents say whether the checker reads the next page.
bool reads_a_list(Reader& reader) {
  std::uint64_t page = 0;
  while (page < kManyPages && reader.word(page) != 0) ++page;
  return true;
}

TEST(CheckedImages, UnreadLinesDoNotMultiplyTheImages) {
  const Judged all = checked(open_pages(kManyPages), kAllOfThem, reads_two);
  EXPECT_EQ(all, (Judged{0, 4, 4, 4, true, 1099511627776.0}));
  // 40 pages of which none, one, two, ... are read before one is found empty; and all of them.
  const Judged list = checked(open_pages(kManyPages), kAllOfThem, reads_a_list);
  EXPECT_EQ(list.shown, kManyPages + 1);
  EXPECT_TRUE(list.complete);
}

TEST(CheckedImages, FewImagesAreBuiltOneByOneButNotAllChecked) {
  const Judged all =
      checked(open_pages(10), 1024, [](Reader& reader) { return reader.word(3) < 2; });
  EXPECT_EQ(all.made, 1024);
  EXPECT_TRUE(all.complete);
  EXPECT_EQ(all.possible, 1024);
  EXPECT_LT(all.shown, 12);  // two, and those that came before what these read was taken over
}

TEST(CheckedImages, RestOfTheBudgetIsSpentOnLinesThatAreRead) {
  const Judged found = checked(open_pages(kManyPages), 200, reads_two);
  EXPECT_EQ(found.rejected, 0);
  EXPECT_TRUE(found.complete);
  EXPECT_LT(found.shown, 20);
  // A checker that follows a list of pages needs more images than the limit allows.
  const Judged list = checked(open_pages(kManyPages), 30, reads_a_list);
  EXPECT_FALSE(list.complete);
  EXPECT_LE(list.shown, 30);
}

TEST(CheckedImages, UnlimitedSearchEndsWhenAllImagesAreKnown) {
  const Judged found = checked(open_pages(kManyPages), ImageSearch::kNoEnd, reads_two);
  EXPECT_EQ(found.rejected, 0);
  EXPECT_TRUE(found.complete);
  EXPECT_LT(found.shown, 20);
}

TEST(CheckedImages, CheckerWhoseReadsAreUnknownSeesAllImages) {
  const Judged all = checked(open_pages(8), 256, reads_two, 0, false);
  EXPECT_EQ(all, (Judged{0, 256, 256, 0, true, 256}));
  EXPECT_FALSE(checked(open_pages(kManyPages), 300, reads_two, 0, false).complete);
}

TEST(CheckedImages, RareRejectedImageIsFound) {
  // Only one of 2^40 images is rejected.
  const auto picky = [](Reader& reader) {
    for (const std::uint64_t page : {7, 9, 11, 30}) {
      if (reader.word(page) != (page == 9 ? 1 : 0)) return true;
    }
    return reader.word(2) == 0;
  };
  const Judged found = checked(open_pages(kManyPages), kAllOfThem, picky);
  EXPECT_NE(found.rejected, 0);
  EXPECT_EQ(found.made, found.rejected);
  EXPECT_FALSE(found.complete);
}

TEST(CheckedImages, ResultDoesNotDependOnTheSpeedOfCheckers) {
  for (const std::uint64_t seed : {1, 2, 3, 4, 5, 6}) {
    for (const std::uint64_t most : {std::uint64_t{500}, kAllOfThem}) {
      const Check check = wandering(seed, 20, seed < 4 ? 1'000'000'007 : 30);
      const Judged once = checked(open_pages(20), most, check);
      EXPECT_EQ(once, checked(open_pages(20), most, check, 1));
      EXPECT_EQ(once, checked(open_pages(20), most, check, 7));
    }
  }
}

TEST(CheckedImages, CheckerThatReadsEverythingIsRarelyWatched) {
  const Judged all = checked(open_pages(kManyPages), 5000, [](Reader& reader) {
    for (std::uint64_t page = 0; page < kManyPages; ++page) reader.word(page);
    return true;
  });
  EXPECT_EQ(all.shown, 5000);
  // 16 after none, 256, 1024 and 4096 (less what was shown before).
  EXPECT_EQ(all.watched, 48);
}

TEST(CheckedImages, CheckerWithUnrepeatableReadsLeavesTheSearchIncomplete) {
  int calls = 0;
  const auto fickle = [&](Reader& reader) {
    reader.word(static_cast<std::uint64_t>(++calls));
    return true;
  };
  const Judged found = checked(open_pages(kManyPages), kAllOfThem, fickle);
  EXPECT_EQ(found.rejected, 0);
  EXPECT_FALSE(found.complete);
}

TEST(CheckedImages, ImagesAreBuiltOneByOneIfReadsAreUnknown) {
  constexpr std::uint64_t kPages = 17;
  Recorder recorder(open_pages(kPages), 2);
  const TemporaryTrace file(recorder.trace());
  const trace::TraceFile trace(file.path());
  for (const bool rejects : {false, true}) {
    WholeImages images(trace, PersistencyRules::kPx86, 1, kAllOfThem);
    CheckedImages checked(images, kAllOfThem, first_image(trace));
    LateChecker checker(
        [&](Reader& reader) { return !rejects || reader.word(3) != 0 || reader.word(5) == 0; });
    checker.tells = false;
    const std::uint64_t rejected = checked.check_image(checker, [] { return true; });
    EXPECT_EQ(rejected != 0, rejects);
    EXPECT_EQ(images.images().search().complete(), !rejects);
    if (rejects) {
      EXPECT_EQ(images.number(), rejected);
      Reader reader(images.image());
      EXPECT_TRUE(reader.word(3) == 0 && reader.word(5) != 0);
    } else {
      EXPECT_EQ(checked.shown(), 1 + (1 << kPages));
      EXPECT_EQ(images.images().search().possible(), 1 << kPages);
    }
  }
}

TEST(CheckedImages, EarlierImageCanBeRestored) {
  Recorder recorder(open_pages(kManyPages), 2);
  const TemporaryTrace file(recorder.trace());
  const trace::TraceFile trace(file.path());
  WholeImages images(trace, PersistencyRules::kPx86, 1, kAllOfThem);
  std::vector<std::uint64_t> lost;
  for (const std::uint64_t upto : {1, 2, 3, 4}) {
    CheckedImages checked(images, kAllOfThem, first_image(trace));
    LateChecker checker(reads_two);
    EXPECT_EQ(checked.check_image(checker, [] { return true; }, upto), 0);
    EXPECT_EQ(images.number(), upto);
    lost.push_back(images.lost_lines().size());
  }
  EXPECT_EQ(lost, (std::vector<std::uint64_t>{0, 1, 1, 2}));
  ASSERT_TRUE(images.go_to(2));
  EXPECT_EQ(images.lost_lines(), std::vector{line_in_page(3)});
  EXPECT_EQ(images.image().read(line_in_page(3)), LineData{});
  EXPECT_NE(images.image().read(line_in_page(30)), LineData{});
}

TEST(Watching, PausesIfTooFewImagesAreSpared) {
  Watching watching;
  const auto show = [&](std::uint64_t count, std::uint64_t spared_of_two = 0) {
    for (std::uint64_t i = 0; i < count; ++i) {
      if (i % 2 < spared_of_two) watching.spared();
      watching.shown();
    }
  };
  EXPECT_TRUE(watching.on());
  show(Watching::kTrial, 1);
  EXPECT_TRUE(watching.on()) << "half as many were spared";
  show(Watching::kTrial - 1);
  EXPECT_TRUE(watching.on());
  show(1);
  EXPECT_FALSE(watching.on());
  show(Watching::kFirstPause - 1);
  EXPECT_FALSE(watching.on());
  show(1);
  EXPECT_TRUE(watching.on()) << "it is tried again";
  show(Watching::kTrial);
  show(Watching::kFirstPause * Watching::kLonger - 1);
  EXPECT_FALSE(watching.on()) << "later";
  show(1);
  EXPECT_TRUE(watching.on());
}

}  // namespace
}  // namespace pmemsim::litmus
