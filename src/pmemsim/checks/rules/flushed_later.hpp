// Findings about possibly lost data that count only if the line of the data is flushed later. If it
// never is, the store is already a finding of rule P1 (never_flushed.hpp).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "pmemsim/checks/rules/findings.hpp"
#include "pmemsim/checks/rules/lines.hpp"

namespace pmemsim::check {

class FlushedLater {
 public:
  struct Entry {
    Kind kind;
    Reason reason;
    At at, other;
    Line line;
    std::uint32_t flushes;  // Number of the line's flushes until then
  };

  FlushedLater(Findings& findings, const Lines& lines) : findings_(findings), lines_(lines) {}

  void add(const Entry& entry) {
    entries_.push_back(entry);
    if (entries_.size() >= limit_) report_certain();
  }

  // Reports the findings when all threads have ended.
  void finish() {
    for (const Entry& each : entries_) {
      const LineState& state = *lines_.find(each.line);
      if (state.pending || state.dirty == 0 || state.flushes != each.flushes) report(each);
    }
  }

 private:
  // Bounds the memory of a recording with many findings.
  void report_certain() {
    std::erase_if(entries_, [&](const Entry& each) {
      if (lines_.find(each.line)->flushes == each.flushes) return false;
      report(each);
      return true;
    });
    limit_ = std::max(limit_, 2 * entries_.size());
  }
  void report(const Entry& each) { findings_.add(each.kind, each.reason, each.at, each.other); }

  Findings& findings_;
  const Lines& lines_;
  std::vector<Entry> entries_;
  std::size_t limit_ = 1 << 16;  // Number of entries at which those that are certain are reported
};

}  // namespace pmemsim::check
