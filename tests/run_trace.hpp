// Runs a trace built by hand on a machine whose parameters are written beside the test.
#pragma once

#include <unistd.h>
#include <cstdio>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "pmemsim/machine/run/configuration.hpp"
#include "pmemsim/machine/run/simulate.hpp"
#include "trace_builder.hpp"

namespace pmemsim {

inline constexpr std::uint64_t kPmBase = 0x100000000000;
inline constexpr std::uint64_t kDramBase = 0x10000000;

using KeyValue = std::pair<std::string_view, std::string_view>;

// Returns the settings of `pairs`, replaced by those of `more` with the same key.
inline std::vector<Setting> settings(const std::vector<KeyValue>& pairs,
                                     const std::vector<KeyValue>& more = {}) {
  std::vector<Setting> list;
  for (const auto* part : {&pairs, &more}) {
    for (const auto& [key, value] : *part) {
      list.push_back({std::string(key), std::string(value), "test"});
    }
  }
  return list;
}

// A trace file that is gone when the test is over.
class TemporaryTrace {
 public:
  explicit TemporaryTrace(trace::TraceBuilder& builder) {
    static int counter = 0;
    path_ = (std::filesystem::temp_directory_path() /
             ("pmemsim-" + std::to_string(getpid()) + "-" + std::to_string(counter++) + ".pmt"))
                .string();
    builder.write(path_);
  }
  TemporaryTrace(const TemporaryTrace&) = delete;
  TemporaryTrace& operator=(const TemporaryTrace&) = delete;
  ~TemporaryTrace() { std::remove(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline RunResult run_trace(trace::TraceBuilder& builder, const std::vector<Setting>& settings) {
  const TemporaryTrace trace(builder);
  return simulate(trace::TraceFile(trace.path()), configure(settings), {});
}

inline double statistic(const RunResult& result, std::string_view name) {
  for (const Statistic& statistic : result.statistics) {
    if (statistic.name == name) return statistic.value;
  }
  throw Error("no statistic " + std::string(name));
}

inline double nanoseconds(const RunResult& result) {
  return static_cast<double>(result.time.count) / 1000;
}

}  // namespace pmemsim
