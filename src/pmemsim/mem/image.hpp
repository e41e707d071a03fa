// The bytes of an address space, in pages that come to life, all zero, when first written.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <unordered_map>

#include "pmemsim/core/units.hpp"

namespace pmemsim {

using LineData = std::array<std::byte, kLineBytes>;

class Image {
 public:
  static constexpr std::uint64_t kPageBytes = 4096;

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
  // May cross a page.
  void write(std::uint64_t address, const std::byte* bytes, std::size_t size) {
    while (size > 0) {
      const std::size_t offset = address % kPageBytes;
      const std::size_t part = size < kPageBytes - offset ? size : kPageBytes - offset;
      std::memcpy(page(address / kPageBytes) + offset, bytes, part);
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

  const std::byte* find(std::uint64_t number) const {
    if (number == last_number_) return last_;
    const auto found = pages_.find(number);
    if (found == pages_.end()) return nullptr;
    last_number_ = number;
    last_ = found->second->data();
    return last_;
  }
  std::byte* page(std::uint64_t number) {
    if (number == last_number_) return last_;
    auto& page = pages_[number];
    if (!page) page = std::make_unique<Page>();
    last_number_ = number;
    last_ = page->data();
    return last_;
  }

  std::unordered_map<std::uint64_t, std::unique_ptr<Page>> pages_;
  // The page used last: most accesses come in runs, and pages never move.
  mutable std::uint64_t last_number_ = UINT64_MAX;
  mutable std::byte* last_ = nullptr;
};

}  // namespace pmemsim
