#include "replies.hpp"

#include <cstdarg>
#include <cstdint>
#include <cstdio>

#include <sys/stat.h>
#include <unistd.h>

#include "exported.hpp"
#include "library_calls.hpp"
#include "real.hpp"
#include "record.hpp"
#include "sites.hpp"

namespace pmemsim::rt {
namespace {

using trace::MarkKind;
using trace::ReplyTo;

enum class Descriptor : std::uint8_t { kOther, kPeer, kFile };

Descriptor kind_of(int descriptor) {
  if (descriptor <= STDERR_FILENO) return Descriptor::kFile;
  struct stat status{};
  if (fstat(descriptor, &status) != 0) return Descriptor::kOther;
  switch (status.st_mode & S_IFMT) {
    case S_IFSOCK:
    case S_IFIFO:
      return Descriptor::kPeer;
    case S_IFCHR:
      return isatty(descriptor) != 0 ? Descriptor::kFile : Descriptor::kPeer;
    case S_IFREG:
    case S_IFBLK:
      return Descriptor::kFile;
    default:  // an event counter, for example
      return Descriptor::kOther;
  }
}

void put(MarkKind kind, const void* values, std::uint64_t second) {
  use_builtin_site(trace::mark_site(kind));
  put_mark(kind, reinterpret_cast<std::uintptr_t>(values), second);
}

}  // namespace

void note_reply(int descriptor, const iovec* parts, std::size_t count, ssize_t bytes) {
  if (bytes <= 0 || !records_library_calls()) return;
  const Descriptor kind = kind_of(descriptor);
  if (kind == Descriptor::kOther) return;
  const auto to =
      static_cast<std::uint64_t>(kind == Descriptor::kPeer ? ReplyTo::kPeer : ReplyTo::kFile);
  auto left = static_cast<std::uint64_t>(bytes);
  for (std::size_t i = 0; i < count && left > 0; ++i) {
    const std::uint64_t sent = parts[i].iov_len < left ? parts[i].iov_len : left;
    left -= sent;
    const std::uint64_t continues = left > 0 ? trace::kReplyContinues : 0;
    if (sent > 0) put(MarkKind::kReply, parts[i].iov_base, sent | to << 32 | continues);
  }
}

void note_reply(int descriptor, const void* values, ssize_t bytes) {
  const iovec whole{const_cast<void*>(values), static_cast<std::size_t>(bytes)};
  note_reply(descriptor, &whole, 1, bytes);
}

void note_request(int descriptor, const void* values, ssize_t bytes) {
  if (bytes < 0 || !records_library_calls() || kind_of(descriptor) != Descriptor::kPeer) return;
  put(MarkKind::kRequest, values, static_cast<std::uint64_t>(bytes));
}

}  // namespace pmemsim::rt

using namespace pmemsim::rt;

// The library formats the text in memory of its own: nothing is known of the sent bytes.
PMEMSIM_EXPORT int vdprintf(int descriptor, const char* format, va_list arguments) {
  const int written = real.vdprintf(descriptor, format, arguments);
  note_reply(descriptor, nullptr, written);
  return written;
}
PMEMSIM_EXPORT int dprintf(int descriptor, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int written = vdprintf(descriptor, format, arguments);
  va_end(arguments);
  return written;
}
