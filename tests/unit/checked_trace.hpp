// Hand-written traces for tests of the rules of a program's check.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pmemsim/checks/rules/program_check.hpp"
#include "run_trace.hpp"

namespace pmemsim::check {

using trace::FenceKind;
using trace::FlushKind;
using trace::MarkKind;
using trace::Purpose;
using trace::SiteKind;
using trace::SyncKind;

inline constexpr std::uint64_t kLine = kPmBase + (1 << 16);
inline constexpr std::uint64_t kOther = kLine + (1 << 14), kThird = kOther + (1 << 14);
inline constexpr std::uint64_t kHeapWord = 0x555500000000;
inline constexpr std::uint64_t kLockWord = 0x555500001000;

// Source lines distinguish the sites.
struct CheckedTrace : trace::TraceBuilder {
  explicit CheckedTrace(std::string_view source = "/mnt/pmem/file") {
    pm_region(kPmBase, kPmBase + (1 << 20), source);
  }

  std::uint32_t at(std::uint32_t line, SiteKind kind, std::uint8_t size, std::uint8_t detail = 0,
                   std::uint8_t flags = 0, const std::string& function = "work",
                   std::vector<std::uint32_t> data = {}) {
    const std::string file = function == "library" ? "library/log.c" : "mine.c";
    return site(kind, size, 1, {}, std::move(data), detail, flags, {file, function, line});
  }
  std::uint32_t flush_at(std::uint32_t line, FlushKind kind = FlushKind::kClwb) {
    return at(line, SiteKind::kFlush, 0, static_cast<std::uint8_t>(kind));
  }
  std::uint32_t fence_at(std::uint32_t line, FenceKind kind = FenceKind::kSfence) {
    return at(line, SiteKind::kFence, 0, static_cast<std::uint8_t>(kind));
  }

  void put(std::uint64_t address, std::uint64_t value = 7) { store(store_site, address, value); }
  void clwb(std::uint64_t address) { access(clwb_site, address); }
  void sfence() { plain(sfence_site); }
  void persist(std::uint64_t address, std::uint64_t value = 7) {
    put(address, value);
    clwb(address);
    sfence();
  }
  void begin() { mark(MarkKind::kRegionBegin, 1); }
  void end() { mark(MarkKind::kRegionEnd, 1); }
  void log(std::uint64_t address, std::uint64_t bytes = 8) {
    plain(log_call);
    mark(MarkKind::kLogRange, address, bytes);
  }
  // Thread 1 continues after thread 0's stores.
  void hand_over(std::uint32_t version = 1) {
    sync(SyncKind::kThreadCreate, kLockWord, 0, version);
    thread(1);
    sync(SyncKind::kThreadStart, kLockWord, 0, version);
  }

  Report report(const Options& options = {}) {
    const TemporaryTrace file(*this);
    return check_program(trace::TraceFile(file.path()), options, [](double) { return true; });
  }
  // The findings as `kind line`, with `:reason` and `/line of the other side`.
  std::vector<std::string> check(const Options& options = {}) {
    std::vector<std::string> found;
    for (const Finding& finding : report(options).findings) {
      std::string text(name_of(finding.kind));
      if (finding.reason != Reason::kNone) text += ":" + std::string(name_of(finding.reason));
      text += " " + std::to_string(finding.place.line);
      if (finding.other.line != 0) text += "/" + std::to_string(finding.other.line);
      if (finding.count > 1) text += " x" + std::to_string(finding.count);
      found.push_back(text);
    }
    return found;
  }

  const std::uint32_t store_site = at(10, SiteKind::kStore, 8);
  const std::uint32_t clwb_site = flush_at(20);
  const std::uint32_t sfence_site = fence_at(30);
  const std::uint32_t log_call = at(40, SiteKind::kExecute, 0);
  const std::uint32_t load_site = at(50, SiteKind::kLoad, 8);
  const std::uint32_t nt_site = at(60, SiteKind::kNonTemporal, 8);
  const std::uint32_t second = at(11, SiteKind::kStore, 8);
};

using Found = std::vector<std::string>;

}  // namespace pmemsim::check
