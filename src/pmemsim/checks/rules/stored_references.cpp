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
  const std::uint64_t target = word == 0 ? 0 : target_of(address, word, lines);
  note_word(address, target == 0 ? kNoSite : site);
  if (word == 0) return;
  const bool by_address = leads_by_address(word);
  if (!by_address && stores_numbers_[site]) return;
  if (target == 0) {
    stores_numbers_[site] = true;
  } else {
    add(target, by_address ? kByAddress : site, site);
  }
}

void StoredReferences::note_word(std::uint64_t address, std::uint32_t site) {
  auto* sites = words_.find(Line::of(address));
  if (sites == nullptr) {
    if (site == kNoSite) return;
    sites = &words_.insert(Line::of(address));
    sites->fill(kNoSite);
  }
  sites->at(address % kLineBytes / kWordBytes) = site;
}

std::uint32_t StoredReferences::stored_at(std::uint64_t address) const {
  const auto* const sites = words_.find(Line::of(address));
  return sites == nullptr ? kNoSite : sites->at(address % kLineBytes / kWordBytes);
}

std::uint64_t StoredReferences::target_of(std::uint64_t address, std::uint64_t word,
                                          const Lines& lines) const {
  return leads_by_address(word) ? word & kAddressBits : by_offset(address, word, lines);
}

std::uint64_t StoredReferences::by_offset(std::uint64_t address, std::uint64_t word,
                                          const Lines& lines) const {
  const auto region = std::ranges::find_if(
      regions_, [&](const trace::PmRegion& each) { return contains(each, address); });
  const bool leads = word % kWordBytes == 0 && word >= kLineBytes && region != regions_.end() &&
                     word < region->end - region->begin;
  const LineState* const target = leads ? lines.find(Line::of(region->begin + word)) : nullptr;
  return target == nullptr || target->version == 0 ? 0 : region->begin + word;
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

void StoredReferences::add(std::uint64_t target, std::uint32_t by, std::uint32_t site) {
  const Line line = Line::of(target);
  std::uint32_t* found = stored_by_.find(line);
  if (found == nullptr) {
    stored_by_.insert(line) = by;
    sites_.insert(line) = {site, kNoSite, kNoSite, kNoSite};
    return;
  }
  if (by == kByAddress || (*found != kByAddress && stores_numbers_[*found])) *found = by;
  for (std::uint32_t& known : *sites_.find(line)) {
    if (known == kNoSite) known = site;
    if (known == site) return;
  }
}

}  // namespace pmemsim::check
