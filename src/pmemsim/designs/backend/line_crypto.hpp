// Encryption and authentication of lines on the device: a library's AES-128, SHA-1 and MD5, with
// fixed keys instead of a processor's keys.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "pmemsim/common/image.hpp"

namespace pmemsim {

using Key = std::array<std::byte, 16>;

// Counter mode (Janus, 3.1): the XOR of the line's bytes and a one-time pad that depends on address
// and counter. Applying it twice yields the original line.
class LineCipher {
 public:
  explicit LineCipher(const Key& key);
  ~LineCipher();
  LineCipher(const LineCipher&) = delete;
  LineCipher& operator=(const LineCipher&) = delete;

  LineData apply(Line place, std::uint64_t counter, const LineData& data) const;

 private:
  struct Library;
  std::unique_ptr<Library> library_;
};

// A digest, SHA-1 or MD5, whose first 8 bytes are kept. With a key (HMAC of SHA-1), it can't be
// computed without the key.
class LineHash {
 public:
  explicit LineHash(const char* digest);
  explicit LineHash(const Key& key);
  ~LineHash();
  LineHash(const LineHash&) = delete;
  LineHash& operator=(const LineHash&) = delete;

  std::uint64_t of(std::span<const std::byte> first, std::span<const std::byte> second) const;

 private:
  struct Library;
  std::unique_ptr<Library> library_;
};

}  // namespace pmemsim
