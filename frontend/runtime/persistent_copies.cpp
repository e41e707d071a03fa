#include "persistent_copies.hpp"

#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace pmemsim::rt {
namespace {

constexpr std::size_t kDefaultThreshold = 256;

// The environment sets the threshold, as PMDK documents it.
std::size_t threshold() {
  static bool known = false;
  static std::size_t bytes = kDefaultThreshold;
  if (known) return bytes;
  known = true;
  const char* none = std::getenv("PMEM_NO_MOVNT");
  const char* text = std::getenv("PMEM_MOVNT_THRESHOLD");
  if (none != nullptr && std::strcmp(none, "1") == 0) {
    bytes = SIZE_MAX;
  } else if (text != nullptr && *text >= '0' && *text <= '9') {
    bytes = std::strtoull(text, nullptr, 10);
  }
  return bytes;
}

bool passes_caches(std::size_t bytes, unsigned flags) {
  if ((flags & kNoFlush) != 0) return false;
  if ((flags & (kNonTemporalCopy | kWriteCombining)) != 0) return true;
  return (flags & (kTemporalCopy | kWriteBack)) == 0 && bytes >= threshold();
}

const char* behind(const void* from, std::size_t bytes) {
  return from == nullptr ? nullptr : static_cast<const char*>(from) + bytes;
}

void copy_in_caches(LibraryCall& call, char* to, const void* from, std::size_t bytes, bool flush) {
  call.copied(to, from, bytes);
  if (flush) call.flush(to, bytes);
}

}  // namespace

// Only whole lines pass the caches.
void record_persistent_copy(LibraryCall& call, void* to, const void* from, std::size_t bytes,
                            unsigned flags) {
  auto* const begin = static_cast<char*>(to);
  if (passes_caches(bytes, flags)) {
    std::size_t head = -reinterpret_cast<std::uintptr_t>(to) % trace::kLineBytes;
    if (head > bytes) head = bytes;
    const std::size_t lines = (bytes - head) / trace::kLineBytes * trace::kLineBytes;
    const std::size_t tail = bytes - head - lines;
    copy_in_caches(call, begin, from, head, true);
    call.copied_past_caches(begin + head, behind(from, head), lines);
    copy_in_caches(call, begin + head + lines, behind(from, head + lines), tail, true);
  } else {
    copy_in_caches(call, begin, from, bytes, (flags & kNoFlush) == 0);
  }
  if ((flags & (kNoDrain | kNoFlush)) == 0) call.fence();
}

}  // namespace pmemsim::rt
