// The words of persistent memory that a recorded program writes. They are found without the order
// of threads, so most operations of the recording are skipped.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "pmemsim/common/units.hpp"
#include "pmemsim/trace/accesses.hpp"
#include "pmemsim/trace/pm_addresses.hpp"
#include "pmemsim/trace/reader.hpp"

namespace pmemsim {

// Calls visit(address) for each word that the operation accesses.
template <class Visit>
void for_each_word(const trace::Operation& operation, Visit visit) {
  const std::uint64_t last = (operation.address + operation.size - 1) / kWordBytes;
  for (std::uint64_t word = operation.address / kWordBytes; word <= last; ++word) {
    visit(word * kWordBytes);
  }
}

// Returns the size of an allocation in whole lines, in B.
constexpr std::uint64_t whole_lines(std::uint64_t bytes) {
  return (bytes + kLineBytes - 1) / kLineBytes * kLineBytes;
}

// The memory that the open region has allocated.
class AllocatedHere {
 public:
  void add(std::uint64_t address, std::uint64_t bytes) {
    allocations_.push_back({address, whole_lines(bytes)});
  }
  void clear() { allocations_.clear(); }
  bool contains(std::uint64_t address) const {
    return std::ranges::any_of(allocations_, [&](const Allocation& allocation) {
      return address - allocation.address < allocation.bytes;
    });
  }

 private:
  struct Allocation {
    std::uint64_t address, bytes;
  };
  std::vector<Allocation> allocations_;
};

// The words that one thread writes. A store to memory that its region has allocated writes the
// whole line, unless lines of unfinished regions stay readable (program_history.hpp).
class WrittenWords {
 public:
  WrittenWords(const trace::TraceFile& trace, CoreId thread, bool whole_regions,
               bool lines_readable)
      : pm_(trace.metadata()),
        stream_(trace, thread),
        whole_lines_(whole_regions && !lines_readable) {}

  // Calls visit(address) for each word, perhaps several times. Throws trace::TraceError.
  template <class Visit>
  void for_each(Visit visit) {
    for (stream_.skip_to(kWanted); stream_.next(operation_); stream_.skip_to(kWanted)) {
      if (operation_.kind == trace::SiteKind::kMark) {
        mark();
      } else if (trace::stores_something(operation_) && purpose_ == trace::Purpose::kProgram &&
                 pm_.contains(operation_.address)) {
        for_each_word(operation_, [&](std::uint64_t address) { visit_word(address, visit); });
      }
    }
  }

  // True if the visited operations begin a region.
  bool has_regions() const { return has_regions_; }

 private:
  static constexpr trace::KindSet kWanted{
      trace::SiteKind::kMark,        trace::SiteKind::kStore,       trace::SiteKind::kCopyStore,
      trace::SiteKind::kAtomicStore, trace::SiteKind::kNonTemporal, trace::SiteKind::kAtomicUpdate};

  void mark() {
    const bool outermost = operation_.address == 1;
    switch (static_cast<trace::MarkKind>(operation_.detail)) {
      case trace::MarkKind::kPurpose:
        purpose_ = static_cast<trace::Purpose>(operation_.address);
        return;
      case trace::MarkKind::kRegionBegin:
        inside_ = inside_ || outermost;
        has_regions_ = has_regions_ || outermost;
        return;
      case trace::MarkKind::kRegionEnd:
        if (!outermost) return;
        inside_ = false;
        return allocated_.clear();
      case trace::MarkKind::kAllocate:
        if (inside_ && whole_lines_) allocated_.add(operation_.address, operation_.second);
        return;
      default:
        return;
    }
  }

  template <class Visit>
  void visit_word(std::uint64_t address, Visit& visit) const {
    if (!allocated_.contains(address)) return visit(address);
    const std::uint64_t line = Line::of(address).address();
    for (std::uint64_t at = 0; at < kLineBytes; at += kWordBytes) visit(line + at);
  }

  trace::PmAddresses pm_;
  trace::OperationStream stream_;
  const bool whole_lines_;
  trace::Operation operation_{};
  trace::Purpose purpose_ = trace::Purpose::kProgram;
  bool inside_ = false;  // True inside a region
  bool has_regions_ = false;
  AllocatedHere allocated_;
};

}  // namespace pmemsim
