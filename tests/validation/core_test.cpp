// The core against closed forms: each run's time within 5% of the formula beside it.
#include <gtest/gtest.h>

#include "run_trace.hpp"

namespace pmemsim {
namespace {

using trace::SiteKind;
using trace::SyncKind;
using trace::TraceBuilder;

constexpr double kTolerance = 0.05;

void expect_near(double measured, double formula) {
  EXPECT_NEAR(measured, formula, kTolerance * formula);
}

// A machine in round numbers: 1 GHz, so that a cycle is a nanosecond; a device without queues or
// row buffers to think of.
std::vector<Setting> round_machine(std::initializer_list<KeyValue> more = {}) {
  std::vector<Setting> list = settings({{"core.frequency", "1GHz"},
                                        {"core.width", "4"},
                                        {"core.rob_entries", "64"},
                                        {"core.load_queue_entries", "32"},
                                        {"core.store_queue_entries", "16"},
                                        {"core.mshrs", "8"},
                                        {"l1.size", "32KiB"},
                                        {"l1.ways", "8"},
                                        {"l1.latency", "4cycles"},
                                        {"l2.size", "256KiB"},
                                        {"l2.ways", "8"},
                                        {"l2.latency", "10cycles"},
                                        {"shared.size", "1MiB"},
                                        {"shared.size_per_core", "0B"},
                                        {"shared.latency", "30cycles"},
                                        {"pm.device", "fixed"},
                                        {"pm.read_latency", "200ns"},
                                        {"pm.write_latency", "100ns"},
                                        {"pm.front_latency", "0ns"},
                                        {"pm.back_latency", "0ns"}});
  for (const Setting& setting : settings(more)) list.push_back(setting);
  return list;
}

// p = p->next over a working set, line by line, several rounds: every load depends on the one before.
double chase_ns_per_load(std::uint64_t bytes, std::uint64_t base) {
  TraceBuilder builder;
  builder.pm_region(kPmBase, kPmBase + (1u << 30));
  const std::uint32_t load = builder.site(SiteKind::kLoad, 8, 1, {trace::kBuiltinSites << 8});
  const std::uint64_t lines = bytes / 64;
  constexpr int kRounds = 20;
  for (std::uint64_t i = 0; i < lines; ++i) builder.access(load, base + i * 64);
  const double cold = nanoseconds(run_trace(builder, round_machine()));
  for (int round = 0; round < kRounds; ++round) {
    for (std::uint64_t i = 0; i < lines; ++i) builder.access(load, base + i * 64);
  }
  const double all = nanoseconds(run_trace(builder, round_machine()));
  return (all - cold) / static_cast<double>(lines * kRounds);
}

TEST(Chase, L1HitsTakeTheL1Latency) { expect_near(chase_ns_per_load(16 << 10, kPmBase), 4); }
TEST(Chase, L2HitsAddTheL2Latency) { expect_near(chase_ns_per_load(128 << 10, kPmBase), 4 + 10); }
TEST(Chase, SharedHitsAddTheSharedLatency) {
  expect_near(chase_ns_per_load(512 << 10, kPmBase), 4 + 10 + 30);
}
TEST(Chase, PmReadsAddTheDeviceLatency) {
  expect_near(chase_ns_per_load(4 << 20, kPmBase), 4 + 10 + 30 + 200 + 3.332);
}

}  // namespace
}  // namespace pmemsim
