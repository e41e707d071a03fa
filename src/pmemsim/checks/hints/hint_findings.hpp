// Findings of the linter of pre-execution hints.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>

#include "pmemsim/common/units.hpp"

namespace pmemsim {

// Reason why a write waited, or why a hint was useless.
enum class HintCause : std::uint8_t {
  kInTime,  // Neither: the write did not wait
  kNeverWritten,
  kTooOld,
  kNotStarted,
  kDataOnly,
  kAddressOnly,
  kData,
  kCounter,
  kDuplicate,
  kTree,
  kFreed,
  kTooShort,
  kRequestQueue,
  kOperationQueue,
  kResultBuffer,
  kMissingAtFlush,
  kMissingAtStore,
};

inline constexpr std::size_t kHintCauses = 17;

// The names that programs read.
struct HintCauseName {
  std::string_view kind, reason;
};
HintCauseName name_of(HintCause cause);

// All findings of one cause at one place.
struct SiteFinding {
  std::uint64_t count = 0;   // Number of hinted lines or writes that have this cause
  std::uint64_t writes = 0;  // Number of lines whose write has arrived
  Picoseconds lost{};
  Picoseconds waited{};    // Part of `lost` that writes have waited
  Picoseconds distance{};  // Sum of the times from the hints' calls to the writes' arrivals

  SiteFinding& operator+=(const SiteFinding& other) {
    count += other.count;
    writes += other.writes;
    lost += other.lost;
    waited += other.waited;
    distance += other.distance;
    return *this;
  }
};

struct SiteKey {
  HintCause cause;
  std::uint32_t site;   // Site of the hint's call, or of the flush or store without one
  std::uint32_t store;  // Missing hint: site of the last store to the line; otherwise 0
  bool of_library;      // True if the hint is one of pm.h's own
  auto operator<=>(const SiteKey&) const = default;
};
using SiteFindings = std::map<SiteKey, SiteFinding>;

struct HintTotals {
  std::uint64_t hinted_lines = 0;
  std::uint64_t in_time = 0;  // Writes that had at most hashes of the tree left to compute
  std::uint64_t writes = 0;   // Writes of the program's data
  Picoseconds waited{};       // Time that the program's writes have waited
};

}  // namespace pmemsim
