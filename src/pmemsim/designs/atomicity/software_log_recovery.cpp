#include "pmemsim/designs/atomicity/software_log_recovery.hpp"

#include <sys/mman.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include <fmt/format.h>

#include "pmemsim/common/error.hpp"

extern "C" {
#include "persist.h"
#include "recovery.h"
}

namespace pmemsim {
namespace {

struct Flushed {
  const std::byte* line;
  LineData data;
};

// The lines that the library flushes while a recovery runs, in order, with their contents then.
thread_local std::vector<Flushed>* flushed = nullptr;

}  // namespace
}  // namespace pmemsim

// The two functions replace those of library/persist.c: flushed lines are collected for the image.
void persist_flush(const void* address, std::size_t lines) {
  if (pmemsim::flushed == nullptr) return;
  const auto* line = static_cast<const std::byte*>(address);
  line -= reinterpret_cast<std::uintptr_t>(line) % pmemsim::kLineBytes;
  for (std::size_t i = 0; i < lines; ++i, line += pmemsim::kLineBytes) {
    std::memcpy(pmemsim::flushed->emplace_back(pmemsim::Flushed{line, {}}).data.data(), line,
                pmemsim::kLineBytes);
  }
}
void persist_fence(fence_meaning) {}

namespace pmemsim {

// A copy of a pool in ordinary memory, on which the library's recovery runs. It does the work of
// pm_recover_image, but searches for the logs only if the lines that locate them have changed.
class SoftwareLogRecovery::Pool {
 public:
  Pool(std::uint64_t begin, std::uint64_t bytes) : begin_(begin), bytes_(bytes) {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
      throw Error(
          fmt::format("a pool of {} bytes does not fit into this process ({}); raise the limit "
                      "(ulimit -v), or record with a smaller pool",
                      bytes, std::strerror(errno)));
    }
    memory_ = static_cast<unsigned char*>(memory);
  }
  ~Pool() {
    segments_free(segments_.data());
    munmap(memory_, bytes_);
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // True if the whole line is in the pool: in a damaged trace, a PM address range
  // may end within a line.
  bool contains(Line line) const {
    const std::uint64_t offset = line.address() - begin_;
    return offset < bytes_ && bytes_ - offset >= kLineBytes;
  }

  void changed(Line line, const LineData& data) {
    const std::uint64_t offset = line.address() - begin_;
    if (offset < first_chunk_offset(bytes_) && locates_logs(offset, data)) searched_ = false;
    std::memcpy(memory_ + offset, data.data(), data.size());
  }

  void recover(RecoveryView& pm) {
    if (superblock_unfinished(reinterpret_cast<const superblock*>(memory_), bytes_, begin_)) return;
    lines_.clear();
    flushed = &lines_;
    const bool sound = find_logs() && roll_back(memory_, bytes_, kName, segments_.data()) >= 0;
    flushed = nullptr;
    for (const auto& [line, data] : lines_) {
      const auto offset = static_cast<std::uint64_t>(line - reinterpret_cast<std::byte*>(memory_));
      pm.write(Line::of(begin_ + offset), data);
    }
    if (!sound) throw RecoveryError(pm_error());
  }

 private:
  static constexpr const char* kName = "the pool";

  // True for the superblock, and for a line of the chunk table whose chunk is or was part of a log.
  bool locates_logs(std::uint64_t offset, const LineData& data) const {
    if (offset < POOL_PAGE_BYTES) return true;
    if (offset < CHUNK_TABLE_OFFSET) return false;
    std::uint64_t now = 0, before = 0;
    std::memcpy(&now, data.data(), sizeof now);
    std::memcpy(&before, memory_ + offset, sizeof before);
    return chunk_use_kind(now) == CHUNK_LOG || chunk_use_kind(before) == CHUNK_LOG;
  }
  bool find_logs() {
    if (searched_) return true;
    segments_free(segments_.data());
    searched_ = superblock_check(reinterpret_cast<const superblock*>(memory_), bytes_, kName) &&
                segments_find(memory_, bytes_, kName, segments_.data());
    return searched_;
  }

  const std::uint64_t begin_, bytes_;
  unsigned char* memory_;
  std::array<segments, PM_MAX_THREADS> segments_{};
  bool searched_ = false;
  std::vector<Flushed> lines_;  // Lines that the last recovery has flushed
};

SoftwareLogRecovery::SoftwareLogRecovery(const std::vector<trace::PmRegion>& regions) {
  for (const trace::PmRegion& region : regions) {
    if (!region.is_pool()) continue;
    pools_.push_back(std::make_unique<Pool>(region.begin, region.end - region.begin));
  }
}

SoftwareLogRecovery::~SoftwareLogRecovery() = default;

void SoftwareLogRecovery::changed(Line line, const LineData& data) {
  for (const auto& pool : pools_) {
    if (pool->contains(line)) pool->changed(line, data);
  }
}

void SoftwareLogRecovery::run(RecoveryView pm) {
  pm.may_read_everything();
  for (const auto& pool : pools_) pool->recover(pm);
}

}  // namespace pmemsim
