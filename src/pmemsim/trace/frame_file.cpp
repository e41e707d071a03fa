#include "pmemsim/trace/frame_file.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

namespace pmemsim::trace {

std::size_t stored_bound(std::size_t raw_bytes) { return ZSTD_compressBound(raw_bytes); }

bool compress_frame(void* context, const void* raw, std::size_t raw_bytes, void* stored,
                    std::size_t stored_capacity, FrameHeader& header) {
  const std::size_t stored_bytes = ZSTD_compressCCtx(
      static_cast<ZSTD_CCtx*>(context), stored, stored_capacity, raw, raw_bytes, kCompressionLevel);
  if (ZSTD_isError(stored_bytes)) return false;
  header.raw_bytes = static_cast<std::uint32_t>(raw_bytes);
  header.stored_bytes = static_cast<std::uint32_t>(stored_bytes);
  header.checksum = XXH64(stored, stored_bytes, 0);
  return true;
}

FrameFile::~FrameFile() {
  const int descriptor = descriptor_;
  abandon();
  if (descriptor >= 0) close(descriptor);
  if (index_ != nullptr) munmap(index_, kMaxFrames * sizeof(FrameEntry));
}

int FrameFile::create(const char* path) {
  if (std::strlen(path) + sizeof(kPartialSuffix) > kMaxPath) return ENAMETOOLONG;
  std::snprintf(path_, kMaxPath, "%s", path);
  std::memcpy(partial_, path_, std::strlen(path_));
  std::memcpy(partial_ + std::strlen(path_), kPartialSuffix, sizeof(kPartialSuffix));
  void* memory = mmap(nullptr, kMaxFrames * sizeof(FrameEntry), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return errno;
  index_ = static_cast<FrameEntry*>(memory);
  descriptor_ = open(partial_, O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0666);
  if (descriptor_ < 0) return errno;
  FileHeader header{};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  header.version = kVersion;
  return write_all(&header, sizeof(header));
}

int FrameFile::append(const FrameHeader& header, const void* stored) {
  if (frames_ == kMaxFrames) return EFBIG;
  const std::uint64_t begin = offset_;
  if (const int error = write_all(&header, sizeof(header))) return error;
  if (const int error = write_all(stored, header.stored_bytes)) return error;
  index_[frames_++] = {begin, header};
  return 0;
}

int FrameFile::read(std::uint64_t frame, void* stored) const {
  const FrameEntry& entry = index_[frame];
  const std::size_t bytes = entry.header.stored_bytes;
  const auto offset = static_cast<off_t>(entry.offset + sizeof(FrameHeader));
  for (std::size_t done = 0; done < bytes;) {
    const ssize_t got = pread(descriptor_, static_cast<char*>(stored) + done, bytes - done,
                              offset + static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got < 0 ? errno : EIO;
    done += static_cast<std::size_t>(got);
  }
  return 0;
}

int FrameFile::renumber(std::uint64_t frame, std::uint32_t thread) {
  FrameEntry& entry = index_[frame];
  entry.header.thread = thread;
  const ssize_t written =
      pwrite(descriptor_, &entry.header, sizeof(entry.header), static_cast<off_t>(entry.offset));
  return written == static_cast<ssize_t>(sizeof(entry.header)) ? 0 : written < 0 ? errno : EIO;
}

int FrameFile::finish() {
  FileFooter footer{};
  footer.index_offset = offset_;
  footer.frames = frames_;
  footer.index_checksum = XXH64(index_, frames_ * sizeof(FrameEntry), 0);
  std::memcpy(footer.magic, kFooterMagic, sizeof(kFooterMagic));
  int error = write_all(index_, frames_ * sizeof(FrameEntry));
  if (error == 0) error = write_all(&footer, sizeof(footer));
  if (error == 0 && fsync(descriptor_) != 0 && errno != EINVAL) error = errno;
  if (error == 0 && close(descriptor_) != 0) error = errno;
  if (error == 0 && rename(partial_, path_) != 0) error = errno;
  if (error == 0) {
    descriptor_ = -1;
    partial_[0] = '\0';
  }
  return error;
}

void FrameFile::abandon() noexcept {
  if (descriptor_ < 0) return;
  unlink(partial_);
  // The descriptor isn't closed, because another thread may be writing to it. The kernel closes it
  // when the process ends.
  descriptor_ = -1;
}

int FrameFile::write_all(const void* bytes, std::size_t count) {
  const auto* from = static_cast<const char*>(bytes);
  while (count > 0) {
    const ssize_t written = write(descriptor_, from, count);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    if (written == 0) return ENOSPC;
    from += written;
    count -= static_cast<std::size_t>(written);
    offset_ += static_cast<std::uint64_t>(written);
  }
  return 0;
}

}  // namespace pmemsim::trace
