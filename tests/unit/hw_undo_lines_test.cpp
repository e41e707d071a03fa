// The hardware undo log on a workbench, with two cores: lines that wait for their log entries, and
// stores that wait for room for a header.
#include <gtest/gtest.h>

#include "pmemsim/designs/atomicity/atomicity.hpp"
#include "pmemsim/designs/atomicity/hw_undo.hpp"
#include "pmemsim/designs/atomicity/hw_undo_recovery.hpp"
#include "unit/redo_bench.hpp"

namespace pmemsim {
namespace {

class UndoBench {
 public:
  // Room for a header of each core, all of which are written by one bank.
  UndoBench()
      : platform(two_banks({{"core.count", "2"},
                            {"atomicity", "hw-undo"},
                            {"log.area", "shared"},
                            {"log.header_entries", "2"}})),
        undo(dynamic_cast<HwUndo&>(platform.design.atomicity())) {
    for (const CoreId core : {0u, 1u}) undo.region_begin(core, 1, platform.now(), {});
  }
  // False if it waits.
  bool store(CoreId core, Line line) {
    const LineData value = data_of(core + 1);
    const Store store{core, 0, line.address(), 8, value.data(), platform.pm_space.newest(), 1};
    return undo.store(store, platform.now(), completion<&UndoBench::proceed>(*this, core));
  }
  bool flush(CoreId core, Line line) {
    return undo.flush(core, line, platform.now(), completion<&UndoBench::proceed>(*this, core));
  }
  bool end(CoreId core) {
    return undo.region_end(core, 1, platform.now(), completion<&UndoBench::proceed>(*this, core));
  }
  double entries() const {
    StatisticsCollector collector;
    undo.statistics(collector);
    for (const Statistic& found : collector.found) {
      if (found.name == "log.entries") return found.value;
    }
    return -1;
  }
  LineData recovered(Line line) const {
    Image image = surviving(platform.pm);
    recover_undo_log(undo.survivors(), image);
    return image.read(line);
  }

  Platform platform;
  HwUndo& undo;
  bool gone_on[2] = {false, false};

 private:
  void proceed(std::uint64_t core, Time) { gone_on[core] = true; }
};

// A line of each core for each entry of a record, and one more.
Line line_of(CoreId core, std::uint64_t number) {
  return {kBank0.number + core * (kRecordEntries + 1) + number};
}
void fill_records(UndoBench& bench) {
  for (std::uint64_t entry = 0; entry < kRecordEntries; ++entry) {
    for (const CoreId core : {0u, 1u}) EXPECT_TRUE(bench.store(core, line_of(core, entry)));
  }
}

// Rule 2.
TEST(HwUndoLines, FlushWaitsForTheLogEntryOfAnyCore) {
  UndoBench bench;
  EXPECT_TRUE(bench.store(0, kBank1));
  EXPECT_FALSE(bench.flush(1, kBank1));
  bench.platform.until([&] { return bench.gone_on[1]; });
  EXPECT_EQ(bench.undo.pending(), "") << "the entry is acknowledged";
  EXPECT_TRUE(bench.flush(1, kBank1));
}

// Rules 2 and 4: the line leaves the caches before its log entry is acknowledged, so the region
// writes it late.
TEST(HwUndoLines, RegionCommitsAfterItsLateEvictions) {
  UndoBench bench;
  const Line line = kBank1;
  EXPECT_TRUE(bench.store(0, line));
  bench.platform.pm_space.newest().write(line, data_of(1));
  EXPECT_EQ(bench.undo.evicted(line, data_of(1), bench.platform.now()), Eviction::kTaken);
  EXPECT_FALSE(bench.end(0));
  bench.platform.until([&] { return bench.gone_on[0]; });
  EXPECT_EQ(bench.undo.survivors().committed[0], 1u);
  EXPECT_EQ(bench.recovered(line), data_of(1));
}

// Rule 5: of two stores that wait, a header that has been written lets one go.
TEST(HwUndoLines, StoreStallsUntilItsHeaderHasSpace) {
  UndoBench bench;
  fill_records(bench);
  for (const CoreId core : {0u, 1u}) EXPECT_FALSE(bench.store(core, line_of(core, kRecordEntries)));
  bench.platform.until([&] { return bench.gone_on[0] || bench.gone_on[1]; });
  EXPECT_NE(bench.gone_on[0], bench.gone_on[1]);
  EXPECT_EQ(bench.entries(), 2 * kRecordEntries + 1);
  bench.platform.until([&] { return bench.gone_on[0] && bench.gone_on[1]; });
  EXPECT_EQ(bench.entries(), 2 * kRecordEntries + 2);
}

// Rule 1: the old contents are the line's contents when the stalled store continues.
TEST(HwUndoLines, StalledStoreLogsStoresMadeDuringItsStall) {
  UndoBench bench;
  fill_records(bench);
  const Line line = line_of(0, kRecordEntries);
  EXPECT_FALSE(bench.store(0, line));
  bench.platform.pm_space.newest().write(line, data_of(9));
  bench.platform.until([&] { return bench.gone_on[0]; });
  bench.platform.run();
  EXPECT_EQ(bench.recovered(line), data_of(9));
}

}  // namespace
}  // namespace pmemsim
