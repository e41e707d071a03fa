#include "pmemsim/machine/cpu/decoded_sites.hpp"

#include <algorithm>

#include "pmemsim/trace/dependence.hpp"
#include "pmemsim/trace/record_layout.hpp"
#include "pmemsim/trace/site_flags.hpp"

namespace pmemsim {
namespace {

using trace::SiteKind;
using trace::SiteRecord;

static_assert(2 * trace::kMaxDependences <= UINT8_MAX);

DecodedSites::Kind kind_of(const SiteRecord& site) {
  using Kind = DecodedSites::Kind;
  const bool enters = (site.flags & trace::kSiteEntry) != 0;
  const bool exits = (site.flags & trace::kSiteExit) != 0;
  switch (static_cast<SiteKind>(site.kind)) {
    case SiteKind::kExecute:
      if (exits && enters) return Kind::kOther;  // a call and its return in one operation
      return exits ? Kind::kReturn : Kind::kExecute;
    case SiteKind::kBranch:
      return Kind::kBranch;
    case SiteKind::kRecurrence:
      return Kind::kRecurrence;
    case SiteKind::kLoad:
      return Kind::kLoad;
    case SiteKind::kCopyLoad:
      return Kind::kCopyLoad;
    case SiteKind::kStore:
      return Kind::kStore;
    case SiteKind::kCopyStore:
      return Kind::kCopyStore;
    default:
      return Kind::kOther;
  }
}

// Returns the latency of a dependence. `extra_division_latency` is the latency of the machine's
// division beyond the one of recordings.
std::uint32_t latency_of(std::uint32_t dependence, const Clock& clock,
                         Slot extra_division_latency) {
  const Slot latency = clock.cycles(dependence & 0xff);
  const bool divides = (dependence & trace::kDivides) != 0;
  return static_cast<std::uint32_t>(divides ? std::max<Slot>(latency + extra_division_latency, 0)
                                            : latency);
}

}  // namespace

DecodedSites::DecodedSites(const trace::SiteTable& table, const Clock& clock,
                           Slot division_latency) {
  const Slot extra_division_latency = division_latency - clock.cycles(trace::kDivisionCycles);
  sites_.reserve(table.sites().size());
  for (const SiteRecord& site : table.sites()) {
    const std::span<const std::uint32_t> dependences = table.dependences(site);
    sites_.push_back(
        {.instructions = site.instructions,
         .first_dependence = site.first_dependence,
         .dependences = static_cast<std::uint8_t>(dependences.size()),
         .first_dependences = static_cast<std::uint8_t>(site.address_dependences),
         .kind = kind_of(site),
         .size = site.size,
         .bytes = static_cast<std::uint8_t>(trace::packed_length(site) & ~trace::kLengthVaries),
         .enters = (site.flags & trace::kSiteEntry) != 0});
    // Sites may share dependences.
    const std::size_t end = std::size_t{site.first_dependence} + dependences.size();
    dependences_.resize(std::max(dependences_.size(), end));
    for (std::size_t i = 0; i < dependences.size(); ++i) {
      dependences_[site.first_dependence + i] = {
          trace::dependence_site(dependences[i]),
          latency_of(dependences[i], clock, extra_division_latency)};
    }
  }
}

}  // namespace pmemsim
