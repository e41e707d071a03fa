#include "pmemsim/common/stage_log.hpp"

#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "pmemsim/common/error.hpp"

namespace pmemsim {
namespace {

[[noreturn]] void fail(const std::string& folder, const char* what) {
  throw Error(folder + ": the events of the timeline could not be " + what +
              " there: " + std::strerror(errno) + "; bound the timeline, or choose another folder");
}

}  // namespace

StageLog::StageLog(const EventQueue& queue, std::string folder)
    : queue_(queue), folder_(std::move(folder)) {
  events_.reserve(kMostInMemory);
}

StageLog::~StageLog() {
  if (file_ >= 0) close(file_);
}

void StageLog::move_to_file() {
  if (file_ < 0) {
    std::string path = folder_ + "/.pmemsim-events-XXXXXX";
    file_ = mkstemp(path.data());
    if (file_ < 0) fail(folder_, "written");
    unlink(path.c_str());
  }
  const char* bytes = reinterpret_cast<const char*>(events_.data());
  for (std::size_t left = events_.size() * sizeof(StageEvent); left > 0;) {
    const ssize_t written = write(file_, bytes, left);
    if (written < 0 && errno != EINTR) fail(folder_, "written");
    if (written < 0) continue;
    bytes += written;
    left -= static_cast<std::size_t>(written);
  }
  in_file_ += events_.size();
  events_.clear();
}

std::vector<StageEvent> StageLog::read_from_file(std::uint64_t first) const {
  std::vector<StageEvent> events(kMostInMemory);
  char* bytes = reinterpret_cast<char*>(events.data());
  auto offset = static_cast<off_t>(first * sizeof(StageEvent));
  for (std::size_t left = events.size() * sizeof(StageEvent); left > 0;) {
    const ssize_t read = pread(file_, bytes, left, offset);
    if (read == 0 || (read < 0 && errno != EINTR)) fail(folder_, "read");
    if (read < 0) continue;
    bytes += read;
    offset += read;
    left -= static_cast<std::size_t>(read);
  }
  return events;
}

}  // namespace pmemsim
