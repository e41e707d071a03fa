// A test bench for Janus: a design with all operations that Janus starts early, and cached
// metadata. Tests give hints and writes by hand.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "memory_bench.hpp"
#include "platform.hpp"

#include "pmemsim/designs/backend/backend.hpp"

namespace pmemsim {

// Latencies: of a request's path, of the tree, and of all operations in parallel.
inline constexpr Picoseconds kWay = ns(15), kTree = ns(360), kParallel = ns(681);
inline constexpr std::uint64_t kHintedAddress = kPmBase + 4096;
inline constexpr Line kHintedLine = Line::of(kHintedAddress);

using JanusValues = std::vector<std::pair<std::string, std::string>>;

inline std::vector<Setting> janus_settings(const JanusValues& more) {
  JanusValues all{
      {"core.count", "2"},         {"backend", "deduplication,encryption,integrity"},
      {"precompute", "janus"},     {"pm.wpq_entries", "64"},
      {"pm.front_latency", "0ns"}, {"janus.decode_latency", "1ns"},
  };
  all.insert(all.end(), more.begin(), more.end());
  std::vector<Setting> settings;
  for (const auto& [key, value] : all) settings.push_back({key, value, "test"});
  return settings;
}

struct JanusBench : Platform {
  explicit JanusBench(const JanusValues& more = {}) : Platform(configure(janus_settings(more))) {
    // Metadata that the tests' writes look up are cached before the tests begin.
    for (const std::uint64_t line : {0, 1, 2, 3, 64, 4096})
      write({kHintedLine.number + line}, 900 + line);
    for (std::uint64_t value = 1; value < 20; ++value) {
      hint(trace::HintKind::kData, 1000 + static_cast<std::uint32_t>(value), 0, data_of(value));
    }
    run();
    design.thread_ended(0);
    before = statistics();
  }

  void hint(trace::HintKind kind, std::uint32_t object, std::uint64_t address,
            std::span<const std::byte> data, std::uint32_t bytes = kLineBytes, CoreId core = 0) {
    design.hint(core, {kind, object, address, bytes, data}, queue.now());
  }
  void address(std::uint32_t object, std::uint64_t where, std::uint32_t bytes = kLineBytes) {
    hint(trace::HintKind::kAddress, object, where, {}, bytes);
  }
  // Gives a hint of consecutive lines, one for each value.
  void lines(std::uint32_t object, std::uint64_t where, const std::vector<std::uint64_t>& values) {
    std::vector<std::byte> data;
    for (const std::uint64_t value : values) {
      const LineData line = data_of(value);
      data.insert(data.end(), line.begin(), line.end());
    }
    hint(trace::HintKind::kBoth, object, where, data, static_cast<std::uint32_t>(data.size()));
  }
  void start(std::uint32_t object) { hint(trace::HintKind::kStartBuffered, object, 0, {}, 0); }

  Picoseconds write(Line line, std::uint64_t value) { return write(line, data_of(value)); }
  Picoseconds write(Line line, const LineData& data) {
    const Time sent = queue.now();
    persisted = Time{-1};
    design.backend().write({.line = line,
                            .data = data,
                            .persisted = completion<&JanusBench::note>(*this),
                            .written = {}});
    until([&] { return persisted != Time{-1}; });
    return persisted - sent;
  }
  // Runs until all writes are on the device, because duplicates are found only there.
  void write_out() {
    run();
    pm.drain();
    run();
  }
  // Returns the count since the test began.
  double count(const std::string& name) const {
    const auto found = statistics();
    EXPECT_TRUE(found.contains("janus." + name)) << name;
    return found.at("janus." + name) - before.at("janus." + name);
  }
  void note(std::uint64_t, Time when) { persisted = when; }

  Time persisted{};
  std::map<std::string, double> before;
};

}  // namespace pmemsim
