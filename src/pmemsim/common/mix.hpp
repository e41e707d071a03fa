// A one-to-one mixing of numbers: every bit of the result depends on all bits of the input. It is
// the finaliser of SplitMix64 (Steele, Lea, Flood: "Fast Splittable Pseudorandom Number
// Generators", OOPSLA 2014).
#pragma once

#include <cstdint>

namespace pmemsim {

constexpr std::uint64_t mix(std::uint64_t number) {
  number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9u;
  number = (number ^ number >> 27) * 0x94d049bb133111ebu;
  return number ^ number >> 31;
}

}  // namespace pmemsim
