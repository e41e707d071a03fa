// The bytes of an address space, in pages. A page is allocated, all zero, when it is first written.
// An image may share its initial pages with other images; a page is copied on the first write.
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

#include "pmemsim/common/units.hpp"

namespace pmemsim {

using LineData = std::array<std::byte, kLineBytes>;
// Replaces the comparison of std::array, which compares std::byte one at a time.
inline bool operator==(const LineData& one, const LineData& other) {
  return std::memcmp(one.data(), other.data(), kLineBytes) == 0;
}

// A set of a line's bytes, one bit each: the lowest bit is the first byte.
using ByteMask = std::uint64_t;
inline constexpr ByteMask kWholeLine = ~ByteMask{0};
// Returns the mask of `count` bytes, at least 1, that begin at `offset`.
constexpr ByteMask bytes_from(std::uint64_t offset, std::uint64_t count) {
  return kWholeLine >> (kLineBytes - count) << offset;
}

// Copies the given bytes from `other`.
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
  // Host memory that a page takes, with its entry in the table and the allocator's overhead.
  static constexpr std::uint64_t kPageCost = kPageBytes + 64;

  using Page = std::array<std::byte, kPageBytes>;
  using Pages =
      std::unordered_map<std::uint64_t, std::unique_ptr<Page>>;  // by address / kPageBytes

  Image() = default;
  // Constructs an image whose initial contents are `copies` copies of these pages, `apart` bytes
  // apart.
  Image(std::shared_ptr<const Pages> pages, std::uint64_t copies, std::uint64_t apart)
      : first_(std::move(pages)), copies_(copies), pages_apart_(apart / kPageBytes) {}

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
  // Writes bytes, which may cross a page. Zeros do not allocate a page.
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
  // Calls visit(address, page bytes) for every page, in no particular order.
  template <class Visit>
  void for_each_page(Visit&& visit) const {
    for (const auto& [number, page] : pages_) visit(number * kPageBytes, page->data());
    for (std::uint64_t copy = 0; copy < copies_; ++copy) {
      for (const auto& [first, page] : *first_) {
        const std::uint64_t number = first + copy * pages_apart_;
        if (!pages_.contains(number)) visit(number * kPageBytes, page->data());
      }
    }
  }
  std::size_t pages() const {
    std::size_t count = 0;
    for_each_page([&](std::uint64_t, const std::byte*) { ++count; });
    return count;
  }

 private:
  static bool all_zero(const std::byte* bytes, std::size_t size) {
    return std::all_of(bytes, bytes + size, [](std::byte byte) { return byte == std::byte{}; });
  }

  // A small direct-mapped table of recently used pages precedes the maps. Nearly every access finds
  // its page in this table, and pages never move.
  struct Recent {
    std::uint64_t number = UINT64_MAX;
    const std::byte* page = nullptr;
    std::byte* own = nullptr;  // the writable page; nullptr: the page is shared
  };

  // Returns the page, or an empty entry if it was never written.
  Recent find(std::uint64_t number) const {
    Recent& recent = recent_[number % recent_.size()];
    if (recent.number == number) return recent;
    if (const auto own = pages_.find(number); own != pages_.end()) {
      return recent = {number, own->second->data(), own->second->data()};
    }
    if (const Page* shared = first(number)) return recent = {number, shared->data(), nullptr};
    return {};
  }
  // Returns the shared initial page, or nullptr if there is none.
  const Page* first(std::uint64_t number) const {
    if (copies_ == 0 || number / pages_apart_ >= copies_) return nullptr;
    const auto found = first_->find(number % pages_apart_);
    return found == first_->end() ? nullptr : found->second.get();
  }
  // Returns the page for writing; copies or allocates it if needed.
  std::byte* page(std::uint64_t number) {
    if (const Recent found = find(number); found.own != nullptr) return found.own;
    const Page* shared = first(number);
    auto own = shared != nullptr ? std::make_unique<Page>(*shared) : std::make_unique<Page>();
    std::byte* bytes = own->data();
    pages_.emplace(number, std::move(own));
    recent_[number % recent_.size()] = {number, bytes, bytes};
    return bytes;
  }

  Pages pages_;
  std::shared_ptr<const Pages> first_;
  std::uint64_t copies_ = 0, pages_apart_ = 1;
  mutable std::array<Recent, 256> recent_{};
};

}  // namespace pmemsim
