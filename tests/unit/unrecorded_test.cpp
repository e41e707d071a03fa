// Bytes that have changed without a recorded store, found in the contents at the end of the
// recording.
#include "pmemsim/analysis/unrecorded.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "pmemsim/trace/contents.hpp"
#include "pmemsim/trace/initial_state.hpp"
#include "run_trace.hpp"

namespace pmemsim::trace {
namespace {

constexpr std::uint64_t kPage = kImagePageBytes;
constexpr std::uint64_t kPages = 4;

using Page = std::array<std::uint8_t, kPage>;
using Ranges = std::vector<Unrecorded::Range>;

// Four pages, of which the image has the second one, all ones.
struct Program : TraceBuilder {
  Program() {
    pm_region(kPmBase, kPmBase + kPages * kPage);
    image_page(kPmBase + kPage, std::byte{1});
    store(store_site, kDramBase, 0);
  }

  const std::uint32_t store_site = site(SiteKind::kStore, 8);
  const std::uint32_t update_site = site(SiteKind::kAtomicUpdate, 8);
};

// The contents of memory at the end, in the recorder's format.
class Held {
 public:
  Held& pages(std::uint64_t first, std::uint32_t count, PagesAre are) {
    const ContentsRecord record{kPmBase + first * kPage, count, are};
    text_.append(reinterpret_cast<const char*>(&record), sizeof(record));
    return *this;
  }
  Held& given(std::uint64_t number, const Page& page) {
    pages(number, 1, PagesAre::kGiven);
    text_.append(reinterpret_cast<const char*>(page.data()), page.size());
    return *this;
  }
  Held& cut(std::size_t bytes) {
    text_.resize(text_.size() - bytes);
    return *this;
  }

  Unrecorded compared_with(TraceBuilder& trace) const {
    const TemporaryTrace written(trace);
    const std::string path = written.path() + ".contents";
    std::ofstream(path, std::ios::binary) << text_;
    const TraceFile file(written.path());
    struct Remove {
      ~Remove() { std::remove(path.c_str()); }
      const std::string& path;
    } const remove{path};
    return find_unrecorded(file, path);
  }

 private:
  std::string text_;
};

Held as_in_image() {
  return Held()
      .pages(0, 1, PagesAre::kZero)
      .pages(1, 1, PagesAre::kAsInImage)
      .pages(2, 2, PagesAre::kZero);
}

TEST(UnrecordedBytes, UnchangedImageHasNone) {
  Program program;
  EXPECT_EQ(as_in_image().compared_with(program).bytes, 0u);
}

TEST(UnrecordedBytes, RecordedStoresAreNotReported) {
  Program program;
  program.store(program.store_site, kPmBase + kPage - 4, 0x0807060504030201);
  Page first{}, second;
  second.fill(1);
  for (std::uint8_t i = 0; i < 4; ++i) {
    first[kPage - 4 + i] = static_cast<std::uint8_t>(1 + i);
    second[i] = static_cast<std::uint8_t>(5 + i);
  }
  const Held held = as_in_image().given(0, first).given(1, second);
  EXPECT_EQ(held.compared_with(program).bytes, 0u);
}

TEST(UnrecordedBytes, DifferencesFromTheImageAreReported) {
  Program program;
  Page page{};
  page[8] = 1;
  page[15] = 1;   // the same word
  page[16] = 1;   // the next one
  page[100] = 1;  // another range
  const Unrecorded found = as_in_image().given(2, page).compared_with(program);
  EXPECT_EQ(found.bytes, 4u);
  EXPECT_EQ(found.places, 2u);
  const std::uint64_t base = kPmBase + 2 * kPage;
  EXPECT_EQ(found.lowest, (Ranges{{base + 8, base + 17}, {base + 100, base + 101}}));
}

TEST(UnrecordedBytes, ZeroedPageIsReported) {
  Program program;
  const Unrecorded found = Held().pages(0, kPages, PagesAre::kZero).compared_with(program);
  EXPECT_EQ(found.bytes, kPage);
  EXPECT_EQ(found.lowest, (Ranges{{kPmBase + kPage, kPmBase + 2 * kPage}}));
}

TEST(UnrecordedBytes, StoreWithoutAnEffectIsReported) {
  Program program;
  program.store(program.store_site, kPmBase + kPage, 7);
  EXPECT_EQ(as_in_image().compared_with(program).bytes, 8u);
}

TEST(UnrecordedBytes, RangeAcrossAPageBorderIsOneRange) {
  Program program;
  Page end{}, begin{};
  end[kPage - 1] = 1;
  begin[0] = 1;
  const Unrecorded found = as_in_image().given(3, begin).given(2, end).compared_with(program);
  const std::uint64_t border = kPmBase + 3 * kPage;
  EXPECT_EQ(found.lowest, (Ranges{{border - 1, border + 1}}));
}

TEST(UnrecordedBytes, LowestRangesAreListed) {
  Program program;
  Page page{};
  for (std::size_t at = 0; at < kPage; at += 64) page[at] = 1;
  const Unrecorded found = as_in_image().given(3, page).given(0, page).compared_with(program);
  EXPECT_EQ(found.places, 2 * kPage / 64);
  ASSERT_EQ(found.lowest.size(), Unrecorded::kMostRanges);
  EXPECT_EQ(found.lowest.back().begin, kPmBase + (Unrecorded::kMostRanges - 1) * 64);
}

// Either of two threads' last stores may be the last of both.
TEST(UnrecordedBytes, LastStoreOfAnyThreadIsAccepted) {
  for (const std::uint8_t value : {1, 2, 3}) {
    Program program;
    program.store(program.store_site, kPmBase, 3);
    program.store(program.store_site, kPmBase, 1);
    program.thread(1).store(program.store_site, kPmBase, 2);
    Page page{};
    page[0] = value;
    EXPECT_EQ(as_in_image().given(0, page).compared_with(program).bytes, value == 3 ? 1u : 0u);
  }
}

TEST(UnrecordedBytes, AtomicUpdateCountsOnlyIfItWrites) {
  for (const bool wrote : {false, true}) {
    Program program;
    program.atomic(program.update_site, kPmBase, 0, 1, 5, wrote);
    Page page{};
    page[0] = 5;
    EXPECT_EQ(as_in_image().given(0, page).compared_with(program).bytes, wrote ? 0u : 1u);
  }
}

TEST(UnrecordedBytes, UnwrittenPageHasNone) {
  Program program;
  program.store(program.store_site, kPmBase, 7);
  EXPECT_EQ(Held().pages(1, 1, PagesAre::kAsInImage).compared_with(program).bytes, 0u);
}

TEST(UnrecordedBytes, VolatileMemoryIsIgnored) {
  Program program;
  Page page{};
  page[0] = 1;
  EXPECT_EQ(as_in_image().given(kPages, page).compared_with(program).bytes, 0u);
}

TEST(UnrecordedBytes, LastEntryOfAPageCounts) {
  Program program;
  Page page{};
  page[0] = 1;
  Held held = as_in_image();
  held.given(0, page).given(2, page).given(3, page);
  EXPECT_EQ(held.compared_with(program).bytes, 3u);
  held.pages(2, 2, PagesAre::kZero);
  EXPECT_EQ(held.compared_with(program).bytes, 1u);
  held.pages(0, kPages, PagesAre::kZero).pages(1, 1, PagesAre::kAsInImage);
  EXPECT_EQ(held.compared_with(program).bytes, 0u);
}

TEST(UnrecordedBytes, DamagedFileIsRejected) {
  Program program;
  const Page page{};
  EXPECT_THROW(as_in_image().cut(1).compared_with(program), TraceError);
  EXPECT_THROW(as_in_image().given(0, page).cut(1).compared_with(program), TraceError);
  EXPECT_THROW(as_in_image().pages(0, 0, PagesAre::kZero).compared_with(program), TraceError);
  EXPECT_THROW(as_in_image().pages(0, 2, PagesAre::kGiven).compared_with(program), TraceError);
  EXPECT_THROW(as_in_image().pages(0, 1, PagesAre{kPagesAre}).compared_with(program), TraceError);
  EXPECT_THROW(find_unrecorded(TraceFile(TemporaryTrace(program).path()), "nowhere"), TraceError);
}

}  // namespace
}  // namespace pmemsim::trace
