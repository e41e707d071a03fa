// The flow of values in a thread: the noted loads on which a value or an address depends.
// Dependences come from the site table. Values also pass through bytes of volatile memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "pmemsim/common/units.hpp"
#include "pmemsim/trace/dependence.hpp"
#include "pmemsim/trace/reader.hpp"

namespace pmemsim::check {

// `Read` describes a noted load; its member `pointer` says if the loaded words may be a pointer.
template <class Read>
class ValueFlow {
 public:
  explicit ValueFlow(const trace::SiteTable& sites) : sites_(sites) {}

  bool empty() const { return by_site_.empty() && by_word_.empty(); }
  // Notes that the site's last load is `read`, or that it is none of the noted loads.
  void loaded(std::uint32_t site, const Read& read) { by_site_.insert_or_assign(site, read); }
  void forget(std::uint32_t site) {
    if (!by_site_.empty()) by_site_.erase(site);
  }

  // Process accesses of volatile memory, which carry values from one register to another.
  void load_volatile(std::uint32_t site, std::uint64_t address, std::uint64_t bytes) {
    if (empty()) return;
    const Read* read = nullptr;
    for_each_in(address, bytes, [&](const Read& known) {
      if (read == nullptr) read = &known;
    });
    if (read == nullptr) return forget(site);
    loaded(site, *read);
  }
  void store_volatile(std::uint32_t site, std::uint64_t address, std::uint64_t bytes) {
    if (empty()) return;
    if (const Read* const read = of_data(site, any)) {
      fill(address, bytes, *read);
    } else {
      overwrite(address, bytes);
    }
  }
  // Volatile memory gets contents that the thread has not computed.
  void overwrite(std::uint64_t address, std::uint64_t bytes) {
    if (by_word_.empty()) return;
    for_each_word(address, bytes, [&](std::uint64_t number, ByteBits stored) {
      const auto known = by_word_.find(number);
      if (known == by_word_.end()) return;
      known->second.bytes &= static_cast<ByteBits>(~stored);
      if (known->second.bytes == 0) by_word_.erase(known);
    });
  }

  static bool any(const Read&) { return true; }
  // Return an accepted load that the site's operation has its data from; nullptr: none. The second
  // prefers loads of a pointer from which the operation has its address: an address computed from
  // an index is in the same array for any index.
  template <class Accepts>
  const Read* of_data(std::uint32_t site, Accepts accepts) const {
    return find(site, false, accepts);
  }
  template <class Accepts>
  const Read* of_data_or_pointer(std::uint32_t site, Accepts accepts) const {
    const auto is_pointer = [&](const Read& read) { return read.pointer && accepts(read); };
    if (const Read* const read = find(site, true, is_pointer)) return read;
    return find(site, false, accepts);
  }
  // Returns the load of a pointer that the access's address depends on; nullptr: none.
  const Read* of_pointer(std::uint32_t site) const {
    return find(site, true, [](const Read& read) { return read.pointer; });
  }

  // Visits the loads from which bytes of volatile memory have their contents.
  template <class Visit>
  void for_each_in(std::uint64_t address, std::uint64_t bytes, Visit visit) const {
    if (by_word_.empty()) return;
    for_each_word(address, bytes, [&](std::uint64_t number, ByteBits wanted) {
      const auto known = by_word_.find(number);
      if (known != by_word_.end() && (known->second.bytes & wanted) != 0) visit(known->second.read);
    });
  }
  // Visits or removes the loads whose values are still in a register or in volatile memory.
  template <class Visit>
  void for_each(Visit visit) {
    for (auto& [site, read] : by_site_) visit(read);
    for (auto& [number, word] : by_word_) visit(word.read);
  }
  template <class Which>
  void erase_if(Which which) {
    std::erase_if(by_site_, [&](const auto& entry) { return which(entry.second); });
    std::erase_if(by_word_, [&](const auto& entry) { return which(entry.second.read); });
  }

 private:
  using ByteBits = std::uint8_t;  // One bit for each byte of a word
  struct Word {
    Read read;
    ByteBits bytes;  // Bytes that have their contents from the load
  };

  // Visits the words of an access: their numbers, and the accessed bytes of each.
  template <class Visit>
  static void for_each_word(std::uint64_t address, std::uint64_t bytes, Visit visit) {
    const std::uint64_t end = address + bytes;
    for (std::uint64_t number = address / kWordBytes; number * kWordBytes < end; ++number) {
      const std::uint64_t word = number * kWordBytes;
      const std::uint64_t first = std::max(address, word) - word;
      const std::uint64_t last = std::min(end, word + kWordBytes) - word;
      visit(number, static_cast<ByteBits>((1u << last) - (1u << first)));
    }
  }

  void fill(std::uint64_t address, std::uint64_t bytes, const Read& read) {
    for_each_word(address, bytes, [&](std::uint64_t number, ByteBits stored) {
      const auto [known, fresh] = by_word_.try_emplace(number, Word{read, stored});
      if (fresh) return;
      known->second = {read, static_cast<ByteBits>(known->second.bytes | stored)};
    });
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
      const auto read = by_site_.find(trace::dependence_site(all[i]));
      if (read != by_site_.end() && accepts(read->second)) return &read->second;
    }
    return nullptr;
  }

  const trace::SiteTable& sites_;
  std::unordered_map<std::uint32_t, Read> by_site_;  // Sites whose last load is noted
  std::unordered_map<std::uint64_t, Word> by_word_;  // By address / 8: volatile memory
};

}  // namespace pmemsim::check
