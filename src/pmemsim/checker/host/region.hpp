// A region of PM as a checker's host is told of it on its command line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace pmemsim {

struct HostRegion {
  std::string image;  // the file that pmemsim writes the image to, which nobody else changes
  std::uint64_t recorded_at;
  std::size_t size;
  std::string file;  // of a program that checks; empty: one in memory
};

}  // namespace pmemsim
