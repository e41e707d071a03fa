#include "pmemsim/checks/checkers/host/file_events.hpp"

#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstring>

namespace pmemsim {
namespace {

// True for an opening. None of the requested events has a name.
bool is_opening(const char* event) {
  inotify_event found;
  std::memcpy(&found, event, sizeof(found));
  return found.mask == IN_OPEN;
}

}  // namespace

bool FileEvents::watch(const std::string& path) {
  if (file_ < 0) file_ = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  return file_ >= 0 && inotify_add_watch(file_, path.c_str(), IN_OPEN | IN_ACCESS | IN_MODIFY) >= 0;
}

FileEvents::Seen FileEvents::take() {
  Seen seen = Seen::kNothing;
  std::array<char, 4096> events;
  for (;;) {
    const ssize_t size = read(file_, events.data(), events.size());
    if (size <= 0) return seen;
    const bool one = size == sizeof(inotify_event) && is_opening(events.data());
    seen = one && seen == Seen::kNothing ? Seen::kOneOpening : Seen::kMore;
  }
}

}  // namespace pmemsim
