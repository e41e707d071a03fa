// Images that need not be shown, because the reads of other images determine their verdicts.
#include "pmemsim/checks/images/verdict_tree.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <map>
#include <memory>
#include <random>
#include <utility>

#include "pmemsim/checks/images/explored_images.hpp"
#include "read_checker.hpp"

namespace pmemsim::litmus {
namespace {

// An image that holds a number in each of the first pages, 0 at first.
class Pages {
 public:
  Pages(std::initializer_list<std::uint64_t> words) {
    std::uint64_t page = 0;
    for (const std::uint64_t word : words) write(page++, word);
  }
  void write(std::uint64_t page, std::uint64_t word) {
    LineData data{};
    std::memcpy(data.data(), &word, sizeof(word));
    hashes_.write(line_in_page(page), data);
  }
  const ContentHashes& hashes() const { return hashes_; }
  // Returns the run of a checker that has read these pages, in this order.
  VerdictTree::Run run(std::initializer_list<std::uint64_t> pages, bool accepted = true) const {
    VerdictTree::Run run{{}, accepted};
    for (const std::uint64_t page : pages) {
      run.reads.push_back({page_of(page), hashes_.of(page_of(page))});
    }
    return run;
  }

 private:
  ContentHashes hashes_{std::make_shared<const Image>(), kOnePage};
};

bool knows(const VerdictTree& tree, std::initializer_list<std::uint64_t> words) {
  return tree.find(Pages(words).hashes()) != nullptr;
}

TEST(ContentHashes, HashesAreEqualForEqualContents) {
  Pages pages{1, 2, 3};
  const ContentHashes& hashes = pages.hashes();
  EXPECT_NE(hashes.of(page_of(0)), 0);
  EXPECT_EQ(hashes.of(page_of(3)), 0) << "never written";
  const ContentHashes::Snapshot then = hashes.now();
  pages.write(0, 2);
  EXPECT_NE(hashes.of(page_of(0)), hashes.of(page_of(0), then));
  EXPECT_NE(hashes.of(page_of(0)), hashes.of(page_of(1))) << "the same in another page";
  EXPECT_EQ(hashes.of(page_of(0)), Pages({2}).hashes().of(page_of(0)));
  pages.write(0, 0);
  EXPECT_EQ(hashes.of(page_of(0)), 0) << "as at first";
  pages.write(5, 1);
  EXPECT_EQ(hashes.of(page_of(5), then), 0) << "not written then";
}

TEST(ContentHashes, HashDependsOnTheLineWithinTheUnit) {
  LineData data{};
  data[0] = std::byte{1};
  const auto hash = [&](std::uint64_t line) {
    ContentHashes hashes(std::make_shared<const Image>(), kOnePage);
    hashes.write(Line{line_in_page(0).number + line}, data);
    return hashes.of(page_of(0));
  };
  EXPECT_NE(hash(0), hash(1));
}

TEST(VerdictTree, EmptyTreeKnowsNoVerdict) { EXPECT_FALSE(knows(VerdictTree(), {})); }

TEST(VerdictTree, ImageWithTheSameReadDataHasTheSameVerdict) {
  VerdictTree tree;
  tree.add(Pages{1, 2, 3}.run({0, 2}));
  EXPECT_TRUE(knows(tree, {1, 2, 3}));
  EXPECT_TRUE(knows(tree, {1, 7, 3, 4}));
  EXPECT_FALSE(knows(tree, {0, 2, 3}));
  EXPECT_FALSE(knows(tree, {1, 2, 0}));
}

TEST(VerdictTree, RunWithoutReadsGivesItsVerdictToAllImages) {
  VerdictTree tree;
  tree.add({{}, true});
  EXPECT_TRUE(knows(tree, {}));
  EXPECT_TRUE(knows(tree, {1, 2}));
}

TEST(VerdictTree, RunsAreDistinguishedByTheirFirstReads) {
  VerdictTree tree;
  // Page 0 says which page is read next.
  tree.add(Pages{1, 5, 6}.run({0, 1}));
  tree.add(Pages{2, 5, 6}.run({0, 2}, false));
  tree.add(Pages{1, 8, 6}.run({0, 1}, false));
  EXPECT_EQ(tree.runs(), 3);
  const auto verdict = [&](std::initializer_list<std::uint64_t> words) {
    const VerdictTree::Run* run = tree.find(Pages(words).hashes());
    return run == nullptr ? -1 : static_cast<int>(run->accepted);
  };
  EXPECT_EQ(verdict({1, 5, 9}), 1);
  EXPECT_EQ(verdict({1, 8, 9}), 0);
  EXPECT_EQ(verdict({2, 9, 6}), 0);
  EXPECT_EQ(verdict({2, 5, 9}), -1);
  EXPECT_EQ(verdict({1, 9, 6}), -1);
  EXPECT_EQ(verdict({3, 5, 6}), -1);
}

// The checker reads page 1 first; its contents say whether page 0 or page 2 is next. Reads in
// ascending order don't show this.
TEST(VerdictTree, RunsAreDistinguishedWithoutTheOrderOfReads) {
  VerdictTree tree;
  tree.add(Pages{4, 1, 6}.run({0, 1}));
  tree.add(Pages{5, 1, 6}.run({0, 1}));  // distinguished by page 0
  tree.add(Pages{4, 2, 6}.run({1, 2}));  // which this one hasn't read
  EXPECT_EQ(tree.runs(), 3);
  EXPECT_TRUE(knows(tree, {4, 1, 9}));
  EXPECT_TRUE(knows(tree, {5, 1, 9}));
  EXPECT_TRUE(knows(tree, {9, 2, 6}));
  EXPECT_FALSE(knows(tree, {9, 1, 6}));
  EXPECT_FALSE(knows(tree, {4, 2, 9}));
}

TEST(VerdictTree, NewestOfContradictoryRunsIsForgotten) {
  VerdictTree tree;
  tree.add(Pages{1, 2}.run({0}));
  tree.add(Pages{1, 2}.run({0, 1}, false));
  tree.add(Pages{1, 2}.run({1}, false));
  EXPECT_EQ(tree.runs(), 1);
  EXPECT_TRUE(tree.find(Pages({1, 5}).hashes())->accepted);
  EXPECT_FALSE(knows(tree, {3, 2}));
}

TEST(VerdictTree, RunBeyondTheLimitOfReadsIsNotKept) {
  VerdictTree tree(3);
  tree.add(Pages{1, 2}.run({0, 1}));
  tree.add(Pages{2, 2}.run({0, 1}));
  tree.add(Pages{3}.run({0}));
  EXPECT_EQ(tree.runs(), 2);
  EXPECT_FALSE(knows(tree, {2, 2}));
  EXPECT_TRUE(knows(tree, {3}));
}

// ---- Random programs and checkers --------------------------------------------------------------

constexpr std::uint64_t kReadLines = 4;

Program random_program(std::mt19937_64& random) {
  const auto below = [&](std::uint64_t end) { return random() % end; };
  Program program;
  for (std::uint64_t steps = 4 + below(12); steps > 0; --steps) {
    static constexpr Do kSteps[]{Do::kStore,   Do::kStore, Do::kStore,  Do::kNonTemporal,
                                 Do::kClflush, Do::kClwb,  Do::kSfence, Do::kSfence};
    const Do what = kSteps[below(std::size(kSteps))];
    const std::uint64_t at = below(kReadLines) * kLineBytes + below(2) * 8;
    program.push_back({static_cast<std::uint32_t>(below(2)), what, at, 1 + below(2)});
  }
  return program;
}

Image image_of(const Bytes& bytes) {
  Image image;
  for (std::uint64_t line = 0; line < kReadLines; ++line) {
    LineData data;
    std::memcpy(data.data(), bytes.data() + line * kLineBytes, kLineBytes);
    image.write(line_in_page(line), data);
  }
  return image;
}
ContentHashes hashes_of(const Image& image) {
  ContentHashes hashes(std::make_shared<const Image>(), kOnePage);
  for (std::uint64_t line = 0; line < kReadLines; ++line) {
    hashes.write(line_in_page(line), image.read(line_in_page(line)));
  }
  return hashes;
}
// Its pages in the order in which it read them, or in ascending order.
VerdictTree::Run run_of(const Check& check, const Image& image, bool ordered) {
  Reader reader(image);
  VerdictTree::Run run{{}, check(reader)};
  const ContentHashes hashes = hashes_of(image);
  for (const std::uint64_t page : reader.pages()) run.reads.push_back({page, hashes.of(page)});
  if (!ordered) std::ranges::sort(run.reads, {}, &VerdictTree::Read::unit);
  return run;
}
bool is_accepted(const Check& check, const Image& image) {
  Reader reader(image);
  return check(reader);
}

class RandomReads : public testing::TestWithParam<std::uint64_t> {
 protected:
  std::mt19937_64 random_{GetParam()};
  const Program program_ = random_program(random_);
  const Images images_ = Definition(program_, PersistencyRules::kPx86, kReadLines).images();
  const Check check_ = wandering(GetParam(), kReadLines, 3);
  const bool ordered_ = GetParam() % 2 == 0;
};

TEST_P(RandomReads, EachKnownVerdictIsThatOfTheChecker) {
  VerdictTree tree;
  std::vector<Bytes> order(images_.begin(), images_.end());
  std::ranges::shuffle(order, random_);
  std::size_t shown = 0;
  for (const Bytes& bytes : order) {
    const Image image = image_of(bytes);
    if (const VerdictTree::Run* run = tree.find(hashes_of(image))) {
      EXPECT_EQ(run->accepted, is_accepted(check_, image));
      continue;
    }
    tree.add(run_of(check_, image, ordered_));
    ++shown;
    EXPECT_EQ(tree.runs(), shown);
    EXPECT_NE(tree.find(hashes_of(image)), nullptr);
  }
}

TEST_P(RandomReads, ExplorationOfAllInstantsFindsEveryVerdict) {
  Recorder recorder(spread(program_), 2);
  const TemporaryTrace file(recorder.trace());
  const trace::TraceFile trace(file.path());
  PersistencyModel model(trace, PersistencyRules::kPx86);
  ExploredImages explored(std::make_shared<const Image>(), kOnePage);
  VerdictTree tree;
  while (model.next()) {
    explored.next_instant(model);
    for (;;) {
      const auto missing = explored.missing(tree, 1 + GetParam() % 3, [] { return true; });
      ASSERT_TRUE(missing.has_value());
      if (missing->empty()) break;
      const std::size_t runs = tree.runs();
      for (const ExploredImages::Fixed& fixed : *missing) {
        Image image;
        for (std::uint64_t number = 0; number < kReadLines; ++number) {
          const Line line = line_in_page(number);
          LineData data = model.base().read(line);
          if (const auto open = model.open().find(line.number); open != model.open().end()) {
            Presence present(open->second.size(), true);
            for (const auto& [other, segments] : fixed) {
              if (other == line) present = segments;
            }
            data = contents_of(data, open->second, [&](std::size_t i) { return present[i]; });
          }
          image.write(line, data);
        }
        tree.add(run_of(check_, image, ordered_));
      }
      ASSERT_GT(tree.runs(), runs);
    }
  }
  for (const Bytes& bytes : images_) {
    const Image image = image_of(bytes);
    const VerdictTree::Run* run = tree.find(hashes_of(image));
    ASSERT_NE(run, nullptr);
    EXPECT_EQ(run->accepted, is_accepted(check_, image));
  }
  EXPECT_LE(tree.runs(), images_.size());
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomReads, testing::Range<std::uint64_t>(0, 200));

}  // namespace
}  // namespace pmemsim::litmus
