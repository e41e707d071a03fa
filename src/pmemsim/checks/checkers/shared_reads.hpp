// The pages of an image that a checker has read, as reported by its host: one byte for each page of
// each region, region after region, in shared memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace pmemsim {

inline constexpr std::size_t kReadBytes = 4096;  // Size of a page in B

inline std::size_t pages_of(std::size_t bytes) { return (bytes + kReadBytes - 1) / kReadBytes; }

class SharedReads {
 public:
  SharedReads() = default;
  SharedReads(const SharedReads&) = delete;
  SharedReads& operator=(const SharedReads&) = delete;
  ~SharedReads();

  // make() creates the memory; join() maps that of another process. On failure both return false
  // and set `errno`.
  bool make(std::size_t pages);
  bool join(const std::string& path, std::size_t pages);

  // Returns the path that another process passes to join().
  std::string path() const;
  std::span<std::byte> pages() const { return {bytes_, count_}; }

 private:
  bool map(std::size_t pages);

  int file_ = -1;
  std::byte* bytes_ = nullptr;
  std::size_t count_ = 0;
};

}  // namespace pmemsim
