// A checksum over words of memory, for data that a workload sets up and never changes, and for log
// entries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace workload {

class Digest {
 public:
  void add(std::uint64_t word) {
    value_ = (value_ ^ word) * 0x9e3779b97f4a7c15;
    value_ ^= value_ >> 32;
  }

  // Adds `bytes` bytes of memory, a multiple of eight.
  void add(const void* memory, std::size_t bytes) {
    const char* at = static_cast<const char*>(memory);
    for (const char* end = at + bytes; at != end; at += sizeof(std::uint64_t)) {
      std::uint64_t word;
      std::memcpy(&word, at, sizeof word);
      add(word);
    }
  }

  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 1;
};

}  // namespace workload
