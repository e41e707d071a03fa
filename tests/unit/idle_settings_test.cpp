// Settings that change nothing: all that are called so do change nothing, and each says what does.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "pmemsim/machine/run/idle_settings.hpp"
#include "pmemsim/machine/run/simulate.hpp"
#include "run_trace.hpp"

namespace pmemsim {
namespace {

std::map<std::string, std::string> idle(const std::vector<KeyValue>& given) {
  const Configuration configuration = configure(settings(given));
  std::map<std::string, std::string> found;
  for (const auto& [key, value] : given) {
    if (std::string why = why_idle(configuration, key); !why.empty()) found[std::string(key)] = why;
  }
  return found;
}
std::string why(const std::vector<KeyValue>& given, const std::string& key) {
  const auto found = idle(given);
  const auto entry = found.find(key);
  return entry == found.end() ? "" : entry->second;
}

TEST(IdleSettings, SettingsOfUnselectedImplementationsAreReported) {
  EXPECT_EQ(why({{"atomicity", "software-undo"}, {"asap.cl_entries", "4"}}, "asap.cl_entries"),
            "has no effect with atomicity=software-undo; choose atomicity=asap, or remove the "
            "setting");
  EXPECT_EQ(
      why({{"atomicity", "none"}, {"log.free_entries", "16"}}, "log.free_entries"),
      "has no effect with atomicity=none; choose atomicity=hw-undo or hw-redo or asap or lad, or "
      "remove the setting");
  EXPECT_EQ(why({{"encryption.aes_latency", "4ns"}}, "encryption.aes_latency"),
            "has no effect with backend=none; choose backend=encryption, or remove the setting");
  EXPECT_EQ(
      why({{"ordering", "x86"}, {"pmemsim.faults", "dpo.order"}}, "pmemsim.faults"),
      "dpo.order has no effect with ordering=x86; choose ordering=dpo, or remove the setting");
  EXPECT_TRUE(
      idle({{"atomicity", "asap"}, {"asap.cl_entries", "4"}, {"log.free_entries", "16"}}).empty());
  EXPECT_TRUE(idle({{"backend", "encryption"}, {"counter_cache.ways", "4"}}).empty());
}

TEST(IdleSettings, SettingsOfAnotherDeviceAreReported) {
  EXPECT_EQ(why({{"pm.device", "dram"}, {"pm.read_latency", "4ns"}}, "pm.read_latency"),
            "has no effect with pm.device=dram; choose pm.device=fixed or buffered, set a "
            "parameter of this device instead (pm: trcd and tcl (reads), twr (writes), or "
            "latency_factor), or remove the setting");
  EXPECT_TRUE(why({{"dram.device", "fixed"}, {"dram.trcd", "4ns"}}, "dram.trcd")
                  .starts_with("has no effect with dram.device=fixed; choose dram.device=dram"));
  EXPECT_NE(why({{"pm.device", "buffered"}, {"pm.write_latency", "4ns"}}, "pm.write_latency"), "");
  EXPECT_TRUE(idle({{"pm.device", "buffered"}, {"pm.read_latency", "4ns"}}).empty());
  EXPECT_TRUE(idle({{"pm.device", "fixed"}, {"dram.trcd", "4ns"}, {"pm.trfc", "1ns"}}).empty());
}

TEST(IdleSettings, SettingsOfAbsentComponentsAreReported) {
  EXPECT_NE(why({{"l2.size", "0B"}, {"l2.ways", "8"}}, "l2.ways"), "");
  EXPECT_NE(why({{"tlb.ways", "2"}}, "tlb.ways"), "");
  EXPECT_NE(why({{"prefetch.distance", "2"}}, "prefetch.distance"), "");
  EXPECT_TRUE(idle({{"l2.size", "0B"}, {"tlb.entries", "0"}, {"prefetch.streams", "0"}}).empty());
  EXPECT_TRUE(idle({{"tlb.entries", "16"}, {"tlb.ways", "2"}}).empty());
  EXPECT_TRUE(idle({{"prefetch.streams", "4"}, {"prefetch.distance", "2"}}).empty());
}

// A program that uses all there is of a memory: reads and writes of many rows, and of one again.
std::int64_t time_of(const std::vector<KeyValue>& given) {
  trace::TraceBuilder builder;
  builder.pm_region(kPmBase, kPmBase + (1 << 22));
  const std::uint32_t load = builder.site(trace::SiteKind::kLoad, 8, 1);
  const std::uint32_t store = builder.site(trace::SiteKind::kStore, 8, 1);
  const std::uint32_t clwb = builder.site(trace::SiteKind::kFlush);
  const std::uint32_t sfence = builder.site(trace::SiteKind::kFence);
  builder.thread(0);
  for (std::uint64_t i = 0; i < 400; ++i) {
    const std::uint64_t address = kPmBase + i * 7919 % 32768 * kLineBytes;
    builder.access(load, address);
    if (i > 2) builder.access(load, kPmBase + (i - 2) * 7919 % 32768 * kLineBytes + kLineBytes);
    builder.store(store, address + (1 << 16), i);
    builder.access(clwb, address + (1 << 16));
    if (i % 8 == 0) builder.plain(sfence);
  }
  const TemporaryTrace temporary(builder);
  const std::vector<KeyValue> base{{"ordering", "x86"}, {"atomicity", "none"}, {"core.count", "1"}};
  const trace::TraceFile trace(temporary.path());
  return simulate(trace, configure(settings(base, given)), {}).time.count;
}

// Settings that the list calls idle for a device don't change the time of a run. (A rank's tFAW and
// the gaps of its bus don't show in this program.)
TEST(IdleSettings, ReportedSettingsDoNotChangeTheRun) {
  const std::map<std::string_view, std::string_view> values{{"pm.trcd", "500ns"},
                                                            {"pm.tcl", "500ns"},
                                                            {"pm.tcwd", "500ns"},
                                                            {"pm.trp", "500ns"},
                                                            {"pm.tras", "5us"},
                                                            {"pm.twr", "5us"},
                                                            {"pm.twtr", "500ns"},
                                                            {"pm.trtp", "5us"},
                                                            {"pm.trtw", "500ns"},
                                                            {"pm.trrd", "5us"},
                                                            {"pm.tfaw", "50us"},
                                                            {"pm.page_policy", "closed"},
                                                            {"pm.read_latency", "5us"},
                                                            {"pm.write_latency", "50us"},
                                                            {"pm.internal_line", "4096B"},
                                                            {"pm.read_buffer_lines", "1"},
                                                            {"pm.write_buffer_lines", "1"},
                                                            {"pm.buffer_latency", "5us"},
                                                            {"pm.media_read_interval", "5us"},
                                                            {"pm.media_write_interval", "50us"}};
  std::map<std::string_view, int> matters;
  for (const std::string_view device : {"dram", "fixed", "buffered"}) {
    const std::vector<KeyValue> chosen{{"pm.device", device}, {"pm.wpq_entries", "4"}};
    const std::int64_t usual = time_of(chosen);
    for (const auto& [key, value] : values) {
      std::vector<KeyValue> changed = chosen;
      changed.emplace_back(key, value);
      const bool differs = time_of(changed) != usual;
      matters[key] += differs;
      EXPECT_TRUE(!differs || why(changed, std::string(key)).empty()) << key << ", " << device;
    }
  }
  for (const auto& [key, value] : values) EXPECT_GT(matters[key], 0) << key;
}

}  // namespace
}  // namespace pmemsim
