#include "pmemsim/checks/rules/stored_references.hpp"

#include <algorithm>

namespace pmemsim::check {
namespace {

constexpr std::uint64_t kAddressBits = trace::kMaxAddress - kWordBytes;  // without tag bits

bool contains(const trace::PmRegion& region, std::uint64_t address) {
  return address >= region.begin && address < region.end;
}

}  // namespace

void StoredReferences::store(std::uint32_t site, std::uint64_t address, std::uint64_t word,
                             const Lines& lines) {
  if (word == 0) return;
  if (leads_by_address(word)) return add(word & kAddressBits, kByAddress);
  if (stores_numbers_[site]) return;
  const auto region = std::ranges::find_if(
      regions_, [&](const trace::PmRegion& each) { return contains(each, address); });
  const bool leads = word % kWordBytes == 0 && word >= kLineBytes && region != regions_.end() &&
                     word < region->end - region->begin;
  const LineState* const target = leads ? lines.find(Line::of(region->begin + word)) : nullptr;
  if (target == nullptr || target->version == 0) {
    stores_numbers_[site] = true;
  } else {
    add(region->begin + word, site);
  }
}

std::vector<std::uint64_t> StoredReferences::targets() const {
  std::vector<std::uint64_t> found;
  stored_by_.for_each([&](Line line, std::uint32_t by) {
    if (by == kByAddress || !stores_numbers_[by]) found.push_back(line.number);
  });
  std::ranges::sort(found);
  return found;
}

bool StoredReferences::leads_by_address(std::uint64_t word) const {
  return std::ranges::any_of(regions_, [&](const trace::PmRegion& region) {
    return contains(region, word & kAddressBits);
  });
}

void StoredReferences::add(std::uint64_t target, std::uint32_t by) {
  const Line line = Line::of(target);
  std::uint32_t* found = stored_by_.find(line);
  if (found == nullptr) {
    stored_by_.insert(line) = by;
  } else if (by == kByAddress || (*found != kByAddress && stores_numbers_[*found])) {
    *found = by;
  }
}

}  // namespace pmemsim::check
