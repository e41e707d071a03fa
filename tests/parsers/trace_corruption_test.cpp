// Damaged and hostile trace files: for any contents of the file, reading it ends in a TraceError or
// at the end of the trace, never in a crash.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>
#ifndef XXH_INLINE_ALL
#define XXH_INLINE_ALL
#endif
#include <xxhash.h>

#include "long_tests.hpp"
#include "pmemsim/analysis/races.hpp"
#include "pmemsim/analysis/summary.hpp"
#include "pmemsim/analysis/verify.hpp"
#include "pmemsim/crash/crash.hpp"
#include "pmemsim/machine/run/configuration.hpp"
#include "pmemsim/machine/run/simulate.hpp"
#include "pmemsim/trace/dump.hpp"
#include "pmemsim/trace/writer.hpp"
#include "trace_builder.hpp"

namespace pmemsim::trace {
namespace {

using Bytes = std::vector<std::byte>;
using Random = std::mt19937_64;

std::uint64_t below(Random& random, std::uint64_t limit) { return random() % limit; }

class TraceCorruptionTest : public testing::Test {
 protected:
  void SetUp() override {
    // The files are in memory where there is such a folder: a hundred thousand files are written.
    const std::string folder =
        std::filesystem::exists("/dev/shm") ? "/dev/shm/" : testing::TempDir();
    path_ = folder + "pmemsim_trace_corruption_" + std::to_string(getpid()) + ".pmt";
    build().write(path_);
    original_ = read_file();
  }
  void TearDown() override { std::filesystem::remove(path_); }

  // Two threads, every kind of record, inlined calls, an image, warm lines, nested regions, turns,
  // a race.
  static TraceBuilder build() {
    TraceBuilder builder;
    const auto load = builder.site(SiteKind::kLoad, 8, 3);
    const auto store = builder.site(SiteKind::kStore, 8, 2, {load << 8 | 1}, {load << 8 | 4});
    const auto wide = builder.site(SiteKind::kNonTemporal, 64);
    const auto atomic_load = builder.site(SiteKind::kAtomicLoad, 4);
    const auto atomic_store = builder.site(SiteKind::kAtomicStore, 4);
    const auto update = builder.site(SiteKind::kAtomicUpdate, 8, 1, {}, {}, 0, kSiteFullFence);
    const auto copy_load = builder.site(SiteKind::kCopyLoad);
    const auto copy_store = builder.site(SiteKind::kCopyStore);
    const auto branch = builder.site(SiteKind::kBranch);
    const auto execute = builder.site(SiteKind::kExecute, 0, 9);
    const auto recurrence = builder.site(SiteKind::kRecurrence, 0, 0, {}, {load << 8 | 4});
    const auto flush = builder.site(SiteKind::kFlush);
    const auto fence = builder.site(SiteKind::kFence);
    const auto jump = builder.site(SiteKind::kIndirectBranch);
    const auto call = builder.inlined_call({"test.c", "outer", 2});
    builder.inlined(flush, builder.inlined_call({"test.c", "inner", 3}, call));
    builder.inlined(fence, call);
    constexpr std::uint64_t kPm = 0x10000;
    for (std::uint32_t thread = 0; thread < 2; ++thread) {
      builder.thread(thread);
      builder.mark(MarkKind::kRoiBegin);
      for (std::uint32_t i = 0; i < 8; ++i) {
        const std::uint64_t address = kPm + 64 * i + 1024 * thread;
        // The threads take turns in holding object 0.
        builder.sync(SyncKind::kMutexLock, 0x500, 0, 2 * i + thread);
        builder.mark(MarkKind::kRegionBegin, 1);
        builder.mark(MarkKind::kLogRange, address, 16);
        builder.mark(MarkKind::kPurpose, static_cast<std::uint64_t>(Purpose::kLog));
        builder.access(load, address);
        builder.store(store, address + 8, i);
        builder.mark(MarkKind::kPurpose, static_cast<std::uint64_t>(Purpose::kProgram));
        builder.store(wide, address, i);
        builder.copy(copy_load, 0x3000, 16);
        builder.copy(copy_store, address, static_cast<std::uint8_t>(1 + i), i);
        builder.access(flush, address);
        builder.mark(MarkKind::kNextFence, static_cast<std::uint64_t>(FenceMeaning::kDurable));
        builder.plain(fence);
        builder.mark(MarkKind::kRegionEnd, 1);
        builder.sync(SyncKind::kMutexUnlock, 0x500, 0, 2 * i + thread + 1);
        builder.atomic(update, 0x600 + 8 * thread, 1 + thread, i + 1, i, true);
        builder.atomic(atomic_load, 0x600 + 8 * thread, 1 + thread, i + 1);
        builder.branch(branch, i % 2 == 0);
        builder.plain(execute);
        builder.recurrence(recurrence, i > 0);
        builder.external(i);
        builder.end_turn(2 * i + thread);
      }
      builder.atomic(atomic_store, 0x700 + 8 * thread, 3 + thread, 1, 5);
      builder.store(store, 0x900, thread);
      builder.sync(SyncKind::kBarrierArrive, 0x800, 5, 1 + thread);
      builder.end_turn(16 + thread);
      builder.sync(SyncKind::kBarrierWait, 0x800, 5, 2);
      builder.mark(MarkKind::kHint, kPm, 64 | std::uint64_t{3} << 32);
      builder.indirect_branch(jump, thread);
      builder.mark(MarkKind::kRoiEnd);
      builder.end_turn(18 + thread);
    }
    builder.race({.number = 170, .count = 171, .thread = 1, .other = 0});
    builder.image_page(kPm, std::byte{7});
    builder.warm(kPm | 1, 1);
    builder.pm_region(kPm, kPm + 0x10000);
    return builder;
  }

  Bytes read_file() const {
    std::ifstream file(path_, std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    Bytes bytes(text.size());
    std::memcpy(bytes.data(), text.data(), text.size());
    return bytes;
  }
  void write_file(const Bytes& bytes) const {
    std::ofstream file(path_, std::ios::binary | std::ios::trunc);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }

  // Runs every use of a trace; false: the trace was refused.
  bool use() const {
    try {
      const TraceFile file(path_);
      for (std::uint32_t thread = 0; thread < file.metadata().threads; ++thread) {
        OperationStream(file, thread).skip_to({});
      }
      summarize(file);
      for (std::uint32_t thread = 0; thread < file.metadata().threads; ++thread) {
        OperationStream stream(file, thread);
        Operation operation;
        while (stream.next(operation)) to_text(operation, file.sites());
      }
      verify(file);
      Races races(file);
      return true;
    } catch (const TraceError& error) {
      EXPECT_NE(std::string(error.what()).find(path_), std::string::npos) << error.what();
      return false;
    }
  }

  // Simulates the trace, and crashes the design. A trace that the reader accepts may be refused
  // here.
  void simulate_and_crash(const std::string& atomicity) const {
    const std::vector<Setting> settings{
        {"ordering", "x86", "test"}, {"atomicity", atomicity, "test"}, {"core.count", "2", "test"}};
    try {
      const Configuration configuration = configure(settings);
      simulate(TraceFile(path_), configuration, {});
      crash(TraceFile(path_), configuration, {.sample = 50, .subsets = 1}, {});
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()), "");
    }
  }

  // Changes a few bytes, or removes, doubles or swaps a stretch.
  static void corrupt(Bytes& bytes, Random& random) {
    const auto place = [&] { return below(random, bytes.size()); };
    const std::uint64_t changes = 1 + below(random, 4);
    for (std::uint64_t i = 0; i < changes && !bytes.empty(); ++i) {
      const auto at = bytes.begin() + static_cast<std::ptrdiff_t>(place());
      const auto length = static_cast<std::ptrdiff_t>(
          1 + below(random, static_cast<std::uint64_t>(bytes.end() - at)));
      switch (below(random, 8)) {
        case 0:
          bytes.erase(at, at + std::min<std::ptrdiff_t>(length, 16));
          break;
        case 1: {
          const Bytes doubled(at, at + std::min<std::ptrdiff_t>(length, 16));
          bytes.insert(at, doubled.begin(), doubled.end());
          break;
        }
        case 2:
          bytes.resize(static_cast<std::size_t>(at - bytes.begin()));
          break;
        case 3:
          *at = std::byte{0xff};
          break;
        case 4:
          *at = std::byte{0};
          break;
        case 5:
          *at ^= static_cast<std::byte>(1u << below(random, 8));
          break;
        default:
          *at = static_cast<std::byte>(below(random, 256));
          break;
      }
    }
  }

  std::string path_;
  Bytes original_;
};

TEST_F(TraceCorruptionTest, UndamagedFileIsAccepted) {
  EXPECT_TRUE(use());
  EXPECT_TRUE(verify(TraceFile(path_)).notes.empty());
}

TEST_F(TraceCorruptionTest, FileCutAtAnyByteIsRejected) {
  for (std::size_t length = 0; length < original_.size(); ++length) {
    write_file(Bytes(original_.begin(), original_.begin() + static_cast<std::ptrdiff_t>(length)));
    ASSERT_FALSE(use()) << "cut at byte " << length;
  }
}

// Every byte of a file is covered by a check, so no change at all may pass. The long form makes
// more changes.
TEST_F(TraceCorruptionTest, AnyRandomChangeIsRejected) {
  Random random(20261121);
  const int rounds = long_tests() ? 10'000 : 3'000;
  for (int round = 0; round < rounds; ++round) {
    Bytes bytes = original_;
    corrupt(bytes, random);
    if (bytes == original_) continue;
    write_file(bytes);
    ASSERT_FALSE(use()) << "round " << round;
  }
}

// An attacker computes the checksums of a hostile file, too. Here the contents of one frame change,
// and its checksums are correct. The long form writes more such files and simulates every second
// that the reader accepts instead of every eighth.
TEST_F(TraceCorruptionTest, HostileContentsWithCorrectChecksumsAreRejectedOrSimulated) {
  struct Frame {
    FrameHeader header;
    Bytes raw;
  };
  std::vector<Frame> frames;
  {
    const TraceFile file(path_);
    for (const FrameEntry& entry : file.frames()) {
      frames.push_back({entry.header, {}});
      file.read_frame(entry, frames.back().raw);
    }
  }
  const std::vector<std::string> designs{"none",    "software-undo", "hw-undo",
                                         "hw-redo", "lad",           "asap"};
  Random random(42);
  int accepted = 0;
  const int rounds = long_tests() ? 2'000 : 1'000;
  for (int round = 0; round < rounds; ++round) {
    std::vector<Frame> changed = frames;
    Frame& victim = changed[below(random, changed.size())];
    corrupt(victim.raw, random);
    if (victim.raw.empty()) continue;
    if (below(random, 16) == 0) victim.header.operations = below(random, 400);
    if (below(random, 16) == 0) victim.header.thread = static_cast<std::uint32_t>(below(random, 3));
    if (below(random, 16) == 0)
      victim.header.kind = static_cast<std::uint8_t>(below(random, kFrameKinds));
    Writer writer(path_);
    for (const Frame& frame : changed) {
      writer.frame(static_cast<FrameKind>(frame.header.kind), frame.header.thread, frame.raw,
                   frame.header.operations);
    }
    writer.finish();
    if (!use()) continue;
    const std::string& design = designs[below(random, designs.size())];
    if (accepted++ % (long_tests() ? 2 : 8) == 0) simulate_and_crash(design);
  }
  // A changed address or value can't be told from a recorded one; most other changes can.
  EXPECT_GT(accepted, rounds / 100);
  EXPECT_LT(accepted, rounds * 9 / 10);
}

// Headers, index and footer change, with correct checksums. The long form writes more such files.
TEST_F(TraceCorruptionTest, HostileStructureWithCorrectChecksumsIsRejectedOrRead) {
  FileFooter footer;
  std::memcpy(&footer, original_.data() + original_.size() - sizeof(footer), sizeof(footer));
  Random random(7);
  const int rounds = long_tests() ? 5'000 : 1'000;
  for (int round = 0; round < rounds; ++round) {
    Bytes bytes = original_;
    // One field of one index entry and, so that they agree, of the frame's own header.
    const std::uint64_t frame = below(random, footer.frames);
    std::byte* entry_at = bytes.data() + footer.index_offset + frame * sizeof(FrameEntry);
    FrameEntry entry;
    std::memcpy(&entry, entry_at, sizeof(entry));
    const std::uint64_t offset = entry.offset;
    auto* fields = reinterpret_cast<std::byte*>(&entry);
    const std::uint64_t field = below(random, sizeof(entry));
    fields[field] = below(random, 2) == 0 ? static_cast<std::byte>(below(random, 256))
                                          : fields[field] ^ std::byte{1};
    std::memcpy(entry_at, &entry, sizeof(entry));
    std::memcpy(bytes.data() + offset, &entry.header, sizeof(entry.header));
    FileFooter changed = footer;
    if (below(random, 8) == 0) changed.frames = below(random, 10);
    if (below(random, 8) == 0) changed.index_offset ^= below(random, 64);
    changed.index_checksum =
        XXH64(bytes.data() + footer.index_offset, footer.frames * sizeof(FrameEntry), 0);
    std::memcpy(bytes.data() + bytes.size() - sizeof(changed), &changed, sizeof(changed));
    write_file(bytes);
    use();
  }
}

}  // namespace
}  // namespace pmemsim::trace
