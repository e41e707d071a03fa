// Numbered slots that are allocated and released. Slots never move. The slab grows only when more
// slots are in use than ever before, and allocates nothing otherwise.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace pmemsim {

inline constexpr std::uint32_t kNoSlot = UINT32_MAX;

template <class Slot>
class Slab {
 public:
  Slot& operator[](std::uint32_t number) { return chunks_[number / kChunk][number % kChunk]; }
  const Slot& operator[](std::uint32_t number) const {
    return chunks_[number / kChunk][number % kChunk];
  }

  std::uint32_t take() {
    if (free_.empty()) grow();
    const std::uint32_t number = free_.back();
    free_.pop_back();
    return number;
  }
  void release(std::uint32_t number) { free_.push_back(number); }

  std::uint32_t size() const { return static_cast<std::uint32_t>(chunks_.size() * kChunk); }

 private:
  static constexpr std::uint32_t kChunk = 128;

  void grow() {
    const std::uint32_t first = size();
    chunks_.push_back(std::make_unique<Slot[]>(kChunk));
    free_.reserve(size());
    for (std::uint32_t i = kChunk; i > 0; --i) free_.push_back(first + i - 1);
  }

  std::vector<std::unique_ptr<Slot[]>> chunks_;
  std::vector<std::uint32_t> free_;
};

}  // namespace pmemsim
