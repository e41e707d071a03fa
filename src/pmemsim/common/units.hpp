// Time, frequency, energy and addresses as types of their own, so that a cycle can't be taken for a
// picosecond nor a byte address for a line.
#pragma once

#include <compare>
#include <cstdint>

namespace pmemsim {

// A duration or a point in time (from the start of the run), in picoseconds.
struct Picoseconds {
  std::int64_t count = 0;

  constexpr auto operator<=>(const Picoseconds&) const = default;
  constexpr Picoseconds& operator+=(Picoseconds other) {
    count += other.count;
    return *this;
  }
  constexpr Picoseconds& operator-=(Picoseconds other) {
    count -= other.count;
    return *this;
  }
  friend constexpr Picoseconds operator+(Picoseconds a, Picoseconds b) {
    return {a.count + b.count};
  }
  friend constexpr Picoseconds operator-(Picoseconds a, Picoseconds b) {
    return {a.count - b.count};
  }
  friend constexpr Picoseconds operator*(Picoseconds a, std::int64_t n) { return {a.count * n}; }
};
inline constexpr Picoseconds kNever{INT64_MAX};

constexpr Picoseconds max(Picoseconds a, Picoseconds b) { return a < b ? b : a; }
constexpr Picoseconds min(Picoseconds a, Picoseconds b) { return a < b ? a : b; }

struct Hertz {
  std::uint64_t count = 0;
  constexpr auto operator<=>(const Hertz&) const = default;
};

struct Bytes {
  std::uint64_t count = 0;
  constexpr auto operator<=>(const Bytes&) const = default;
};

struct Picojoules {
  std::int64_t count = 0;
  constexpr auto operator<=>(const Picojoules&) const = default;
};

// A milliwatt is a picojoule in each nanosecond.
struct Milliwatts {
  std::int64_t count = 0;
  constexpr auto operator<=>(const Milliwatts&) const = default;
};

inline constexpr std::uint64_t kLineBytes = 64;
inline constexpr std::uint64_t kWordBytes = 8;  // what is stored to PM in one step

// A 64-byte line: its address divided by 64.
struct Line {
  std::uint64_t number = 0;
  constexpr auto operator<=>(const Line&) const = default;
  constexpr std::uint64_t address() const { return number * kLineBytes; }
  static constexpr Line of(std::uint64_t address) { return {address / kLineBytes}; }
};

using CoreId = std::uint32_t;

}  // namespace pmemsim
