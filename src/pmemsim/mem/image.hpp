// The bytes of an address space, in pages that come to life, all zero, when first written.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <unordered_map>

#include "pmemsim/core/units.hpp"

namespace pmemsim {

using LineData = std::array<std::byte, kLineBytes>;

// Some bytes of a line, a bit each: the lowest is the first byte's.
using ByteMask = std::uint64_t;
inline constexpr ByteMask kWholeLine = ~ByteMask{0};
// So many, at least one, from an offset on.
constexpr ByteMask bytes_from(std::uint64_t offset, std::uint64_t count) {
  return kWholeLine >> (kLineBytes - count) << offset;
}

// Takes these bytes over from `other`.
inline void take_bytes(LineData& data, const LineData& other, ByteMask bytes) {
  if (bytes == kWholeLine) {
    data = other;
    return;
  }
  for (; bytes != 0; bytes &= bytes - 1) {
    const auto at = static_cast<std::size_t>(std::countr_zero(bytes));
    data[at] = other[at];
  }
}

class Image {
 public:
  static constexpr std::uint64_t kPageBytes = 4096;
  // What a page takes of the host's memory: with its entry in the table, and what the allocator
  // adds.
  static constexpr std::uint64_t kPageCost = kPageBytes + 64;

  LineData read(Line line) const {
    LineData data{};
    if (const std::byte* page = find(line.address() / kPageBytes)) {
      std::memcpy(data.data(), page + line.address() % kPageBytes, kLineBytes);
    }
    return data;
  }
  void write(Line line, const LineData& data) {
    std::memcpy(page(line.address() / kPageBytes) + line.address() % kPageBytes, data.data(),
                kLineBytes);
  }
  void write(Line line, const LineData& data, ByteMask bytes) {
    if (bytes == kWholeLine) return write(line, data);
    LineData all = read(line);
    take_bytes(all, data, bytes);
    write(line, all);
  }
  // May cross a page. Zeros bring no page to life.
  void write(std::uint64_t address, const std::byte* bytes, std::size_t size) {
    while (size > 0) {
      const std::size_t offset = address % kPageBytes;
      const std::size_t part = size < kPageBytes - offset ? size : kPageBytes - offset;
      const std::uint64_t number = address / kPageBytes;
      std::byte* to = find(number);
      if (to == nullptr && !all_zero(bytes, part)) to = page(number);
      if (to != nullptr) std::memcpy(to + offset, bytes, part);
      address += part;
      bytes += part;
      size -= part;
    }
  }
  // Calls visit(address, page bytes) for every page, in no particular order.
  template <class Visit>
  void for_each_page(Visit&& visit) const {
    for (const auto& [number, page] : pages_) visit(number * kPageBytes, page->data());
  }
  std::size_t pages() const { return pages_.size(); }

 private:
  using Page = std::array<std::byte, kPageBytes>;

  static bool all_zero(const std::byte* bytes, std::size_t size) {
    return std::all_of(bytes, bytes + size, [](std::byte byte) { return byte == std::byte{}; });
  }

  // A small direct-mapped table of pages used lately stands before the map: nearly every access
  // finds its page there, and pages never move.
  struct Recent {
    std::uint64_t number = UINT64_MAX;
    std::byte* page = nullptr;
  };

  std::byte* find(std::uint64_t number) const {
    Recent& recent = recent_[number % recent_.size()];
    if (recent.number == number) return recent.page;
    const auto found = pages_.find(number);
    if (found == pages_.end()) return nullptr;
    recent = {number, found->second->data()};
    return recent.page;
  }
  std::byte* page(std::uint64_t number) {
    if (std::byte* found = find(number)) return found;
    pages_.emplace(number, std::make_unique<Page>());
    return find(number);
  }

  std::unordered_map<std::uint64_t, std::unique_ptr<Page>> pages_;
  mutable std::array<Recent, 256> recent_{};
};

}  // namespace pmemsim
