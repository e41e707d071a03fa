// The time base inside a core. A slot is 1/width of a clock cycle: the time in which a core of that
// width dispatches or retires one instruction. The window model counts in slots, so that it needs
// no division. Times are converted to picoseconds only where the core interacts with other
// components. The conversion is exact and does not drift: slot n begins at
// n * 10^12 / (frequency * width) ps.
#pragma once

#include <cstdint>
#include <numeric>

#include "pmemsim/common/parameters.hpp"
#include "pmemsim/common/units.hpp"

namespace pmemsim {

using Slot = std::int64_t;
inline constexpr Slot kUnknownSlot = INT64_MAX;

class Clock {
 public:
  Clock(Hertz frequency, std::uint32_t width) : width_(width) {
    constexpr std::uint64_t kPicosecondsPerSecond = 1'000'000'000'000;
    const std::uint64_t slots_per_second = frequency.count * width;
    const std::uint64_t divisor = std::gcd(kPicosecondsPerSecond, slots_per_second);
    numerator_ = static_cast<std::int64_t>(kPicosecondsPerSecond / divisor);
    denominator_ = static_cast<std::int64_t>(slots_per_second / divisor);
  }

  Slot cycle() const { return width_; }
  Slot cycles(std::int64_t count) const { return count * width_; }
  // Convert between slots and time: time() returns when a slot begins, slot() the first slot that
  // begins at or after a time.
  Time time(Slot slot) const {
    std::int64_t product;
    if (__builtin_mul_overflow(slot, numerator_, &product)) [[unlikely]] {
      return {wide(slot, numerator_, 0, denominator_)};
    }
    return {product / denominator_};
  }
  Slot slot(Time time) const {
    std::int64_t product;
    if (__builtin_mul_overflow(time.count, denominator_, &product) ||
        __builtin_add_overflow(product, numerator_ - 1, &product)) [[unlikely]] {
      return wide(time.count, denominator_, numerator_ - 1, numerator_);
    }
    return product / numerator_;
  }
  Slot slots(Delay delay) const { return delay.cycles ? cycles(delay.count) : slot({delay.count}); }
  // Return the duration of a number of slots, or of a delay.
  Picoseconds duration(Slot slots) const { return time(slots).since_start(); }
  Picoseconds duration(Delay delay) const {
    return delay.cycles ? duration(cycles(delay.count)) : Picoseconds{delay.count};
  }

 private:
  // Returns (value * factor + added) / divisor, whose product may need more than 64 bits.
  [[gnu::cold, gnu::noinline]] static std::int64_t wide(std::int64_t value, std::int64_t factor,
                                                        std::int64_t added, std::int64_t divisor) {
    __extension__ using Wide = __int128;
    return static_cast<std::int64_t>((Wide{value} * factor + added) / divisor);
  }

  std::int64_t width_;
  std::int64_t numerator_, denominator_;
};

}  // namespace pmemsim
