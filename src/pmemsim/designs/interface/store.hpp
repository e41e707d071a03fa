// A store to PM and a load from there, as the layers learn of them. Both lie in one line: what
// crosses a line is told of in two parts.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "pmemsim/common/image.hpp"
#include "pmemsim/common/units.hpp"
#include "pmemsim/trace/format.hpp"

namespace pmemsim {

// As it leaves the store queue.
struct Store {
  CoreId core;
  std::uint32_t site;  // the program counter, as far as the trace knows it
  std::uint64_t address;
  std::uint32_t size;
  const std::byte* value;  // `size` bytes
  const Image& newest;     // without this store
  std::uint64_t region;    // the outermost region it belongs to; 0: none
  bool atomic = false;     // of an atomic variable
  trace::Purpose purpose = trace::Purpose::kProgram;

  Line line() const { return Line::of(address); }
  ByteMask bytes() const { return bytes_from(address % kLineBytes, size); }
  // The line's contents without this store, and with it.
  LineData before() const { return newest.read(line()); }
  LineData after() const {
    LineData data = before();
    std::copy_n(value, size, data.begin() + address % kLineBytes);
    return data;
  }
};

// The bytes of a store that store() has let go on, until it is visible.
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

// When it has retired.
struct Load {
  CoreId core;
  std::uint64_t address;
  std::uint32_t size;
  std::uint64_t region;    // as in Store
  bool forwarded = false;  // has its value from the core's own store queue

  Line line() const { return Line::of(address); }
  ByteMask bytes() const { return bytes_from(address % kLineBytes, size); }
};

}  // namespace pmemsim
