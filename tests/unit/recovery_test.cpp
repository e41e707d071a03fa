// Recovery's stores to persistent memory, and its reads of data that were possibly lost at the
// crash.
#include "pmemsim/checks/images/recorded_recovery.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "litmus_program.hpp"

namespace pmemsim::litmus {
namespace {

using trace::SiteKind;
using Reads = std::set<OpenRead>;

constexpr std::uint64_t kElsewhere = kPmBase + (std::uint64_t{1} << 30);

// Builds a recording of recovery: each access has 8 bytes by default, and PM is mapped at another
// address than in the program.
class RecoveryBuilder {
 public:
  explicit RecoveryBuilder(std::uint64_t first_word = 0) {
    trace_.pm_region(kElsewhere, kElsewhere + (1 << 20));
    std::array<std::byte, 4096> page{};
    std::memcpy(page.data(), &first_word, sizeof(first_word));
    if (first_word != 0) trace_.image_page(kElsewhere, page);
    trace_.thread(0).plain(trace_.site(SiteKind::kExecute));
  }
  std::uint32_t load(std::uint64_t at, std::uint8_t size = 8) {
    const std::uint32_t site = trace_.site(SiteKind::kLoad, size);
    trace_.access(site, kElsewhere + at);
    return site;
  }
  RecoveryBuilder& store(std::uint64_t at, std::uint64_t value, std::uint8_t size = 8) {
    trace_.store(trace_.site(SiteKind::kStore, size), kElsewhere + at, value);
    return *this;
  }
  RecoveryBuilder& update(std::uint64_t at, std::uint64_t value, bool wrote) {
    last_ = trace_.site(SiteKind::kAtomicUpdate, 8);
    trace_.atomic(last_, kElsewhere + at, 1, wrote ? 1 : 0, value, wrote);
    return *this;
  }
  RecoveryBuilder& clwb(std::uint64_t at) {
    trace_.access(trace_.site(SiteKind::kFlush, 0, 1, {}, {},
                              static_cast<std::uint8_t>(trace::FlushKind::kClwb)),
                  kElsewhere + at);
    return *this;
  }
  RecoveryBuilder& sfence() {
    trace_.plain(trace_.site(SiteKind::kFence, 0, 1, {}, {},
                             static_cast<std::uint8_t>(trace::FenceKind::kSfence)));
    return *this;
  }
  std::uint32_t last() const { return last_; }
  PersistSteps steps() {
    const TemporaryTrace file(trace_);
    return persist_steps(trace::TraceFile(file.path()));
  }
  trace::TraceBuilder& trace() { return trace_; }

 private:
  trace::TraceBuilder trace_;
  std::uint32_t last_ = 0;
};

TEST(PersistSteps, EqualRecoveriesHaveEqualHashes) {
  const auto steps = [] { return RecoveryBuilder().store(0, 5).clwb(0).sfence().steps(); };
  EXPECT_EQ(steps().stores, 1);
  EXPECT_EQ(steps().hash, steps().hash);
}

TEST(PersistSteps, EachDifferenceChangesTheHash) {
  std::set<std::uint64_t> hashes;
  hashes.insert(RecoveryBuilder().store(0, 5).clwb(0).sfence().steps().hash);
  hashes.insert(RecoveryBuilder().store(8, 5).clwb(0).sfence().steps().hash);
  hashes.insert(RecoveryBuilder().store(0, 6).clwb(0).sfence().steps().hash);
  hashes.insert(RecoveryBuilder().store(0, 5).clwb(64).sfence().steps().hash);
  hashes.insert(RecoveryBuilder().store(0, 5).sfence().clwb(0).steps().hash);
  hashes.insert(RecoveryBuilder().store(0, 5).clwb(0).steps().hash);
  hashes.insert(RecoveryBuilder().store(0, 5).sfence().steps().hash);
  // Stores that replace different contents.
  hashes.insert(RecoveryBuilder(4).store(0, 5).clwb(0).sfence().steps().hash);
  hashes.insert(RecoveryBuilder(5).store(0, 5).clwb(0).sfence().steps().hash);
  EXPECT_EQ(hashes.size(), 9);
}

TEST(PersistSteps, VolatileMemoryIsIgnored) {
  RecoveryBuilder one, other;
  for (const auto& [recovery, value] : {std::pair{&one, 1}, std::pair{&other, 2}}) {
    recovery->trace().store(recovery->trace().site(SiteKind::kStore, 8), kDramBase, value);
    recovery->load(0);
  }
  EXPECT_EQ(one.steps().stores, 0);
  EXPECT_EQ(one.steps().hash, other.steps().hash);
  EXPECT_EQ(RecoveryBuilder().update(0, 1, false).steps().stores, 0);
  EXPECT_EQ(RecoveryBuilder().update(0, 1, true).steps().stores, 1);
}

TEST(RecoveryRanges, RecoveryLinesAreMappedToTheCrashedProgram) {
  const RecoveryRanges ranges({{0x2000, 0x2080, 0x9000}, {0x3000, 0x3040, 0x1000}});
  EXPECT_EQ(ranges.line_in_crashed_program(Line::of(0x2000)), Line::of(0x9000));
  EXPECT_EQ(ranges.line_in_crashed_program(Line::of(0x2040)), Line::of(0x9040));
  EXPECT_EQ(ranges.line_in_crashed_program(Line::of(0x2080)), std::nullopt);
  EXPECT_EQ(ranges.line_in_crashed_program(Line::of(0x1fc0)), std::nullopt);
  EXPECT_EQ(ranges.line_in_crashed_program(Line::of(0x3000)), Line::of(0x1000));
}

// The program stores to one line, then twice to a word of another line, and once to the next word.
class OpenReadsTest : public testing::Test {
 protected:
  OpenReadsTest() {
    trace::TraceBuilder& builder = program_.trace();
    for (std::uint32_t& store : stores_) store = builder.site(SiteKind::kStore, 8);
    builder.store(stores_[0], kPmBase + 64, 1);
    builder.store(stores_[1], kPmBase + 64, 2);
    builder.store(stores_[2], kPmBase + 72, 3);
  }
  // Reads of the recovery, by the number of the three stores in the image.
  std::vector<Reads> reads(RecoveryBuilder& recovery) {
    const TemporaryTrace program_file(program_.trace()), recovery_file(recovery.trace());
    const trace::TraceFile program(program_file.path()), recorded(recovery_file.path());
    const RecoveryRanges ranges({{kElsewhere, kElsewhere + (1 << 20), kPmBase}});
    AllowedImages images(program, PersistencyRules::kPx86, 1, 100);
    std::vector<Reads> found(4);
    while (images.next()) {
      const LineData line = [&] {
        for (const auto& [at, data] : images.changes()) {
          if (at == Line::of(kPmBase + 64)) return data;
        }
        return LineData{};
      }();
      const auto first = std::to_integer<std::size_t>(line[0]);
      found.at(line[8] != std::byte{} ? 3 : first) = open_reads(images, recorded, ranges);
    }
    return found;
  }

  Recorder program_{{{0, Do::kStore, 0, 7}}, 1};
  std::array<std::uint32_t, 3> stores_{};
};

TEST_F(OpenReadsTest, LoadReadsTheNewestPresentStoreAndAllNewerLostStores) {
  RecoveryBuilder recovery;
  const std::uint32_t load = recovery.load(64);
  const std::vector<Reads> found = reads(recovery);
  EXPECT_EQ(found[0], (Reads{{load, stores_[0], false}, {load, stores_[1], false}}));
  EXPECT_EQ(found[1], (Reads{{load, stores_[0], true}, {load, stores_[1], false}}));
  EXPECT_EQ(found[2], (Reads{{load, stores_[1], true}}));
  EXPECT_EQ(found[3], (Reads{{load, stores_[1], true}}));
}

TEST_F(OpenReadsTest, OnlyStoresToLoadedBytesAreListed) {
  RecoveryBuilder recovery;
  recovery.load(128);
  recovery.load(56);
  recovery.load(80);
  const std::uint32_t byte = recovery.load(79, 1), both = recovery.load(68);
  const std::vector<Reads> found = reads(recovery);
  EXPECT_EQ(
      found[2],
      (Reads{{byte, stores_[2], false}, {both, stores_[1], true}, {both, stores_[2], false}}));
  EXPECT_EQ(found[3],
            (Reads{{byte, stores_[2], true}, {both, stores_[1], true}, {both, stores_[2], true}}));
}

TEST_F(OpenReadsTest, BytesStoredByRecoveryAreIgnored) {
  RecoveryBuilder recovery;
  recovery.store(64, 0, 4).store(76, 0, 4);
  const std::uint32_t rest = recovery.load(64);
  recovery.store(68, 0, 4);
  recovery.load(64);
  recovery.load(76, 4);
  const std::uint32_t other = recovery.load(72, 4);
  EXPECT_EQ(reads(recovery)[3], (Reads{{rest, stores_[1], true}, {other, stores_[2], true}}));
}

TEST_F(OpenReadsTest, LockedInstructionReadsBeforeItStores) {
  RecoveryBuilder recovery;
  const std::uint32_t update = recovery.update(64, 9, true).last();
  recovery.load(64);
  EXPECT_EQ(reads(recovery)[3], (Reads{{update, stores_[1], true}}));
}

}  // namespace
}  // namespace pmemsim::litmus
