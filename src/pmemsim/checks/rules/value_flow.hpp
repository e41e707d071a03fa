// The flow of values in a thread: the noted loads on which the value or the address of a store
// depends. Dependences come from the site table. Values also pass through words of volatile memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "pmemsim/trace/reader.hpp"

namespace pmemsim::check {

// `Read` describes a noted load; its member `pointer` says if the loaded words may be a pointer.
template <class Read>
class ValueFlow {
 public:
  explicit ValueFlow(const trace::SiteTable& sites) : sites_(sites) {}

  bool empty() const { return by_site_.empty() && by_address_.empty(); }
  // Notes that the site's last load is `read`, or that it is none of the noted loads.
  void loaded(std::uint32_t site, const Read& read) { by_site_.insert_or_assign(site, read); }
  void forget(std::uint32_t site) {
    if (!by_site_.empty()) by_site_.erase(site);
  }

  // Process loads and stores of volatile words, which carry values from one register to another.
  void load_volatile(std::uint32_t site, std::uint64_t address) {
    if (empty()) return;
    if (const auto known = by_address_.find(address); known != by_address_.end()) {
      by_site_.insert_or_assign(site, known->second);
    } else {
      by_site_.erase(site);
    }
  }
  void store_volatile(std::uint32_t site, std::uint64_t address) {
    if (empty()) return;
    if (const Read* const read = of_data(site)) {
      by_address_.insert_or_assign(address, *read);
    } else {
      by_address_.erase(address);
    }
  }

  // Returns a load that the store depends on; nullptr: none. If the store's address depends on the
  // load, that must be of a pointer: an address computed from an index is in the same array for any
  // index.
  const Read* of_store(std::uint32_t site) const {
    if (by_site_.empty()) return nullptr;
    if (const Read* const read = of_pointer(site)) return read;
    return of_data(site);
  }
  // Returns the load of a pointer that the access's address depends on; nullptr: none.
  const Read* of_pointer(std::uint32_t site) const {
    return find(site, true, [](const Read& read) { return read.pointer; });
  }

  // Visits or removes the loads whose values are still in a register or in volatile memory.
  template <class Visit>
  void for_each(Visit visit) {
    for (auto& [site, read] : by_site_) visit(read);
    for (auto& [address, read] : by_address_) visit(read);
  }
  template <class Which>
  void erase_if(Which which) {
    std::erase_if(by_site_, [&](const auto& entry) { return which(entry.second); });
    std::erase_if(by_address_, [&](const auto& entry) { return which(entry.second); });
  }

 private:
  const Read* of_data(std::uint32_t site) const {
    return find(site, false, [](const Read&) { return true; });
  }

  // Returns the first accepted load of the site's dependences: those of the address, or of the
  // data.
  template <class Accepts>
  const Read* find(std::uint32_t number, bool of_address, Accepts accepts) const {
    if (by_site_.empty()) return nullptr;
    const trace::SiteRecord& site = sites_.sites()[number];
    const auto all = sites_.dependences(site);
    const std::size_t begin = of_address ? 0 : site.address_dependences;
    const std::size_t end = of_address ? site.address_dependences : all.size();
    for (std::size_t i = begin; i < end; ++i) {
      const auto read = by_site_.find(all[i] >> 8);
      if (read != by_site_.end() && accepts(read->second)) return &read->second;
    }
    return nullptr;
  }

  const trace::SiteTable& sites_;
  std::unordered_map<std::uint32_t, Read> by_site_;     // Sites whose last load is noted
  std::unordered_map<std::uint64_t, Read> by_address_;  // Volatile words made of noted loads
};

}  // namespace pmemsim::check
