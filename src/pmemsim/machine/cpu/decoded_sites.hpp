// The sites of a recording in the form that cores read: 16 bytes for each, with what straight-line
// code needs (core_straight_line.cpp), and dependences with their latency in slots. All cores of a
// machine share them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pmemsim/common/clock.hpp"
#include "pmemsim/trace/reader.hpp"

namespace pmemsim {

// An operand: the latest result of the site `producer`, which is usable after the latency.
struct Dependence {
  std::uint32_t producer;
  std::uint32_t latency;  // slots
};

class DecodedSites {
 public:
  // The kinds of operations that straight-line code consists of.
  enum class Kind : std::uint8_t {
    kOther,
    kExecute,
    kReturn,  // kExecute at which a function returns
    kBranch,
    kRecurrence,
    kLoad,
    kCopyLoad,
    kStore,
    kCopyStore,
  };
  struct Site {
    std::uint32_t instructions;
    std::uint32_t first_dependence;
    std::uint8_t dependences;
    std::uint8_t first_dependences;  // SiteRecord::address_dependences
    Kind kind;
    std::uint8_t size;
    std::uint8_t bytes;  // length of its records; kCopyLoad, kCopyStore: before the copied bytes
    bool enters;         // a call of its function begins
  };
  static_assert(sizeof(Site) == 16);

  DecodedSites(const trace::SiteTable& table, const Clock& clock, Slot division_latency);

  std::span<const Site> sites() const { return sites_; }
  const Site& operator[](std::uint32_t number) const { return sites_[number]; }
  // Returns the dependences of the address, then those of the data.
  std::span<const Dependence> dependences(const Site& site) const {
    return {dependences_.data() + site.first_dependence, site.dependences};
  }
  std::span<const Dependence> dependences_of(std::uint32_t number) const {
    return dependences(sites_[number]);
  }
  // Returns the dependences of a recurrence's first value, or of the value for the next iteration.
  std::span<const Dependence> of_recurrence(std::uint32_t number, bool iterates) const {
    const Site& site = sites_[number];
    const auto all = dependences(site);
    return iterates ? all.subspan(site.first_dependences) : all.first(site.first_dependences);
  }

 private:
  std::vector<Site> sites_;
  std::vector<Dependence> dependences_;
};

}  // namespace pmemsim
