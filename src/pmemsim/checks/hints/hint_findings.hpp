// What a linter of hints finds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>

#include "pmemsim/common/units.hpp"

namespace pmemsim {

// Why a write had to wait, or a hint was of no use.
enum class HintCause : std::uint8_t {
  kInTime,  // neither
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

// As programs read them.
struct HintCauseName {
  std::string_view kind, reason;
};
HintCauseName name_of(HintCause cause);

// All of one cause at one place.
struct SiteFinding {
  std::uint64_t count = 0;   // hinted lines, or writes
  std::uint64_t writes = 0;  // of these, whose write has come
  Picoseconds lost{};
  Picoseconds waited{};    // of this, what these writes have waited
  Picoseconds distance{};  // from the hints' calls to these writes' coming, added up

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
  std::uint32_t site;   // of the hint's call; of the flush, or store, that lacks one
  std::uint32_t store;  // of a missing hint: of the last store to the line; else 0
  bool of_library;      // the hint is one of pm.h's own
  auto operator<=>(const SiteKey&) const = default;
};
using SiteFindings = std::map<SiteKey, SiteFinding>;

struct HintTotals {
  std::uint64_t hinted_lines = 0;
  std::uint64_t in_time = 0;  // writes that hints have left nothing but hashes of the tree
  std::uint64_t writes = 0;   // of the program's data
  Picoseconds waited{};       // of these
};

}  // namespace pmemsim
