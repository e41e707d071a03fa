#include "streams.hpp"

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exported.hpp"
#include "pmemsim_rt.h"
#include "real.hpp"
#include "record.hpp"
#include "reserved_memory.hpp"
#include "status.hpp"

namespace pmemsim::rt {
namespace {

// A stream on a socket or a pipe.
struct ReplyStream {
  int descriptor;
  std::FILE* file;
  const char* recorded;  // end of the buffer's contents that are recorded; null: none
};

Map<ReplyStream*> streams;  // key: the library's stream; null: closed

ReplyStream* stream_of(const std::FILE* file) {
  ReplyStream** const found = streams.find(reinterpret_cast<std::uintptr_t>(file));
  return found == nullptr ? nullptr : *found;
}

bool is_peer(int descriptor) {
  struct stat status{};
  if (descriptor <= STDERR_FILENO || fstat(descriptor, &status) != 0) return false;
  return S_ISSOCK(status.st_mode) || S_ISFIFO(status.st_mode);
}

// Functions that the library calls for the streams.

ssize_t receive(void* cookie, char* buffer, std::size_t bytes) {
  return read(static_cast<ReplyStream*>(cookie)->descriptor, buffer, bytes);
}

// Returns fewer bytes after an error.
ssize_t send_all(void* cookie, const char* buffer, std::size_t bytes) {
  auto& stream = *static_cast<ReplyStream*>(cookie);
  stream.recorded = nullptr;
  std::size_t sent = 0;
  while (sent < bytes) {
    const ssize_t written = write(stream.descriptor, buffer + sent, bytes - sent);
    if (written < 0) break;
    sent += static_cast<std::size_t>(written);
  }
  return static_cast<ssize_t>(sent);
}

int close_stream(void* cookie) {
  const ReplyStream stream = *static_cast<ReplyStream*>(cookie);
  streams[reinterpret_cast<std::uintptr_t>(stream.file)] = nullptr;
  std::free(cookie);
  return close(stream.descriptor);
}

// True if a descriptor with these flags can have a stream of this mode.
bool allows(int flags, const char* mode) {
  const int access = flags & O_ACCMODE;
  if (std::strchr("rwa", mode[0]) == nullptr || mode[0] == '\0') return false;
  const bool both = std::strchr(mode, '+') != nullptr;
  const bool reads = mode[0] == 'r' || both;
  const bool writes = mode[0] != 'r' || both;
  return !(reads && access == O_WRONLY) && !(writes && access == O_RDONLY);
}

std::FILE* open_stream(int descriptor, const char* mode) {
  const int flags = fcntl(descriptor, F_GETFL);
  if (!allows(flags, mode)) {
    errno = EINVAL;
    return nullptr;
  }
  auto* stream = static_cast<ReplyStream*>(std::malloc(sizeof(ReplyStream)));
  if (stream == nullptr) return nullptr;
  *stream = {descriptor, nullptr, nullptr};
  std::FILE* file = fopencookie(stream, mode, {&receive, &send_all, nullptr, &close_stream});
  if (file == nullptr) {
    std::free(stream);
    return nullptr;
  }
  stream->file = file;
  if (std::strchr(mode, 'e') != nullptr) fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  streams[reinterpret_cast<std::uintptr_t>(file)] = stream;
  return file;
}

// The buffer's contents that aren't recorded yet.
struct Contents {
  char* begin = nullptr;
  std::uint64_t bytes = 0;
};

Contents new_contents(std::FILE* file) {
  if (!active()) return {};
  ReplyStream* const stream = stream_of(file);
  if (stream == nullptr || file->_IO_write_ptr <= file->_IO_write_base) return {};
  char* const begin =
      stream->recorded != nullptr ? const_cast<char*>(stream->recorded) : file->_IO_write_base;
  stream->recorded = file->_IO_write_ptr;
  return {begin, static_cast<std::uint64_t>(file->_IO_write_ptr - begin)};
}

}  // namespace
}  // namespace pmemsim::rt

using namespace pmemsim::rt;

PMEMSIM_EXPORT std::FILE* fdopen(int descriptor, const char* modes) noexcept {
  if (mode == Mode::kOff || !is_peer(descriptor)) return real.fdopen(descriptor, modes);
  return open_stream(descriptor, modes);
}
PMEMSIM_EXPORT int fileno(std::FILE* file) noexcept {
  const ReplyStream* const stream = stream_of(file);
  return stream != nullptr ? stream->descriptor : real.fileno(file);
}
PMEMSIM_EXPORT int fileno_unlocked(std::FILE* file) noexcept { return fileno(file); }

// Text of the site's call is in the stream's buffer.
PMEMSIM_EXPORT void pmemsim_rt_put_text(std::uint32_t site, void* file) {
  const Contents contents = new_contents(static_cast<std::FILE*>(file));
  if (contents.bytes > 0) pmemsim_rt_printed(site, contents.begin, contents.bytes);
}
// Bytes that the call has copied are there. If it has sent the first ones, the rest is unknown.
PMEMSIM_EXPORT void pmemsim_rt_put_copy(std::uint32_t site, void* file, const void* from) {
  const Contents contents = new_contents(static_cast<std::FILE*>(file));
  if (contents.bytes == 0 || std::memcmp(contents.begin, from, contents.bytes) != 0) return;
  pmemsim_rt_memcpy(site, contents.begin, from, contents.bytes);
}
