// What a checker has read of an image, as its host tells it: a byte for each page of each region,
// one region behind the other, in memory that both share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace pmemsim {

inline constexpr std::size_t kReadBytes = 4096;  // of a page

inline std::size_t pages_of(std::size_t bytes) { return (bytes + kReadBytes - 1) / kReadBytes; }

class SharedReads {
 public:
  SharedReads() = default;
  SharedReads(const SharedReads&) = delete;
  SharedReads& operator=(const SharedReads&) = delete;
  ~SharedReads();

  // Makes it; or takes part in it. False: `errno` says why.
  bool make(std::size_t pages);
  bool join(const std::string& path, std::size_t pages);

  // By this name others take part.
  std::string path() const;
  std::span<std::byte> pages() const { return {bytes_, count_}; }

 private:
  bool map(std::size_t pages);

  int file_ = -1;
  std::byte* bytes_ = nullptr;
  std::size_t count_ = 0;
};

}  // namespace pmemsim
