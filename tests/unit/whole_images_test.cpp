// A model's whole images, moved to forwards and backwards, equal their base with their changes.
#include "pmemsim/checks/images/whole_images.hpp"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "litmus_program.hpp"

namespace pmemsim::litmus {
namespace {

constexpr std::size_t kWholeLines = 12;

// Some lines become guaranteed and others stay possibly lost, so that there are several rounds over
// changing bases.
Program some_settle() {
  Program program;
  for (std::uint64_t line = 0; line < kWholeLines; ++line) {
    program.push_back({0, Do::kStore, line * 64, line + 1});
    program.push_back({0, Do::kStore, line * 64 + 8, line + 1});
    if (line % 3 != 0) program.push_back({0, Do::kClwb, line * 64});
    if (line % 2 != 0) program.push_back({0, Do::kSfence});
  }
  return program;
}

Bytes bytes_of(const Image& image) {
  Bytes bytes(kWholeLines * kLineBytes);
  for (std::size_t line = 0; line < kWholeLines; ++line) {
    const LineData data = image.read(Line::of(kPmBase + line * kLineBytes));
    std::memcpy(bytes.data() + line * kLineBytes, data.data(), kLineBytes);
  }
  return bytes;
}

// Builds the image from the base and the changes, independently of earlier images.
Bytes afresh(const AllowedImages& images) {
  Bytes bytes = bytes_of(images.base());
  for (const auto& [line, data] : images.changes()) {
    std::memcpy(bytes.data() + (line.address() - kPmBase), data.data(), kLineBytes);
  }
  return bytes;
}

class WholeImagesTest : public testing::Test {
 protected:
  Recorder recorder_{some_settle(), 1};
  TemporaryTrace file_{recorder_.trace()};
  trace::TraceFile trace_{file_.path()};
  WholeImages images_{trace_, PersistencyRules::kPx86, 1, 300};
};

TEST_F(WholeImagesTest, ImageIsItsBaseWithItsChanges) {
  std::uint64_t count = 0;
  while (images_.next()) {
    EXPECT_EQ(images_.number(), ++count);
    EXPECT_EQ(bytes_of(images_.image()), afresh(images_.images())) << count;
  }
  EXPECT_EQ(count, 300);
}

TEST_F(WholeImagesTest, AllChangedLinesAreReported) {
  Image copy;
  // An observer that reads every third image must be notified of all lines that have changed since.
  while (images_.next()) {
    if (images_.number() % 3 != 0) continue;
    for (const Line line : images_.changed()) copy.write(line, images_.image().read(line));
    EXPECT_EQ(bytes_of(copy), bytes_of(images_.image())) << images_.number();
  }
}

TEST_F(WholeImagesTest, GoToRestoresEachImageByItsNumber) {
  std::map<std::uint64_t, Bytes> seen;
  while (images_.next()) seen[images_.number()] = bytes_of(images_.image());
  Image copy;
  for (const std::uint64_t number : {200, 7, 7, 300, 1}) {
    ASSERT_TRUE(images_.go_to(number));
    EXPECT_EQ(images_.number(), number);
    EXPECT_EQ(bytes_of(images_.image()), seen[number]) << number;
    for (const Line line : images_.changed()) copy.write(line, images_.image().read(line));
    EXPECT_EQ(bytes_of(copy), seen[number]) << number;
  }
  EXPECT_FALSE(images_.go_to(301));
  EXPECT_EQ(images_.number(), 300);
}

TEST_F(WholeImagesTest, LossesCanBeRestoredAndRemovedAgain) {
  ASSERT_TRUE(images_.go_to(2));  // nothing that isn't sure
  const Bytes before = bytes_of(images_.image());
  std::vector<std::uint64_t> lost;
  for (const Line line : images_.lost_lines()) lost.push_back(line.number);
  ASSERT_FALSE(lost.empty());
  images_.restore_losses(lost, true);
  EXPECT_TRUE(images_.lost_lines().empty());
  EXPECT_NE(bytes_of(images_.image()), before);
  images_.restore_losses(lost, false);
  EXPECT_EQ(bytes_of(images_.image()), before);
}

}  // namespace
}  // namespace pmemsim::litmus
