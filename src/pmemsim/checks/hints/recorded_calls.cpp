#include "pmemsim/checks/hints/recorded_calls.hpp"

#include "pmemsim/common/units.hpp"
#include "pmemsim/designs/interface/lowered_stream.hpp"

namespace pmemsim {
namespace {

using trace::MarkKind;
using trace::SiteKind;

class CallReader {
 public:
  CallReader(const trace::TraceFile& trace, std::uint32_t thread, const Lowering& lowering)
      : sites_(trace.sites()),
        stream_(trace, thread, lowering, {.hints = true, .allocations = true}) {}

  RecordedCalls read() {
    trace::Operation operation;
    while (stream_.next(operation)) {
      if (operation.site >= trace::kBuiltinSites) follow(operation.site);
      if (operation.kind == SiteKind::kFlush) {
        flush(Line::of(operation.address).number);
      } else if (operation.kind == SiteKind::kMark) {
        mark(operation);
      }
    }
    return std::move(found_);
  }

 private:
  // Rules 1 and 2.
  void follow(std::uint32_t site) {
    const auto& record = sites_.sites()[site];
    in_library_ = in_library(sites_.string(record.file));
    if (!in_library_ || caller_ == trace::kExternalSite) caller_ = site;
  }

  void flush(std::uint64_t line) {
    found_.flushes[line].push_back(caller_);
    waiting_.erase(line);
  }

  void mark(const trace::Operation& operation) {
    switch (static_cast<MarkKind>(operation.detail)) {
      case MarkKind::kHint:
        return hint(operation);
      case MarkKind::kAllocate:
        blocks_[operation.address] = operation.second;
        return;
      case MarkKind::kFree:
        return free(operation.address);
      default:
        return;
    }
  }

  void hint(const trace::Operation& operation) {
    const auto number = static_cast<std::uint32_t>(found_.hints.size());
    found_.hints.push_back({caller_, in_library_});
    const auto bytes = static_cast<std::uint32_t>(operation.second);
    if (operation.address == 0 || bytes == 0) return;
    const std::uint64_t first = Line::of(operation.address).number;
    const std::uint64_t last = Line::of(operation.address + bytes - 1).number;
    for (std::uint64_t line = first; line <= last; ++line) {
      waiting_[line].push_back({number, static_cast<std::uint32_t>(line - first)});
    }
  }

  // Implements rule 3 (recorded_calls.hpp).
  void free(std::uint64_t address) {
    const auto block = blocks_.find(address);
    const std::uint64_t bytes = block == blocks_.end() ? 1 : block->second;
    const std::uint64_t last = Line::of(address + bytes - 1).number;
    for (std::uint64_t line = Line::of(address).number; line <= last; ++line) {
      const auto hinted = waiting_.find(line);
      if (hinted == waiting_.end()) continue;
      found_.freed.insert(hinted->second.begin(), hinted->second.end());
      waiting_.erase(hinted);
    }
    if (block != blocks_.end()) blocks_.erase(block);
  }

  const trace::SiteTable& sites_;
  LoweredStream stream_;
  RecordedCalls found_;
  std::uint32_t caller_ = trace::kExternalSite;  // Last site outside the library
  bool in_library_ = false;                      // True if the last site is the library's
  std::unordered_map<std::uint64_t, std::uint64_t> blocks_;  // Size in B, by address
  // By line: hints that no flush of the line has followed.
  std::unordered_map<std::uint64_t, std::vector<std::pair<std::uint32_t, std::uint32_t>>> waiting_;
};

}  // namespace

bool in_library(std::string_view file) { return file.starts_with("library/"); }

RecordedCalls recorded_calls(const trace::TraceFile& trace, std::uint32_t thread,
                             const Lowering& lowering) {
  return CallReader(trace, thread, lowering).read();
}

}  // namespace pmemsim
