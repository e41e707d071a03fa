// Pseudo-random numbers that any language reproduces in three lines (SplitMix64): a thread's
// operations depend only on the seed and the thread's number.
#pragma once

#include <cstdint>

namespace workload {

constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15;

constexpr std::uint64_t mix(std::uint64_t word) {
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9;
  word = (word ^ (word >> 27)) * 0x94d049bb133111eb;
  return word ^ (word >> 31);
}

class Random {
 public:
  // Stream 0 is the set-up's; thread t (from 0) has stream t + 1.
  Random(std::uint64_t seed, std::uint64_t stream) : state_(mix(seed) ^ mix(~stream)) {}

  std::uint64_t next() { return mix(state_ += kGolden); }
  // Returns a number that is uniform over 0 .. bound - 1.
  std::uint64_t below(std::uint64_t bound) {
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(next()) * bound) >> 64);
  }

 private:
  std::uint64_t state_;
};

}  // namespace workload
