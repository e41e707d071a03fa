// The images that a crash may leave: the requested number of them, with likely bugs first.
#include "pmemsim/checks/images/allowed_images.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "litmus_program.hpp"
#include "pmemsim/checks/images/image_explanation.hpp"

namespace pmemsim::litmus {
namespace {

constexpr std::size_t kShownLines = 24;

// Builds each image from the reported changes only, as an observer does.
class ShownImages {
 public:
  ShownImages(const Program& program, std::uint64_t most, std::uint64_t seed = 1,
              PersistencyRules rules = PersistencyRules::kPx86)
      : recorder_(program, 2),
        file_(recorder_.trace()),
        trace_(file_.path()),
        images_(trace_, rules, seed, most) {}

  std::optional<Bytes> next() {
    if (!images_.next()) return std::nullopt;
    if (images_.base_is_another()) {
      for (std::size_t line = 0; line < kShownLines; ++line)
        take(Line::of(kPmBase + line * kLineBytes));
    }
    for (const Line line : images_.base_changes()) take(line);
    Bytes image = base_;
    for (const auto& [line, data] : images_.changes()) put(image, line, data);
    return image;
  }
  std::vector<Bytes> all() {
    std::vector<Bytes> shown;
    while (auto image = next()) shown.push_back(*image);
    return shown;
  }
  AllowedImages& images() { return images_; }

 private:
  void take(Line line) { put(base_, line, images_.base().read(line)); }
  static void put(Bytes& image, Line line, const LineData& data) {
    std::memcpy(image.data() + (line.address() - kPmBase), data.data(), kLineBytes);
  }

  Recorder recorder_;
  TemporaryTrace file_;
  trace::TraceFile trace_;
  AllowedImages images_;
  Bytes base_ = Bytes(kShownLines * kLineBytes);
};

Images distinct(const std::vector<Bytes>& shown) { return {shown.begin(), shown.end()}; }

// A program of `lines` lines that are stored to and never flushed; it has 2^lines images.
Program open_lines(std::uint64_t lines) {
  Program program;
  for (std::uint64_t line = 0; line < lines; ++line)
    program.push_back({0, Do::kStore, line * 64, 1});
  return program;
}
Bytes with_lines(std::initializer_list<std::size_t> lines) {
  Bytes image(kShownLines * kLineBytes);
  for (const std::size_t line : lines) image[line * 64] = 1;
  return image;
}
Bytes with_all_lines_but(std::optional<std::size_t> missing) {
  Bytes image(kShownLines * kLineBytes);
  for (std::size_t line = 0; line < kShownLines; ++line) image[line * 64] = line == missing ? 0 : 1;
  return image;
}

TEST(AllowedImages, AllImagesAreShownWithinTheLimit) {
  const Program program{{0, Do::kStore, 0, 1},      {0, Do::kStore, 64, 1},  {0, Do::kClwb, 0},
                        {0, Do::kSfence},           {1, Do::kStore, 128, 1}, {0, Do::kStore, 72, 1},
                        {1, Do::kNonTemporal, 8, 1}};
  const Definition definition(program, PersistencyRules::kPx86, kShownLines);
  for (const std::uint64_t most : {std::uint64_t{100}, ImageSearch::kNoEnd}) {
    ShownImages shown(program, most);
    const std::vector<Bytes> all = shown.all();
    EXPECT_EQ(distinct(all), definition.images());
    EXPECT_EQ(distinct(all).size(), all.size());
    EXPECT_TRUE(shown.images().search().complete());
    EXPECT_EQ(shown.images().search().possible(), all.size());
  }
}

TEST(AllowedImages, TheSameLineOnAnotherBaseIsAnotherImage) {
  Program program;
  for (const Step& store : {Step{0, Do::kStore, 0, 5}, Step{0, Do::kStore, 0, 0},
                            Step{0, Do::kStore, 64, 1}, Step{0, Do::kStore, 0, 5}}) {
    program.insert(program.end(), {store, {0, Do::kClwb, store.at}, {0, Do::kSfence}});
  }
  const Definition definition(program, PersistencyRules::kPx86, kShownLines);
  EXPECT_EQ(distinct(ShownImages(program, 100).all()), definition.images());
}

TEST(AllowedImages, SearchIsCompleteIfTheLimitEqualsTheCount) {
  ShownImages shown(open_lines(3), 8);
  EXPECT_EQ(shown.all().size(), 8);
  EXPECT_TRUE(shown.images().search().complete());
  ShownImages fewer(open_lines(3), 7);
  EXPECT_EQ(fewer.all().size(), 7);
  EXPECT_FALSE(fewer.images().search().complete());
  EXPECT_EQ(fewer.images().search().possible(), 8);
}

TEST(AllowedImages, UncountablyManyImagesAreShownUpToTheLimit) {
  Program program;
  for (std::uint64_t word = 16; word < kShownLines * 8; ++word) {
    for (std::uint64_t value = 1; value < 9; ++value) {
      program.push_back({1, Do::kNonTemporal, word * 8, value});
    }
  }
  program.insert(
      program.end(),
      {{0, Do::kStore, 0, 1}, {0, Do::kClwb, 0}, {0, Do::kSfence}, {0, Do::kStore, 64, 1}});
  ShownImages shown(program, 100);
  EXPECT_EQ(shown.images().search().possible(), std::numeric_limits<double>::infinity());
  EXPECT_EQ(shown.all().size(), 100);
}

TEST(AllowedImages, LimitJustBelowTheCountIsReached) {
  for (const std::uint64_t most : {900, 1000, 1023}) {
    EXPECT_EQ(ShownImages(open_lines(10), most).all().size(), most);
  }
}

TEST(AllowedImages, LikelyBugsAreShownFirst) {
  ShownImages shown(open_lines(kShownLines), 500);
  EXPECT_EQ(shown.images().search().possible(), 1 << kShownLines);
  EXPECT_EQ(shown.next(), with_all_lines_but(std::nullopt));
  EXPECT_EQ(shown.next(), with_lines({}));
  Images next;
  for (std::size_t i = 0; i < 2 * kShownLines; ++i) next.insert(*shown.next());
  for (std::size_t line = 0; line < kShownLines; ++line) {
    EXPECT_TRUE(next.contains(with_lines({line})));
    EXPECT_TRUE(next.contains(with_all_lines_but(line)));
  }
  const std::vector<Bytes> random = shown.all();
  EXPECT_EQ(random.size(), 500 - 2 - 2 * kShownLines);
  EXPECT_EQ(distinct(random).size(), random.size());
}

TEST(AllowedImages, LineIsTornWithAllOtherLinesPresentAndAbsent) {
  Program program = open_lines(kShownLines);
  program.push_back({0, Do::kStore, 8, 1});
  ShownImages shown(program, 200);
  const Images images = distinct(shown.all());
  EXPECT_TRUE(images.contains(with_all_lines_but(std::nullopt)));  // without the last word
  EXPECT_TRUE(images.contains(with_lines({0})));
}

// The first line has two stores, and is lost as a whole while all other lines persist.
TEST(AllowedImages, LineOfTwoStoresIsMissingAlone) {
  Program program = open_lines(kShownLines);
  program.push_back({0, Do::kStore, 8, 1});
  ShownImages shown(program, 200);
  EXPECT_TRUE(distinct(shown.all()).contains(with_all_lines_but(0)));
}

TEST(AllowedImages, EachWordOfACopyIsMissingInOneImage) {
  Program program = open_lines(kShownLines - 1);
  program.push_back({0, Do::kCopy, (kShownLines - 1) * 64, 1, 32});
  ShownImages shown(program, 200);
  const Images images = distinct(shown.all());
  for (const std::size_t missing : {0, 8, 16, 24}) {
    Bytes image = with_all_lines_but(std::nullopt);
    for (const std::size_t word : {0, 8, 16, 24}) {
      image[(kShownLines - 1) * 64 + word] = word != missing ? 1 : 0;
    }
    EXPECT_TRUE(images.contains(image)) << missing;
  }
}

TEST(AllowedImages, NonTemporalWordIsMissingAlone) {
  Program program = open_lines(kShownLines);
  program.push_back({0, Do::kNonTemporal, 8, 1});
  program.push_back({0, Do::kNonTemporal, 16, 1});
  ShownImages shown(program, 200);
  Bytes image = with_all_lines_but(std::nullopt);
  image[16] = 1;
  EXPECT_TRUE(distinct(shown.all()).contains(image));
}

// Rare code is in the first round, even if other code is executed much more often.
TEST(AllowedImages, RareCodeIsShownAsEarlyAsLoops) {
  Program program;
  for (std::uint64_t round = 1; round < 200; ++round) {
    program.insert(program.end(), {{0, Do::kStore, 0, round}, {0, Do::kStore, 64, round}});
    if (round == 111) program.push_back({0, Do::kStore, 128, 7, 4});
    program.insert(program.end(), {{0, Do::kClwb, 0}, {0, Do::kClwb, 64}, {0, Do::kSfence}});
    if (round == 111) program.insert(program.end(), {{0, Do::kClwb, 128}, {0, Do::kMfence}});
  }
  ShownImages shown(program, 40);
  const Images images = distinct(shown.all());
  EXPECT_GT(shown.images().search().possible(), 500);
  EXPECT_TRUE(std::ranges::any_of(images, [](const Bytes& image) {
    return image[0] == 110 && image[64] == 110 && image[128] == 7;
  }));
}

TEST(AllowedImages, LoopIterationsAreSampledEvenly) {
  Program program;
  for (std::uint64_t round = 1; round <= 250; ++round) {
    program.insert(program.end(), {{0, Do::kStore, 0, round},
                                   {0, Do::kStore, 64, round},
                                   {0, Do::kClwb, 0},
                                   {0, Do::kClwb, 64},
                                   {0, Do::kSfence}});
  }
  std::vector<std::uint8_t> met;
  for (const Bytes& image : ShownImages(program, 60).all()) met.push_back(image[0]);
  // Likely images, which come before the random ones, include late iterations, too.
  EXPECT_GT(std::ranges::max(std::span(met).first(30)), 200);
  std::ranges::sort(met);
  EXPECT_LT(met.front(), 40);
  EXPECT_GT(met.back(), 210);
  for (std::size_t i = 1; i < met.size(); ++i) EXPECT_LT(met[i] - met[i - 1], 80);
}

TEST(AllowedImages, FingerprintDependsOnlyOnTheSetOfImages) {
  const auto fingerprint = [](const Program& program) {
    ShownImages shown(program, ImageSearch::kNoEnd);
    shown.all();
    return shown.images().search().fingerprint();
  };
  const Step x{0, Do::kStore, 0, 1}, y{0, Do::kStore, 64, 1}, fence{0, Do::kSfence};
  EXPECT_EQ(fingerprint({x, y}), fingerprint({y, x})) << "the same images in another order";
  EXPECT_EQ(fingerprint({x, y}), fingerprint({x, fence, y})) << "the fence orders nothing";
  const Step flush{0, Do::kClwb, 0};
  EXPECT_NE(fingerprint({x, y}), fingerprint({x, flush, fence, y}));
}

TEST(AllowedImages, EqualSeedsGiveEqualImages) {
  const Program program = open_lines(kShownLines);
  const std::vector<Bytes> once = ShownImages(program, 300, 5).all();
  EXPECT_EQ(once, ShownImages(program, 300, 5).all());
  EXPECT_NE(once, ShownImages(program, 300, 6).all());
  // A longer sequence of images begins with the shorter one.
  std::vector<Bytes> more = ShownImages(program, 400, 5).all();
  more.resize(300);
  EXPECT_EQ(once, more);
}

TEST(AllowedImages, RandomImagesAreAllowed) {
  Program program;
  for (std::uint64_t line = 0; line < 4; ++line) {
    program.insert(program.end(), {{0, Do::kStore, line * 64, 1},
                                   {1, Do::kStore, line * 64 + 8, 1},
                                   {0, line == 2 ? Do::kClflush : Do::kClwb, line * 64},
                                   {1, Do::kNonTemporal, line * 64 + 16, 1},
                                   {1, Do::kStore, line * 64 + 24, 1}});
  }
  program.push_back({0, Do::kSfence});
  program.push_back({0, Do::kCopy, 256, 0x0101010101010101, 16});
  const Definition definition(program, PersistencyRules::kPx86, kShownLines);
  const Images allowed = definition.images();
  const std::vector<Bytes> shown = ShownImages(program, 1000).all();
  EXPECT_EQ(shown.size(), 1000);
  EXPECT_LT(shown.size(), allowed.size());
  for (const Bytes& image : shown) EXPECT_TRUE(allowed.contains(image));
}

TEST(AllowedImages, LostLinesCanBeRestoredOneByOne) {
  ShownImages shown(open_lines(kShownLines), 100);
  shown.next();
  EXPECT_TRUE(shown.images().lost_lines().empty());
  ASSERT_EQ(shown.next(), with_lines({}));
  AllowedImages& images = shown.images();
  std::vector<Line> lost = images.lost_lines();
  ASSERT_EQ(lost.size(), kShownLines);
  EXPECT_EQ(lost.front().address(), kPmBase);
  images.restore_losses(lost[3], true);
  EXPECT_EQ(images.contents(lost[3]).front(), std::byte{1});
  EXPECT_EQ(images.lost_lines().size(), kShownLines - 1);
  EXPECT_EQ(images.present(lost[3], images.model().open().at(lost[3].number)), Presence{true});
  images.restore_losses(lost[3], false);
  EXPECT_EQ(images.contents(lost[3]).front(), std::byte{0});
  // The next image, in which one line alone is missing, isn't affected by restored stores.
  images.restore_losses(lost.front(), true);
  shown.next();
  EXPECT_EQ(images.lost_lines(), std::vector{lost.front()});
}

TEST(AllowedImages, PresentStoresOfAnImageAreReported) {
  ShownImages shown({{0, Do::kStore, 0, 1}, {0, Do::kStore, 64, 1}}, 10);
  while (const auto image = shown.next()) {
    for (const auto& [line, segments] : shown.images().model().open()) {
      const Presence there = shown.images().present({line}, segments);
      EXPECT_EQ(there, Presence{(*image)[line * 64 - kPmBase] == 1});
    }
  }
}

// A source without likely sets, whose random passes draw the listed images.
class ListedDraws final : public ImageSource {
 public:
  explicit ListedDraws(std::vector<std::vector<std::uint64_t>> passes)
      : passes_(std::move(passes)) {}
  void begin(Pass pass, std::uint64_t) override {
    left_.clear();
    if (pass == Pass::kRandom && passed_ < passes_.size()) left_ = passes_[passed_++];
  }
  bool has_another_likely_round() const override { return false; }
  bool next_set() override {
    if (left_.empty()) return false;
    hash_ = left_.back();
    left_.pop_back();
    return true;
  }
  std::uint64_t hash() const override { return hash_; }

 private:
  const std::vector<std::vector<std::uint64_t>> passes_;
  std::vector<std::uint64_t> left_;
  std::size_t passed_ = 0;
  std::uint64_t hash_ = 0;
};

// Rule 2 of image_search.hpp: a round with a new image restarts the count.
TEST(ImageSearch, SearchEndsAfterThreeRoundsInVainInARow) {
  ListedDraws source({{1}, {1}, {1}, {2}, {1}, {3}, {}, {}, {}, {4}});
  ImageSearch search(source, 1e9, 1, 100);
  while (search.next()) {
  }
  EXPECT_EQ(search.shown(), 3);
}

TEST(ImageExplanation, NamesTheCallerOfSystemHeaders) {
  trace::TraceBuilder builder;
  builder.pm_region(kPmBase, kPmBase + 4096);
  const std::uint32_t store = builder.site(trace::SiteKind::kStore, 8, 1, {}, {}, 0, 0,
                                           {"/usr/include/c++/atomic", "store", 500});
  const std::uint32_t in_header = builder.inlined_call({"mine.c", "publish", 12});
  builder.inlined(store, builder.inlined_call({"/usr/include/c++/atomic", "=", 400}, in_header));
  builder.store(store, kPmBase, 1);
  const TemporaryTrace file(builder);
  const trace::TraceFile trace(file.path());
  AllowedImages images(trace, PersistencyRules::kPx86, 1, 100);
  std::string stories;
  while (images.next()) {
    for (const std::string& line : explain_image(trace, images, {})) stories += line + "\n";
  }
  EXPECT_NE(stories.find("mine.c:12"), std::string::npos) << stories;
  EXPECT_EQ(stories.find("/usr/"), std::string::npos) << stories;
}

TEST(ImageExplanation, NamesTheCallersOfHelpers) {
  trace::TraceBuilder builder;
  builder.pm_region(kPmBase, kPmBase + 4096);
  const auto at = [&](trace::SiteKind kind, std::uint8_t size, std::uint8_t detail,
                      const char* function, std::uint32_t line) {
    return builder.site(kind, size, 1, {}, {}, detail, 0, {"mine.c", function, line});
  };
  const auto clwb = static_cast<std::uint8_t>(trace::FlushKind::kClwb);
  const auto sfence = static_cast<std::uint8_t>(trace::FenceKind::kSfence);
  const std::uint32_t store = at(trace::SiteKind::kStore, 8, 0, "work", 9),
                      first = at(trace::SiteKind::kExecute, 0, 0, "work", 10),
                      second = at(trace::SiteKind::kExecute, 0, 0, "work", 20),
                      flush = at(trace::SiteKind::kFlush, 0, clwb, "flush", 3),
                      fence = at(trace::SiteKind::kFence, 0, sfence, "work", 21);
  builder.store(store, kPmBase, 1);
  builder.store(store, kPmBase + 64, 1);
  builder.plain(first);
  builder.access(flush, kPmBase);
  builder.plain(fence);
  builder.plain(second);
  builder.access(flush, kPmBase + 64);
  builder.plain(fence);
  const TemporaryTrace file(builder);
  const trace::TraceFile trace(file.path());
  const auto calls = check::persist_calls(trace);
  AllowedImages images(trace, PersistencyRules::kPx86, 1, 100);
  std::string stories;
  while (images.next()) {
    for (const std::string& line : explain_image(trace, images, calls)) stories += line + "\n";
  }
  for (const char* said :
       {"immediately before the sfence of thread 0 at mine.c:21\n",
        "thread 0 has reached mine.c:3, called at mine.c:10\n",
        ": flushed at mine.c:3, called at mine.c:10, without a fence of that thread",
        ": not flushed yet (mine.c:3, called at mine.c:20 flushes it)"}) {
    EXPECT_NE(stories.find(said), std::string::npos) << said << " in\n" << stories;
  }
}

}  // namespace
}  // namespace pmemsim::litmus
