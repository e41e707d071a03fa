// The stores that a rejected image has lost, and from which store each should have been separated:
// hand-written programs, and the images that lose them.
#include "pmemsim/checks/images/lost_stores.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "pmemsim/checks/images/survey.hpp"
#include "pmemsim/checks/images/whole_images.hpp"
#include "run_trace.hpp"

namespace pmemsim {
namespace {

using trace::FenceKind;
using trace::FlushKind;
using trace::SiteKind;

constexpr std::uint64_t kData = kPmBase + 4096, kFlag = kData + kLineBytes;

struct LosingTrace : trace::TraceBuilder {
  LosingTrace() { pm_region(kPmBase, kPmBase + (1 << 20)); }

  std::uint32_t at(std::uint32_t line, SiteKind kind, std::uint8_t size, std::uint8_t detail = 0) {
    return site(kind, size, 1, {}, {}, detail, 0, {"mine.c", "work", line});
  }
  void store_at(std::uint32_t line, std::uint64_t address) {
    store(at(line, SiteKind::kStore, 8), address, line);
  }
  void non_temporal_at(std::uint32_t line, std::uint64_t address) {
    store(at(line, SiteKind::kNonTemporal, 8), address, line);
  }
  void flush_at(std::uint32_t line, std::uint64_t address) {
    access(at(line, SiteKind::kFlush, 0, static_cast<std::uint8_t>(FlushKind::kClwb)), address);
  }
  void fence_at(std::uint32_t line) {
    plain(at(line, SiteKind::kFence, 0, static_cast<std::uint8_t>(FenceKind::kSfence)));
  }
};

// Describes the lost stores of the first image in which the flag is there and the data aren't, as
// `line why: line of the kept store`.
std::vector<std::string> lost(LosingTrace& builder) {
  const TemporaryTrace file(builder);
  const trace::TraceFile trace(file.path());
  WholeImages images(trace, PersistencyRules::kPx86, 1, ImageSearch::kNoEnd);
  const auto holds = [&](std::uint64_t address) {
    return images.image().read(Line::of(address))[0] != std::byte{0};
  };
  while (images.next()) {
    if (!holds(kFlag) || holds(kData)) continue;
    std::vector<std::string> found;
    for (const LostStore& store : images.lost_stores()) {
      found.push_back(fmt::format("{} {}: {}", store.place.line, name_of(store.why),
                                  store.kept ? store.kept->line : 0));
    }
    return found;
  }
  return {"no such image"};
}

using Found = std::vector<std::string>;

TEST(LostStores, AStoreThatIsNeverFlushed) {
  LosingTrace trace;
  trace.store_at(1, kData);
  trace.store_at(2, kFlag);
  trace.flush_at(3, kFlag);
  trace.fence_at(4);
  EXPECT_EQ(lost(trace), Found{"1 not flushed: 2"});
}

TEST(LostStores, AFlushWithoutFence) {
  LosingTrace trace;
  trace.store_at(1, kData);
  trace.flush_at(2, kData);
  trace.store_at(3, kFlag);
  trace.flush_at(4, kFlag);
  trace.fence_at(5);
  EXPECT_EQ(lost(trace), Found{"1 not fenced: 3"});
}

TEST(LostStores, ANonTemporalStoreWithoutFence) {
  LosingTrace trace;
  trace.non_temporal_at(1, kData);
  trace.store_at(2, kFlag);
  trace.flush_at(3, kFlag);
  trace.fence_at(4);
  EXPECT_EQ(lost(trace), Found{"1 non-temporal: 2"});
}

// The store between data and flag is kept, too, but it was before the flush, so that a fence before
// it would be too early.
TEST(LostStores, TheKeptStoreFollowsTheFlush) {
  LosingTrace trace;
  trace.store_at(1, kData);
  trace.store_at(2, kFlag + kLineBytes);
  trace.flush_at(3, kFlag + kLineBytes);
  trace.flush_at(4, kData);
  trace.store_at(5, kFlag);
  trace.flush_at(6, kFlag);
  trace.fence_at(7);
  const Found found = lost(trace);
  EXPECT_EQ(found.back(), "1 not fenced: 5");
}

TEST(LostStores, FenceBeforeTheFlagPreventsItsImageWithoutTheData) {
  LosingTrace trace;
  trace.store_at(1, kData);
  trace.flush_at(2, kData);
  trace.fence_at(3);
  trace.store_at(4, kFlag);
  trace.flush_at(5, kFlag);
  trace.fence_at(6);
  EXPECT_EQ(lost(trace), Found{"no such image"});
}

bool same_digest(LosingTrace& one, LosingTrace& other) {
  const TemporaryTrace first(one), second(other);
  const trace::TraceFile a(first.path()), b(second.path());
  const Variation none{};
  return have_same_digest({a, none}, {b, none}, PersistencyRules::kPx86);
}

TEST(Survey, ASecondFlushOfACleanLineChangesNothing) {
  const auto program = [](bool again, bool fenced) {
    LosingTrace trace;
    trace.store_at(1, kData);
    trace.flush_at(2, kData);
    if (again) trace.flush_at(3, kData);
    if (fenced) trace.fence_at(4);
    trace.store_at(5, kFlag);
    return trace;
  };
  LosingTrace once = program(false, true), twice = program(true, true),
              never = program(true, false);
  EXPECT_TRUE(same_digest(once, twice));
  EXPECT_FALSE(same_digest(once, never));
}

TEST(Survey, CountsImagesUpToALimit) {
  LosingTrace trace;
  trace.store_at(1, kData);
  trace.store_at(2, kFlag);
  const TemporaryTrace file(trace);
  const trace::TraceFile opened(file.path());
  const Variation none{};
  EXPECT_FALSE(may_exceed({opened, none}, PersistencyRules::kPx86, 4));
  EXPECT_TRUE(may_exceed({opened, none}, PersistencyRules::kPx86, 3));
}

}  // namespace
}  // namespace pmemsim
