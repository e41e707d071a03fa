// What an image holds, unit by unit (a page, a line), as numbers that are the same for the same
// contents: 0 for those of the image that all is compared with. Units are numbered by their
// address.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "pmemsim/common/image.hpp"

namespace pmemsim {

// Differs from line to line.
std::uint64_t hash_of(Line line, const LineData& data);

class UnitHashes {
 public:
  // `first`: the image that all is compared with, which this one is at first.
  UnitHashes(std::shared_ptr<const Image> first, std::uint64_t unit_bytes)
      : first_(std::move(first)), unit_bytes_(unit_bytes) {}

  std::uint64_t unit_bytes() const { return unit_bytes_; }
  std::uint64_t unit_of(Line line) const { return line.address() / unit_bytes_; }

  void write(Line line, const LineData& data) {
    const std::uint64_t now = data == first_->read(line) ? 0 : hash_of(line, data);
    std::uint64_t& before = lines_[line.number];
    const auto [place, added] = places_.try_emplace(unit_of(line), hashes_.size());
    if (added) hashes_.push_back(0);
    hashes_[place->second] ^= before ^ now;
    before = now;
  }

  std::uint64_t of(std::uint64_t unit) const { return of(unit, hashes_); }
  // As all units are now, and what one was then.
  using Then = std::vector<std::uint64_t>;
  const Then& now() const { return hashes_; }
  std::uint64_t of(std::uint64_t unit, const Then& then) const {
    const auto place = places_.find(unit);
    return place == places_.end() || place->second >= then.size() ? 0 : then[place->second];
  }

 private:
  const std::shared_ptr<const Image> first_;
  const std::uint64_t unit_bytes_;
  std::unordered_map<std::uint64_t, std::uint64_t> lines_;  // by number, their part of the hash
  std::unordered_map<std::uint64_t, std::size_t> places_;   // of units, in:
  std::vector<std::uint64_t> hashes_;
};

}  // namespace pmemsim
