// Hashes of an image's contents, one for each unit (a page, a line). They are equal for equal
// contents, and 0 for the contents of the reference image. A unit's number is its address divided
// by its size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "pmemsim/common/image.hpp"

namespace pmemsim {

// Returns a hash that depends on the line's address, too.
std::uint64_t hash_of(Line line, const LineData& data);

class ContentHashes {
 public:
  // `first`: the reference image, which is also the initial image.
  ContentHashes(std::shared_ptr<const Image> first, std::uint64_t unit_bytes)
      : first_(std::move(first)), unit_bytes_(unit_bytes) {}

  std::uint64_t unit_bytes() const { return unit_bytes_; }
  std::uint64_t unit_of(Line line) const { return line.address() / unit_bytes_; }

  void write(Line line, const LineData& data) {
    const std::uint64_t now = data == first_->read(line) ? 0 : hash_of(line, data);
    std::uint64_t& before = lines_[line.number];
    const auto [found, added] = indices_.try_emplace(unit_of(line), hashes_.size());
    if (added) hashes_.push_back(0);
    hashes_[found->second] ^= before ^ now;
    before = now;
  }

  std::uint64_t of(std::uint64_t unit) const { return of(unit, hashes_); }
  // The hashes of all units at one point in time; of() returns that of one unit.
  using Snapshot = std::vector<std::uint64_t>;
  const Snapshot& now() const { return hashes_; }
  std::uint64_t of(std::uint64_t unit, const Snapshot& snapshot) const {
    const auto found = indices_.find(unit);
    return found == indices_.end() || found->second >= snapshot.size() ? 0
                                                                       : snapshot[found->second];
  }

 private:
  const std::shared_ptr<const Image> first_;
  const std::uint64_t unit_bytes_;
  // By line number: what the line contributes to its unit's hash.
  std::unordered_map<std::uint64_t, std::uint64_t> lines_;
  std::unordered_map<std::uint64_t, std::size_t> indices_;  // By unit: index in hashes_
  std::vector<std::uint64_t> hashes_;
};

}  // namespace pmemsim
