// Writes small valid inputs of trace_fuzz into the folder named by its argument: a file, its
// frames, and edits of its frames (see trace_fuzz.cpp).
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "valid_frames.hpp"

int main(int argument_count, char** arguments) {
  using namespace pmemsim::trace;
  if (argument_count != 2) return 2;
  const std::string folder = arguments[1];
  std::filesystem::create_directories(folder);

  const std::string path = folder + "/valid.pmt";
  valid_trace().write(path);
  std::ofstream(folder + "/file", std::ios::binary)
      << '\0' << std::ifstream(path, std::ios::binary).rdbuf();

  std::ofstream frames(folder + "/frames", std::ios::binary);
  frames << '\1';
  for (const Frame& frame : valid_frames(path)) {
    frames << static_cast<char>(frame.kind) << static_cast<char>(frame.thread)
           << static_cast<char>(frame.operations) << static_cast<char>(frame.raw.size() & 0xff)
           << static_cast<char>(frame.raw.size() >> 8);
    frames.write(reinterpret_cast<const char*>(frame.raw.data()),
                 static_cast<std::streamsize>(frame.raw.size()));
  }

  // Nothing is changed; a value of the metadata is; a byte of the sites is.
  using namespace std::string_view_literals;
  int number = 0;
  for (const std::string_view edits : {"\2"sv, "\2\0\4\0\7\0"sv, "\2\1\1\60\0\5"sv}) {
    std::ofstream(folder + "/edits" + std::to_string(number++), std::ios::binary) << edits;
  }
  return 0;
}
