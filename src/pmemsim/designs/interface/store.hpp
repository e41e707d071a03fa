// A store to PM and a load from PM, in the form that the layers receive. Each lies in one line: an
// access that crosses a line is reported in two parts.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "pmemsim/common/image.hpp"
#include "pmemsim/common/units.hpp"
#include "pmemsim/trace/format.hpp"

namespace pmemsim {

// A store as it leaves the store queue.
struct Store {
  CoreId core;
  std::uint32_t site;  // site of the instruction, instead of its program counter
  std::uint64_t address;
  std::uint32_t size;
  const std::byte* value;  // `size` bytes
  const Image& newest;     // the newest values without this store
  std::uint64_t region;    // the store's outermost region; 0: none
  bool atomic = false;     // true for a store to an atomic variable
  trace::Purpose purpose = trace::Purpose::kProgram;

  Line line() const { return Line::of(address); }
  ByteMask bytes() const { return bytes_from(address % kLineBytes, size); }
  // Returns the line's contents without this store; after() includes it.
  LineData before() const { return newest.read(line()); }
  LineData after() const {
    LineData data = before();
    std::copy_n(value, size, data.begin() + address % kLineBytes);
    return data;
  }
};

// The bytes of a store that store() has released, until the store is visible.
struct LeavingStore {
  std::uint64_t address = 0;
  std::uint32_t size = 0;
  const std::byte* value = nullptr;

  LeavingStore() = default;
  explicit LeavingStore(const Store& store)
      : address(store.address), size(store.size), value(store.value) {}
  Line line() const { return Line::of(address); }
  ByteMask bytes() const { return bytes_from(address % kLineBytes, size); }
  void copy_to(LineData& data) const {
    std::copy_n(value, size, data.begin() + address % kLineBytes);
  }
  bool is_in(const LineData& data) const {
    return std::equal(value, value + size, data.begin() + address % kLineBytes);
  }
};

// A load after it has retired.
struct Load {
  CoreId core;
  std::uint64_t address;
  std::uint32_t size;
  std::uint64_t region;    // the load's outermost region; 0: none
  bool forwarded = false;  // true if the core's own store queue supplied the value

  Line line() const { return Line::of(address); }
  ByteMask bytes() const { return bytes_from(address % kLineBytes, size); }
};

}  // namespace pmemsim
