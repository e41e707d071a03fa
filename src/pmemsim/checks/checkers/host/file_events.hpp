// Who opens, reads or changes a file by system calls, other than where its watcher knows of it.
#pragma once

#include <string>

namespace pmemsim {

class FileEvents {
 public:
  // False: they can't be had.
  bool watch(const std::string& path);

  // Those that are there now: none, one file being opened, or more or others.
  enum class Seen { kNothing, kOneOpening, kMore };
  Seen take();

 private:
  int file_ = -1;
};

}  // namespace pmemsim
