// Time, frequency, energy and addresses as separate types, so that the compiler rejects mistakes. A
// cycle is not a picosecond, a duration is not a point in time, and a byte address is not a line.
#pragma once

#include <compare>
#include <cstdint>

namespace pmemsim {

// A duration.
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

// A point in simulated time, as picoseconds since the start of the run, which is Time{}.
struct Time {
  std::int64_t count = 0;

  constexpr auto operator<=>(const Time&) const = default;
  constexpr Picoseconds since_start() const { return {count}; }
  constexpr Time& operator+=(Picoseconds duration) {
    count += duration.count;
    return *this;
  }
  friend constexpr Time operator+(Time time, Picoseconds duration) {
    return {time.count + duration.count};
  }
  friend constexpr Time operator-(Time time, Picoseconds duration) {
    return {time.count - duration.count};
  }
  friend constexpr Picoseconds operator-(Time a, Time b) { return {a.count - b.count}; }
};
inline constexpr Time kNever{INT64_MAX};

constexpr Picoseconds max(Picoseconds a, Picoseconds b) { return a < b ? b : a; }
constexpr Picoseconds min(Picoseconds a, Picoseconds b) { return a < b ? a : b; }
constexpr Time max(Time a, Time b) { return a < b ? b : a; }
constexpr Time min(Time a, Time b) { return a < b ? a : b; }

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

// Power. One milliwatt is one picojoule per nanosecond.
struct Milliwatts {
  std::int64_t count = 0;
  constexpr auto operator<=>(const Milliwatts&) const = default;
};

inline constexpr std::uint64_t kLineBytes = 64;
inline constexpr std::uint64_t kWordBytes = 8;  // unit that is stored to PM atomically

// A 64-byte line: its address divided by 64.
struct Line {
  std::uint64_t number = 0;
  constexpr auto operator<=>(const Line&) const = default;
  constexpr std::uint64_t address() const { return number * kLineBytes; }
  static constexpr Line of(std::uint64_t address) { return {address / kLineBytes}; }
};

using CoreId = std::uint32_t;

}  // namespace pmemsim
