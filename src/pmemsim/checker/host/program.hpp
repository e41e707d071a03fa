// A program that checks images. It gets files, which it may change: before each image they become
// that image again, by what they differ in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "pmemsim/checker/host/region.hpp"
#include "pmemsim/checker/host/watch.hpp"

namespace pmemsim {

class Program {
 public:
  // Throws std::system_error.
  Program(const std::vector<HostRegion>& regions, std::span<char* const> words);
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  void changed(std::span<const std::uint64_t> /*lines*/) {}
  void all_changed() {}
  // Throws std::system_error if there is no room for the image.
  void prepare();
  // In a child.
  void check(Watch::Told& told, bool watched) const;

 private:
  struct File {
    int image, own;
    std::size_t size;
    const std::byte *image_bytes, *own_bytes;
    std::string path;
  };

  static File open_file(const HostRegion& region, int number);
  static void take_over(const File& file);
  static void remove_others(const File& file);

  std::vector<File> files_;
  std::vector<std::string> words_;
};

}  // namespace pmemsim
