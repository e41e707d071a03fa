// Checks the time and the traffic of an oblivious RAM, and that data and images stay unchanged.
#include "pmemsim/designs/backend/oram.hpp"
#include "pmemsim/designs/backend/image_decoder.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "operations_bench.hpp"
#include "pmemsim/designs/backend/encryption.hpp"
#include "pmemsim/machine/memory/memory_statistics.hpp"

namespace pmemsim {
namespace {

constexpr Line kAccessed{0};
constexpr Picoseconds kO1 = ns(1000), kPad = ns(40);

auto oram(std::uint32_t levels, std::uint32_t bucket_lines, Picoseconds latency = kO1) {
  OramParameters parameters;
  parameters.levels = levels;
  parameters.bucket_lines = bucket_lines;
  parameters.latency = latency;
  return std::make_unique<Oram>(parameters);
}

// Lines of metadata written, and how often.
struct Traffic : OperationsBench {
  using OperationsBench::OperationsBench;
  void persisted(const Write& write, PersistencePoint point, Time when) override {
    if (write.kind == WriteKind::kMetadata) ++path_writes[write.line];
    OperationsBench::persisted(write, point, when);
  }
  std::map<Line, int> path_writes;
};

TEST(Oram, WritesAndReadsTakeTheConfiguredTime) {
  OperationsBench bench(oram(3, 4));
  EXPECT_EQ(bench.write(kAccessed, some_data(1)), kO1);
  bench.settle();
  EXPECT_EQ(bench.read(kAccessed), kO1);
}

TEST(Oram, AccessOverlapsWithThePad) {
  OperationsBench bench(std::make_unique<Encryption>(EncryptionParameters{}), oram(0, 1, ns(10)));
  bench.write(kAccessed, some_data(1));
  EXPECT_EQ(bench.write(kAccessed, some_data(2)), kPad);
}

TEST(Oram, ReadsAndWritesAPathForEachAccess) {
  Traffic bench(oram(3, 4));
  bench.write(kAccessed, some_data(1));
  bench.settle();
  EXPECT_EQ(bench.memory.statistics().reads, 4 * 4u);
  EXPECT_EQ(bench.path_writes.size(), 4 * 4u) << "root, two buckets and leaf, 4 lines each";
  bench.read(kAccessed);
  bench.settle();
  EXPECT_EQ(bench.memory.statistics().reads, 2 * 4 * 4 + 1u);
  EXPECT_EQ(bench.statistic("oram.accesses"), 2);
  EXPECT_EQ(bench.statistic("oram.path_lines"), 2 * 4 * 4);
}

TEST(Oram, PathsLeadFromTheRootToEveryLeaf) {
  Traffic bench(oram(2, 1, ns(200)));
  for (int i = 0; i < 100; ++i) {
    bench.write(kAccessed, some_data(1));
    bench.settle();
  }
  ASSERT_EQ(bench.path_writes.size(), 1 + 2 + 4u) << "buckets";
  std::vector<int> times;
  for (const auto& [_, count] : bench.path_writes) times.push_back(count);
  EXPECT_EQ(times[0], 100);
  EXPECT_EQ(times[1] + times[2], 100);
  EXPECT_EQ(times[3] + times[4], times[1]);
  EXPECT_EQ(times[5] + times[6], times[2]);
  for (std::size_t leaf = 3; leaf < 7; ++leaf) EXPECT_GT(times[leaf], 10) << leaf;
}

TEST(Oram, DataAndImagesStayUnchanged) {
  OperationsBench bench(oram(2, 2, ns(100)));
  bench.write_at_random(1, 300, 8, true);
  EXPECT_EQ(bench.problem, "");
  EXPECT_GT(bench.crashes, 300u);
  EXPECT_EQ(bench.backend->parts().decoder(), nullptr);
}

}  // namespace
}  // namespace pmemsim
