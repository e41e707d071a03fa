// A store to PM, as the layers learn of it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "pmemsim/core/units.hpp"
#include "pmemsim/mem/image.hpp"

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

  Line line() const { return Line::of(address); }
  // The line's contents without this store, and with it.
  LineData before() const { return newest.read(line()); }
  LineData after() const {
    LineData data = before();
    std::copy_n(value, size, data.begin() + address % kLineBytes);
    return data;
  }
};

}  // namespace pmemsim
