// The parameters of the hardware redo log (ReDU, MICRO 2018; LALEA, table I).
#pragma once

#include <span>
#include <string_view>

#include "pmemsim/common/parameters.hpp"

namespace pmemsim {

// The time when a committed region's data are written to their places in PM (ReDU's two variants).
enum class InPlaceUpdate : std::uint8_t {
  kEager,  // at once
  // When log space or the DRAM cache is almost full, so that later writes of a line replace this
  // one.
  kLazy,
};

// The condition for which a region's end stalls.
enum class CommitAfter : std::uint8_t {
  kLog,        // the persistence of its log (ASAP, 6.3 and 7.1; LALEA, II-A)
  kDramCache,  // that, and then the arrival of its lines in the DRAM cache (ReDU)
};

// The order of different cores' regions at recovery.
enum class CommitOrder : std::uint8_t {
  kGlobal,   // the order of their commits
  kPerCore,  // no order: each core's chain is followed alone, as in LALEA (III-A)
};

inline std::span<const std::string_view> choice_names(InPlaceUpdate) {
  static constexpr std::string_view kNames[] = {"eager", "lazy"};
  return kNames;
}

inline std::span<const std::string_view> choice_names(CommitAfter) {
  static constexpr std::string_view kNames[] = {"log", "dram-cache"};
  return kNames;
}

inline std::span<const std::string_view> choice_names(CommitOrder) {
  static constexpr std::string_view kNames[] = {"global", "per-core"};
  return kNames;
}

struct HwRedoParameters {
  std::uint32_t log_buffer_entries = 8;
  InPlaceUpdate in_place = InPlaceUpdate::kEager;
  Bytes dram_cache_size{32u << 20};
  CommitAfter commit_after = CommitAfter::kLog;
  CommitOrder commit_order = CommitOrder::kGlobal;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit(
        "log_buffer_entries", log_buffer_entries, {.least = 1, .most = 4096},
        "Lines of a core's log buffer, which coalesces a line's stores before the line is logged");
    visit("in_place", in_place, {},
          "Whether committed data are written in place immediately, or when log space is low");
    visit("dram_cache_size", dram_cache_size, {.least = 64, .most = 1ull << 40},
          "Size of the DRAM cache for lines that may not, or need not, be in PM yet");
    visit("commit_after", commit_after, {},
          "Whether a region's end waits only for its log, or also for its lines to reach the DRAM "
          "cache");
    visit(
        "commit_order", commit_order, {},
        "Whether logs are redone and released in the commit order of all cores, or separately for "
        "each core, which can lose data");
  }
};

}  // namespace pmemsim
