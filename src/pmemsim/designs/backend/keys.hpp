// The processor's keys. They are the same in every run, so that images can be compared.
#pragma once

#include "pmemsim/designs/backend/line_crypto.hpp"

namespace pmemsim {

// Returns a key of arbitrary bytes: those of multiples of the golden ratio's fraction.
constexpr Key key_number(std::uint64_t number) {
  Key key{};
  std::uint64_t word = number * 0x9e3779b97f4a7c15u;
  for (std::size_t i = 0; i < key.size(); ++i) {
    key[i] = static_cast<std::byte>(word >> 56);
    word = word * 0x9e3779b97f4a7c15u + number;
  }
  return key;
}

constexpr Key encryption_key() { return key_number(1); }
constexpr Key authentication_key() { return key_number(2); }

}  // namespace pmemsim
