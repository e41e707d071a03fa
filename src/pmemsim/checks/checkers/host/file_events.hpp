// Notices when a file is opened, read or changed by system calls other than those that its watcher
// expects.
#pragma once

#include <string>

namespace pmemsim {

class FileEvents {
 public:
  // Returns false if the kernel offers no such events.
  bool watch(const std::string& path);

  // The events since the last call: none, one opening, or more or other events.
  enum class Seen { kNothing, kOneOpening, kMore };
  Seen take();

 private:
  int file_ = -1;
};

}  // namespace pmemsim
