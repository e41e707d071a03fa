// Checkers in processes of their own: each image gets the verdict on its own contents.
#include "pmemsim/checks/checkers/checker_pool.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstring>
#include <string>
#include <vector>

#include "pmemsim/common/error.hpp"

namespace pmemsim {
namespace {

constexpr std::uint64_t kCheckedBase = 0x500000000000;

// Two regions, the second of which ends within a line. An image has its number in both.
const std::vector<trace::PmRegion> kCheckedRegions{
    {kCheckedBase, kCheckedBase + 8192, ""},
    {kCheckedBase + 0x10000, kCheckedBase + 0x10000 + 8192 + 8, ""}};
const std::array<Line, 2> kNumbered{Line::of(kCheckedBase + 4096),
                                    Line::of(kCheckedBase + 0x10000 + 8192)};

void number_image(Image& image, std::uint64_t number) {
  LineData data{};
  std::memcpy(data.data(), &number, sizeof(number));
  for (const Line line : kNumbered) image.write(line, data);
}

CheckerCommand shell(const std::string& script, double timeout_s = 60) {
  return {"--verify sh", PMEMSIM_CHECKER_HOST,
          false,         {"/bin/sh", "-c", script, "check"},
          timeout_s,     ""};
}

// A checker whose exit status is made of the numbers in both regions: 16 times the first one, plus
// the second one. A page that the image doesn't have must be zero.
const std::string kSayNumbers =
    "test $(od -An -tu8 -N8 $1) -eq 0 || exit 255; a=$(od -An -tu8 -j4096 -N8 $1); b=$(od -An -tu8 "
    "-j8192 -N8 $2); exit $((16 * a + b))";

class CheckerPoolTest : public testing::TestWithParam<std::size_t> {};

TEST_P(CheckerPoolTest, EachImageIsCheckedWithItsOwnContents) {
  CheckerPool pool(shell(kSayNumbers), kCheckedRegions, GetParam());
  Image image;
  for (std::uint64_t number = 0; number < 12; ++number) {
    number_image(image, number);
    pool.show(image, kNumbered, {});
  }
  pool.finish({});
  EXPECT_EQ(pool.checked(), 12);
  ASSERT_EQ(pool.rejected().size(), 11);  // all but the first
  for (const auto& [number, answer] : pool.rejected()) {
    EXPECT_EQ(answer.ending, CheckerAnswer::Ending::kExited);
    EXPECT_EQ(answer.status, 17 * number);
  }
}

TEST_P(CheckerPoolTest, CheckerWritesAreGoneForTheNextImage) {
  CheckerPool pool(shell("(" + kSayNumbers +
                         "); s=$?; yes | head -c 8192 > $1; "
                         "yes | head -c 9000 | dd of=$2 conv=notrunc 2> /dev/null; exit $s"),
                   kCheckedRegions, GetParam());
  Image image;
  for (std::uint64_t number = 1; number < 8; ++number) {
    number_image(image, number);
    pool.show(image, {});  // without the list of changed lines
  }
  pool.finish({});
  ASSERT_EQ(pool.rejected().size(), 7);
  for (const auto& [number, answer] : pool.rejected()) EXPECT_EQ(answer.status, 17 * (number + 1));
}

INSTANTIATE_TEST_SUITE_P(Jobs, CheckerPoolTest, testing::Values(1, 3));

TEST(CheckerPool, ReportsHowACheckerEndsAndItsLastOutput) {
  using Ending = CheckerAnswer::Ending;
  const auto answer_to = [](const std::string& script) {
    CheckerPool pool(shell(script, 0.5), kCheckedRegions, 1);
    return pool.check_image(Image(), {}, {});
  };
  EXPECT_EQ(answer_to("kill -SEGV $$").ending, Ending::kSignal);
  EXPECT_EQ(answer_to("kill -SEGV $$").status, 11);
  EXPECT_EQ(answer_to("sleep 100").ending, Ending::kTooLong);
  const CheckerAnswer said = answer_to("yes | head -c 500000; echo 'out'; echo 'the end' >&2");
  const std::string text(said.said.data(), said.size);
  EXPECT_EQ(text.size(), CheckerAnswer::kMostSaid);
  EXPECT_TRUE(text.ends_with("out\nthe end\n"));
  EXPECT_EQ(said.status, 0);
}

TEST(CheckerPool, CheckerThatCannotStartIsAnError) {
  CheckerCommand command = shell("");
  command.words = {"/no/such/program"};
  CheckerPool pool(command, kCheckedRegions, 1);
  EXPECT_THROW(pool.check_image(Image(), {}, {}), Error);
}

TEST(CheckerPool, CallbackExceptionStopsTheWaitForAVerdict) {
  struct Enough {};
  CheckerPool pool(shell("sleep 100"), kCheckedRegions, 1);
  int asked = 0;
  const auto keep_going = [&] {
    if (++asked == 3) throw Enough();
  };
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THROW(pool.check_image(Image(), {}, keep_going), Enough);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
}

}  // namespace
}  // namespace pmemsim
