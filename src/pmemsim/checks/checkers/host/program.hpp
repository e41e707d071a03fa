// A program that checks images. It gets files, which it may change. Before each image, the parts of
// the files that differ from it are replaced.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pmemsim/checks/checkers/host/program_watch.hpp"
#include "pmemsim/checks/checkers/host/region.hpp"
#include "pmemsim/checks/checkers/host/watch.hpp"
#include "pmemsim/checks/checkers/shared_reads.hpp"

namespace pmemsim {

class Program {
 public:
  // Opens the files. `reads`: path of the memory for the pages read
  // (checks/checkers/shared_reads.hpp). Throws std::system_error.
  Program(const std::vector<HostRegion>& regions, std::span<char* const> words,
          const std::string& reads);
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  void changed(std::span<const std::uint64_t> /*lines*/) {}
  void all_changed() {}
  // Checks the image. Returns nothing if the answer is no longer wanted. Throws std::system_error
  // if there is no space for the image.
  std::optional<CheckerAnswer> check_image(Watch& watch, bool watched);

 private:
  struct File {
    int image, own;
    std::size_t size;
    const std::byte *image_bytes, *own_bytes;
    std::string path;
  };

  static File open_file(const HostRegion& region, int number);
  std::vector<ProgramWatch::Image> images() const;
  std::optional<CheckerAnswer> check_alone(Watch& watch);
  std::optional<CheckerAnswer> check_watched(Watch& watch);
  bool tells_nothing(const CheckerAnswer& answer) const;
  std::optional<CheckerAnswer> run_watched(Watch& watch);
  void prepare();
  void execute(Watch::Report& report) const;
  static void take_over(const File& file);
  static void remove_others(const File& file);

  std::vector<File> files_;
  std::vector<std::string> words_;
  SharedReads reads_;
  std::optional<ProgramWatch> watch_;
  bool repeats_ = true;  // Watched runs are repeated if signals may have interrupted them
};

}  // namespace pmemsim
