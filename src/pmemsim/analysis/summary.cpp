#include "pmemsim/analysis/summary.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include <nlohmann/json.hpp>

#include "pmemsim/analysis/races.hpp"
#include "pmemsim/trace/initial_state.hpp"
#include "pmemsim/trace/names.hpp"
#include "pmemsim/trace/pm_addresses.hpp"

namespace pmemsim::trace {
namespace {

// Lines and locks that several threads may share, for counts without duplicates.
struct Shared {
  std::unordered_set<std::uint64_t> lines;
  std::unordered_map<std::uint32_t, std::uint64_t> locks;  // acquisitions, by object

  void add(const Shared& thread) {
    lines.insert(thread.lines.begin(), thread.lines.end());
    for (const auto& [object, acquisitions] : thread.locks) locks[object] += acquisitions;
  }
  void count(ThreadSummary& summary) const {
    summary.pm_lines = lines.size();
    summary.different_locks = locks.size();
    for (const auto& [object, acquisitions] : locks) {
      summary.busiest_lock = std::max(summary.busiest_lock, acquisitions);
    }
  }
};

class ThreadCounter {
 public:
  explicit ThreadCounter(const TraceFile& file) : pm_(file.metadata()) {}

  void count(const Operation& operation) {
    ++summary_.operations;
    ++summary_.by_kind[static_cast<std::size_t>(operation.kind)];
    count_instructions(operation);
    switch (operation.kind) {
      case SiteKind::kLoad:
      case SiteKind::kAtomicLoad:
      case SiteKind::kCopyLoad:
        load(operation);
        break;
      case SiteKind::kStore:
      case SiteKind::kNonTemporal:
      case SiteKind::kAtomicStore:
      case SiteKind::kCopyStore:
        store(operation);
        break;
      case SiteKind::kAtomicUpdate:
        load(operation);
        if (operation.flag) store(operation);
        break;
      case SiteKind::kFlush:
        ++summary_.flushes;
        break;
      case SiteKind::kFence:
        ++summary_.fences;
        break;
      case SiteKind::kMark:
        mark(operation);
        break;
      case SiteKind::kSync:
        sync(operation);
        break;
      case SiteKind::kBranch:
      case SiteKind::kExecute:
      case SiteKind::kExternal:
      case SiteKind::kRecurrence:
      case SiteKind::kIndirectBranch:
        break;
    }
  }

  ThreadSummary finish(Shared& all) {
    shared_.count(summary_);
    all.add(shared_);
    return summary_;
  }

 private:
  bool in_program() const { return purpose_ == static_cast<std::uint64_t>(Purpose::kProgram); }
  void count_instructions(const Operation& operation) {
    const bool external = operation.kind == SiteKind::kExternal;
    (external ? summary_.external_instructions : summary_.instructions) += operation.instructions;
    if (external && operation.flag) summary_.unknown_instructions += operation.instructions;
    summary_.instructions_by_purpose[purpose_] += operation.instructions;
    if (depth_ == 0) return;
    summary_.region_instructions += operation.instructions;
    if (in_program()) summary_.region_program_instructions += operation.instructions;
  }
  void load(const Operation& operation) {
    if (pm_.contains(operation.address)) {
      ++summary_.pm_loads;
      touch(operation);
    } else {
      ++summary_.dram_loads;
    }
  }
  void store(const Operation& operation) {
    if (!pm_.contains(operation.address)) {
      ++summary_.dram_stores;
      return;
    }
    ++summary_.pm_stores;
    summary_.pm_bytes_written += operation.size;
    touch(operation);
    if (depth_ > 0 && in_program()) {
      for_each_line(operation, [&](std::uint64_t line) { region_lines_.push_back(line); });
    }
  }
  void touch(const Operation& operation) {
    for_each_line(operation, [&](std::uint64_t line) { shared_.lines.insert(line); });
  }
  template <class Visit>
  static void for_each_line(const Operation& operation, Visit visit) {
    const std::uint64_t last = (operation.address + operation.size - 1) / kLineBytes;
    for (std::uint64_t line = operation.address / kLineBytes; line <= last; ++line) visit(line);
  }

  void mark(const Operation& operation) {
    switch (static_cast<MarkKind>(operation.detail)) {
      case MarkKind::kPurpose:
        purpose_ = operation.address;
        break;
      case MarkKind::kRegionBegin:
        ++depth_;
        break;
      case MarkKind::kRegionEnd:
        if (depth_ == 1) end_region();
        if (depth_ > 0) --depth_;
        break;
      default:
        break;
    }
  }
  void end_region() {
    ++summary_.regions;
    std::sort(region_lines_.begin(), region_lines_.end());
    const auto different = std::unique(region_lines_.begin(), region_lines_.end());
    summary_.region_lines += static_cast<std::uint64_t>(different - region_lines_.begin());
    region_lines_.clear();
  }
  void sync(const Operation& operation) {
    const auto kind = static_cast<SyncKind>(operation.detail);
    if (is_lock(kind) && !is_companion(kind, operation.address)) {
      ++summary_.locks;
      ++shared_.locks[operation.object];
    }
  }

  ThreadSummary summary_;
  PmAddresses pm_;
  Shared shared_;
  std::vector<std::uint64_t> region_lines_;
  std::uint64_t purpose_ = 0;
  std::uint64_t depth_ = 0;
};

void add(ThreadSummary& total, const ThreadSummary& thread) {
  total.operations += thread.operations;
  for (std::size_t i = 0; i < kSiteKinds; ++i) total.by_kind[i] += thread.by_kind[i];
  total.instructions += thread.instructions;
  total.external_instructions += thread.external_instructions;
  total.unknown_instructions += thread.unknown_instructions;
  for (std::size_t i = 0; i < kPurposes; ++i) {
    total.instructions_by_purpose[i] += thread.instructions_by_purpose[i];
  }
  total.pm_loads += thread.pm_loads;
  total.pm_stores += thread.pm_stores;
  total.dram_loads += thread.dram_loads;
  total.dram_stores += thread.dram_stores;
  total.pm_bytes_written += thread.pm_bytes_written;
  total.flushes += thread.flushes;
  total.fences += thread.fences;
  total.locks += thread.locks;
  total.regions += thread.regions;
  total.region_instructions += thread.region_instructions;
  total.region_program_instructions += thread.region_program_instructions;
  total.region_lines += thread.region_lines;
}

nlohmann::ordered_json json_of(const ThreadSummary& summary) {
  nlohmann::ordered_json by_kind, by_purpose;
  for (std::size_t i = 0; i < kSiteKinds; ++i) {
    by_kind[std::string(name_of(static_cast<SiteKind>(i)))] = summary.by_kind[i];
  }
  for (std::size_t i = 0; i < kPurposes; ++i) {
    by_purpose[std::string(name_of(static_cast<Purpose>(i)))] = summary.instructions_by_purpose[i];
  }
  return {{"operations", summary.operations},
          {"operations_by_kind", by_kind},
          {"instructions", summary.instructions},
          {"external_instructions", summary.external_instructions},
          {"unknown_instructions", summary.unknown_instructions},
          {"instructions_by_purpose", by_purpose},
          {"pm_loads", summary.pm_loads},
          {"pm_stores", summary.pm_stores},
          {"dram_loads", summary.dram_loads},
          {"dram_stores", summary.dram_stores},
          {"pm_bytes_written", summary.pm_bytes_written},
          {"pm_lines", summary.pm_lines},
          {"flushes", summary.flushes},
          {"fences", summary.fences},
          {"locks", summary.locks},
          {"different_locks", summary.different_locks},
          {"busiest_lock", summary.busiest_lock},
          {"regions", summary.regions},
          {"lines_per_region", summary.lines_per_region()},
          {"instructions_per_region", summary.instructions_per_region()},
          {"program_instructions_per_region", summary.program_instructions_per_region()}};
}

}  // namespace

Summary summarize(const TraceFile& file) {
  Summary summary;
  Shared all;
  for (std::uint32_t thread = 0; thread < file.metadata().threads; ++thread) {
    ThreadCounter counter(file);
    OperationStream stream(file, thread);
    Operation operation;
    while (stream.next(operation)) counter.count(operation);
    summary.threads.push_back(counter.finish(all));
    add(summary.total, summary.threads.back());
  }
  all.count(summary.total);
  summary.sites = file.sites().sites().size() - kBuiltinSites;
  for_each_image_page(file,
                      [&](std::uint64_t, std::span<const std::byte>) { ++summary.image_pages; });
  for_each_warm_line(file, [&](const WarmLine&) { ++summary.warm_lines; });
  for (const FrameEntry& frame : file.frames()) {
    if (is(frame.header, FrameKind::kTurns)) summary.turns += frame.header.raw_bytes / sizeof(Turn);
  }
  const Races races(file);
  for (std::uint32_t thread = 0; thread < file.metadata().threads; ++thread) {
    summary.races += races.of(thread).size();
  }
  return summary;
}

std::string to_json(const Summary& summary) {
  nlohmann::ordered_json threads = nlohmann::ordered_json::array();
  for (const ThreadSummary& thread : summary.threads) threads.push_back(json_of(thread));
  const nlohmann::ordered_json json = {{"total", json_of(summary.total)},
                                       {"threads", threads},
                                       {"sites", summary.sites},
                                       {"image_pages", summary.image_pages},
                                       {"warm_lines", summary.warm_lines},
                                       {"turns", summary.turns},
                                       {"races", summary.races}};
  return json.dump();
}

}  // namespace pmemsim::trace
