#include "file_data.hpp"

#include <cstdarg>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "address_range.hpp"
#include "dirty_lines.hpp"
#include "exported.hpp"
#include "library_calls.hpp"
#include "persistent.hpp"
#include "real.hpp"
#include "replies.hpp"
#include "reserved_memory.hpp"
#include "status.hpp"

namespace pmemsim::rt {
namespace {

constexpr char kHeader[] = "/usr/include/unistd.h";
constexpr char kVectorHeader[] = "/usr/include/x86_64-linux-gnu/sys/uio.h";
constexpr std::uint64_t kEnd = UINT64_MAX;

// ---- Files that become persistent ---------------------------------------------------------------

void note_sync(LibraryFunction& function, std::uint64_t begin, std::uint64_t end) {
  if (!find_dirty_lines(begin, end)) return;
  LibraryCall call(function, Callers::kAny);
  persist_dirty_lines(call);
}

// Called after a successful call of fsync or fdatasync.
void note_sync_of(LibraryFunction& function, int descriptor) {
  if (!records_library_calls()) return;
  const Memory* memory = persistent_file(descriptor);
  if (memory == nullptr) return;
  note_sync(function, memory->trace_address, memory->trace_address + memory->bytes);
}

// ---- Writes -------------------------------------------------------------------------------------

// Bytes of a file that a call has changed.
struct Part {
  const Memory* memory;
  std::uint64_t offset, bytes;
  bool exists() const { return memory != nullptr && bytes > 0; }
  std::uint64_t trace_address() const { return memory->trace_address + offset; }
};

// Returns the part that is in the trace.
Part part_of(const Memory* memory, std::uint64_t offset, std::uint64_t bytes) {
  if (memory == nullptr || offset >= memory->bytes) return {};
  const std::uint64_t left = memory->bytes - offset;
  return {memory, offset, bytes < left ? bytes : left};
}

Part part_of(int descriptor, std::uint64_t offset, std::uint64_t bytes) {
  return part_of(persistent_file(descriptor), offset, bytes);
}

bool writes_through(int descriptor) {
  const long flags = real.syscall(SYS_fcntl, descriptor, F_GETFL);
  return flags >= 0 && (flags & O_DSYNC) != 0;  // O_SYNC contains it
}

void end_write(LibraryCall& call, const Part& part, bool through) {
  const std::uint64_t begin = part.trace_address();
  if (through && find_dirty_lines(begin, begin + part.bytes)) persist_dirty_lines(call);
}

// True if a write with this result has changed persistent memory.
bool is_recorded_write(int descriptor, ssize_t written) {
  return written > 0 && records_library_calls() && persistent_file(descriptor) != nullptr;
}

// A write that has been made.
struct Write {
  int descriptor;
  const iovec* values;
  int count;
  ssize_t bytes;
  std::uint64_t offset;
  bool through = false;  // it returns when the data are durable
};

void note_write(LibraryFunction& function, const Write& write) {
  const Part part =
      part_of(write.descriptor, write.offset, static_cast<std::uint64_t>(write.bytes));
  if (!part.exists()) return;
  LibraryCall call(function, Callers::kAny);
  std::uint64_t done = 0;
  for (int i = 0; i < write.count && done < part.bytes; ++i) {
    const std::uint64_t left = part.bytes - done;
    const std::uint64_t length = write.values[i].iov_len < left ? write.values[i].iov_len : left;
    call.stored_in_file(part.trace_address() + done, write.values[i].iov_base, length);
    done += length;
  }
  end_write(call, part, write.through || writes_through(write.descriptor));
}

std::uint64_t size_of(int descriptor) {
  struct stat status{};
  return fstat(descriptor, &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
}

// The offset at which a write of `bytes` bytes that has been made began.
std::uint64_t offset_before(int descriptor, ssize_t bytes) {
  const long offset = real.syscall(SYS_lseek, descriptor, 0, SEEK_CUR);
  return offset < bytes ? 0 : static_cast<std::uint64_t>(offset - bytes);
}

// The offset of a pwrite that has been made: Linux ignores the given one if the file is open for
// appending.
std::uint64_t offset_of(int descriptor, off_t given, ssize_t bytes) {
  const long flags = real.syscall(SYS_fcntl, descriptor, F_GETFL);
  if (flags < 0 || (flags & O_APPEND) == 0) return static_cast<std::uint64_t>(given);
  return size_of(descriptor) - static_cast<std::uint64_t>(bytes);
}

// ---- Parts that become zero ---------------------------------------------------------------------

// The nonzero lines of a part of a file, before it becomes zero.
class NonzeroLines {
 public:
  NonzeroLines(int descriptor, const Part& part) : part_(part) {
    found_.shrink(0);
    if (!part.exists()) return;
    char path[64];  // the program's descriptor may be unreadable
    std::snprintf(path, sizeof(path), "/proc/self/fd/%d", descriptor);
    read(static_cast<int>(real.syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0)));
  }

  void record(LibraryFunction& function, bool through) const {
    if (found_.size() == 0) return;
    LibraryCall call(function, Callers::kAny);
    for (const Range& range : found_) {
      call.zeroed_in_file(part_.memory->trace_address + range.begin, range.end - range.begin);
    }
    end_write(call, part_, through);
  }

 private:
  void read(int file) {
    if (file < 0) return;
    static char buffer[1 << 16];
    const std::uint64_t end = part_.offset + part_.bytes;
    for (std::uint64_t at = part_.offset; at < end;) {
      const long data = real.syscall(SYS_lseek, file, at, SEEK_DATA);  // skips holes
      if (data < 0) break;
      if (static_cast<std::uint64_t>(data) > at) at = static_cast<std::uint64_t>(data);
      const std::uint64_t wanted = end - at < sizeof(buffer) ? end - at : sizeof(buffer);
      if (at >= end) break;
      const long got = real.syscall(SYS_pread64, file, buffer, wanted, at);
      if (got <= 0) break;
      find(buffer, at, at + static_cast<std::uint64_t>(got));
      at += static_cast<std::uint64_t>(got);
    }
    real.syscall(SYS_close, file);
  }

  void find(const char* bytes, std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t at = begin, next = 0; at < end; at = next) {
      next = (at / trace::kLineBytes + 1) * trace::kLineBytes;
      if (next > end) next = end;
      if (is_zero(bytes + (at - begin), next - at)) continue;
      const bool follows = found_.size() > 0 && found_[found_.size() - 1].end == at;
      if (follows) {
        found_[found_.size() - 1].end = next;
      } else {
        found_.push({at, next});
      }
    }
  }

  static bool is_zero(const char* bytes, std::uint64_t count) {
    return bytes[0] == 0 && std::memcmp(bytes, bytes + 1, count - 1) == 0;
  }

  static inline List<Range, 1u << 22> found_;  // offsets in the file
  Part part_;
};

// Returns what a shorter length cuts off.
Part cut_off(int descriptor, off_t length) {
  if (length < 0 || !records_library_calls()) return {};
  const auto begin = static_cast<std::uint64_t>(length);
  const std::uint64_t size = size_of(descriptor);
  return begin < size ? part_of(descriptor, begin, size - begin) : Part{};
}

int truncate_file(int descriptor, off_t length) {
  static LibraryFunction function{kHeader, "ftruncate"};
  const NonzeroLines lines(descriptor, cut_off(descriptor, length));
  const auto result = static_cast<int>(real.syscall(SYS_ftruncate, descriptor, length));
  if (result == 0) lines.record(function, writes_through(descriptor));
  return result;
}

int truncate_path(const char* path, off_t length) {
  static LibraryFunction function{kHeader, "truncate"};
  const auto file = static_cast<int>(real.syscall(SYS_openat, AT_FDCWD, path, O_PATH | O_CLOEXEC));
  const NonzeroLines lines(file, cut_off(file, length));
  const auto result = static_cast<int>(real.syscall(SYS_truncate, path, length));
  if (result == 0) lines.record(function, false);
  if (file >= 0) real.syscall(SYS_close, file);
  return result;
}

int allocate_file(int descriptor, int kind, off_t offset, off_t bytes) {
  static LibraryFunction function{"/usr/include/fcntl.h", "fallocate"};
  constexpr int kZeroing = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE;
  const bool zeroes = (kind & kZeroing) != 0 && offset >= 0 && bytes > 0 && records_library_calls();
  const Part part = zeroes ? part_of(descriptor, static_cast<std::uint64_t>(offset),
                                     static_cast<std::uint64_t>(bytes))
                           : Part{};
  const NonzeroLines lines(descriptor, part);
  const auto result =
      static_cast<int>(real.syscall(SYS_fallocate, descriptor, kind, offset, bytes));
  if (result == 0) lines.record(function, writes_through(descriptor));
  return result;
}

}  // namespace

void note_msync(std::uint64_t begin, std::uint64_t end) {
  static LibraryFunction function{"/usr/include/x86_64-linux-gnu/sys/mman.h", "msync"};
  if (!records_library_calls() || !has_persistent(begin, end)) return;
  bool found = false;
  visit_persistent_parts(
      begin, end,
      [](void* data, std::uint64_t first, std::uint64_t last) {
        if (find_dirty_lines(first, last)) *static_cast<bool*>(data) = true;
      },
      &found);
  if (!found) return;
  LibraryCall call(function, Callers::kAny);
  persist_dirty_lines(call);
}

void note_write_at_position(int descriptor, const void* values, ssize_t bytes) {
  static LibraryFunction function{kHeader, "write"};
  if (!is_recorded_write(descriptor, bytes)) return note_reply(descriptor, values, bytes);
  const iovec whole{const_cast<void*>(values), static_cast<std::size_t>(bytes)};
  note_write(function, {descriptor, &whole, 1, bytes, offset_before(descriptor, bytes)});
}

bool call_file(long number, const long* arguments, long* result) {
  const auto descriptor = static_cast<int>(arguments[0]);
  switch (number) {
    case SYS_write:
      *result = write(descriptor, reinterpret_cast<const void*>(arguments[1]),
                      static_cast<std::size_t>(arguments[2]));
      return true;
    case SYS_pwrite64:
      *result = pwrite(descriptor, reinterpret_cast<const void*>(arguments[1]),
                       static_cast<std::size_t>(arguments[2]), arguments[3]);
      return true;
    case SYS_fsync:
      *result = fsync(descriptor);
      return true;
    case SYS_fdatasync:
      *result = fdatasync(descriptor);
      return true;
    case SYS_ftruncate:
      *result = truncate_file(descriptor, arguments[1]);
      return true;
    case SYS_truncate:
      *result = truncate_path(reinterpret_cast<const char*>(arguments[0]), arguments[1]);
      return true;
    case SYS_fallocate:
      *result =
          allocate_file(descriptor, static_cast<int>(arguments[1]), arguments[2], arguments[3]);
      return true;
    default:
      return false;
  }
}

}  // namespace pmemsim::rt

using namespace pmemsim::rt;

PMEMSIM_EXPORT int fsync(int descriptor) {
  static LibraryFunction function{kHeader, "fsync"};
  const int result = real.fsync(descriptor);
  if (result == 0) note_sync_of(function, descriptor);
  return result;
}
PMEMSIM_EXPORT int fdatasync(int descriptor) {
  static LibraryFunction function{kHeader, "fdatasync"};
  const int result = real.fdatasync(descriptor);
  if (result == 0) note_sync_of(function, descriptor);
  return result;
}
PMEMSIM_EXPORT void sync() noexcept {
  static LibraryFunction function{kHeader, "sync"};
  real.syscall(SYS_sync);
  if (records_library_calls()) note_sync(function, 0, kEnd);
}
PMEMSIM_EXPORT int syncfs(int descriptor) noexcept {
  static LibraryFunction function{kHeader, "syncfs"};
  const auto result = static_cast<int>(real.syscall(SYS_syncfs, descriptor));
  if (result == 0 && records_library_calls()) note_sync(function, 0, kEnd);
  return result;
}

PMEMSIM_EXPORT ssize_t pwrite(int descriptor, const void* values, std::size_t bytes, off_t offset) {
  static LibraryFunction function{kHeader, "pwrite"};
  const ssize_t written = real.pwrite(descriptor, values, bytes, offset);
  if (is_recorded_write(descriptor, written)) {
    const iovec whole{const_cast<void*>(values), bytes};
    note_write(function, {descriptor, &whole, 1, written, offset_of(descriptor, offset, written)});
  } else {
    note_reply(descriptor, values, written);
  }
  return written;
}
PMEMSIM_EXPORT ssize_t pwrite64(int descriptor, const void* values, std::size_t bytes,
                                off_t offset) {
  return pwrite(descriptor, values, bytes, offset);
}
PMEMSIM_EXPORT ssize_t writev(int descriptor, const iovec* values, int count) {
  static LibraryFunction function{kVectorHeader, "writev"};
  const ssize_t written = real.writev(descriptor, values, count);
  if (is_recorded_write(descriptor, written)) {
    note_write(function, {descriptor, values, count, written, offset_before(descriptor, written)});
  } else {
    note_reply(descriptor, values, static_cast<std::size_t>(count), written);
  }
  return written;
}
PMEMSIM_EXPORT ssize_t pwritev(int descriptor, const iovec* values, int count, off_t offset) {
  static LibraryFunction function{kVectorHeader, "pwritev"};
  const ssize_t written = real.pwritev(descriptor, values, count, offset);
  if (is_recorded_write(descriptor, written)) {
    note_write(function,
               {descriptor, values, count, written, offset_of(descriptor, offset, written)});
  } else {
    note_reply(descriptor, values, static_cast<std::size_t>(count), written);
  }
  return written;
}
PMEMSIM_EXPORT ssize_t pwritev64(int descriptor, const iovec* values, int count, off_t offset) {
  return pwritev(descriptor, values, count, offset);
}
PMEMSIM_EXPORT ssize_t pwritev2(int descriptor, const iovec* values, int count, off_t offset,
                                int flags) {
  static LibraryFunction function{kVectorHeader, "pwritev2"};
  const ssize_t written = real.pwritev2(descriptor, values, count, offset, flags);
  if (is_recorded_write(descriptor, written)) {
    const std::uint64_t begin =
        offset < 0 ? offset_before(descriptor, written) : offset_of(descriptor, offset, written);
    const bool through = (flags & (RWF_DSYNC | RWF_SYNC)) != 0;
    note_write(function, {descriptor, values, count, written, begin, through});
  } else {
    note_reply(descriptor, values, static_cast<std::size_t>(count), written);
  }
  return written;
}
PMEMSIM_EXPORT ssize_t pwritev64v2(int descriptor, const iovec* values, int count, off_t offset,
                                   int flags) {
  return pwritev2(descriptor, values, count, offset, flags);
}

PMEMSIM_EXPORT int ftruncate(int descriptor, off_t length) noexcept {
  return truncate_file(descriptor, length);
}
PMEMSIM_EXPORT int ftruncate64(int descriptor, off_t length) noexcept {
  return truncate_file(descriptor, length);
}
PMEMSIM_EXPORT int truncate(const char* path, off_t length) noexcept {
  return truncate_path(path, length);
}
PMEMSIM_EXPORT int truncate64(const char* path, off_t length) noexcept {
  return truncate_path(path, length);
}
PMEMSIM_EXPORT int fallocate(int descriptor, int kind, off_t offset, off_t bytes) {
  return allocate_file(descriptor, kind, offset, bytes);
}
PMEMSIM_EXPORT int fallocate64(int descriptor, int kind, off_t offset, off_t bytes) {
  return allocate_file(descriptor, kind, offset, bytes);
}
