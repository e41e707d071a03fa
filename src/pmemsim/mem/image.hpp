// The bytes of an address space, in pages that come to life, all zero, when first written. Images
// that begin with the same contents share pages until one of them writes there.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <unordered_map>
#include <utility>

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

  using Page = std::array<std::byte, kPageBytes>;

  LineData read(Line line) const {
    LineData data{};
    if (const std::byte* page = find(line.address() / kPageBytes).page) {
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
      if (find(number).page != nullptr || !all_zero(bytes, part)) {
        std::memcpy(page(number) + offset, bytes, part);
      }
      address += part;
      bytes += part;
      size -= part;
    }
  }
  // The whole page that begins there; what it holds is copied when somebody writes to it.
  void share(std::uint64_t address, std::shared_ptr<Page> contents) {
    const std::uint64_t number = address / kPageBytes;
    recent_[number % recent_.size()] = {};
    pages_.insert_or_assign(number, std::move(contents));
  }
  // Calls visit(address, page bytes) for every page, in no particular order.
  template <class Visit>
  void for_each_page(Visit&& visit) const {
    for (const auto& [number, page] : pages_) visit(number * kPageBytes, page->data());
  }
  std::size_t pages() const { return pages_.size(); }

 private:
  static bool all_zero(const std::byte* bytes, std::size_t size) {
    return std::all_of(bytes, bytes + size, [](std::byte byte) { return byte == std::byte{}; });
  }

  // A small direct-mapped table of pages used lately stands before the map: nearly every access
  // finds its page there, and pages never move.
  struct Recent {
    std::uint64_t number = UINT64_MAX;
    std::byte* page = nullptr;
    bool shared = false;  // perhaps: whoever shared it may have copied it since
  };

  // No page if nothing was written there.
  Recent find(std::uint64_t number) const {
    Recent& recent = recent_[number % recent_.size()];
    if (recent.number == number) return recent;
    const auto found = pages_.find(number);
    if (found == pages_.end()) return {};
    recent = {number, found->second->data(), found->second.use_count() > 1};
    return recent;
  }
  // To write to.
  std::byte* page(std::uint64_t number) {
    const Recent found = find(number);
    if (found.page != nullptr && !found.shared) return found.page;
    std::shared_ptr<Page>& own = pages_[number];
    if (own == nullptr) {
      own = std::make_shared<Page>();
    } else if (own.use_count() > 1) {
      own = std::make_shared<Page>(*own);
    }
    recent_[number % recent_.size()] = {number, own->data()};
    return own->data();
  }

  std::unordered_map<std::uint64_t, std::shared_ptr<Page>> pages_;
  mutable std::array<Recent, 256> recent_{};
};

}  // namespace pmemsim
