#include "dirty_lines.hpp"

#include <algorithm>
#include <cstring>

#include "address_range.hpp"
#include "output.hpp"
#include "persistent.hpp"
#include "pmemsim/trace/record_layout.hpp"
#include "reserved_memory.hpp"
#include "scheduler.hpp"
#include "sites.hpp"
#include "status.hpp"
#include "thread.hpp"
#include "trace_addresses.hpp"

namespace pmemsim::rt {
namespace {

using trace::SiteKind;

constexpr std::uint32_t kNobody = 0, kSeveral = UINT32_MAX;  // otherwise a thread's index + 1

struct Line {
  std::uint32_t owner;   // the thread that has stored to it; kNobody: it is clean
  std::uint32_t fences;  // the owner's fences before its last flush of the line
  bool flushed;          // by its owner, since the last store
  bool listed;
};
Map<Line> lines;                       // key: the line's number
List<std::uint64_t, 1u << 26> listed;  // numbers of all lines that aren't clean, and of others
Map<std::uint32_t> fences;             // key: a thread's index + 1

bool tracking = false;
// The result of find_dirty_lines().
List<std::uint64_t, 1u << 26> dirty;  // numbers of lines
bool needs_fence = false;             // for flushes of the calling thread

bool is_in_pm(std::uint64_t trace_address) {
  static Range last{};
  if (trace_address >= last.begin && trace_address < last.end) return true;
  return find_persistent(trace_address, last);
}

void note_store(std::uint32_t owner, std::uint64_t address, std::uint64_t bytes) {
  if (!is_in_pm(address)) return;
  const std::uint64_t last = (address + bytes - 1) / trace::kLineBytes;
  for (std::uint64_t number = address / trace::kLineBytes; number <= last; ++number) {
    Line& line = lines[number];
    line.owner = line.owner == kNobody || line.owner == owner ? owner : kSeveral;
    line.flushed = false;
    if (line.listed) continue;
    line.listed = true;
    if (!listed.push(number)) fail("%s stores to too many lines of PM", program_name);
  }
}

void note_flush_of(std::uint32_t owner, std::uint64_t address) {
  Line* line = lines.find(address / trace::kLineBytes);
  if (line == nullptr || line->owner != owner) return;
  line->flushed = true;
  line->fences = fences[owner];
}

void note_record(std::uint32_t owner, const std::uint8_t* record, bool translated) {
  std::uint32_t head;
  std::memcpy(&head, record, sizeof(head));
  const trace::SiteRecord& site = sites[head >> 1];
  const auto kind = static_cast<SiteKind>(site.kind);
  const auto address = [&] {
    std::uint64_t value;
    std::memcpy(&value, record + trace::kHeadBytes, sizeof(value));
    return translated ? value : trace_address_of(value);
  };
  switch (kind) {
    case SiteKind::kAtomicUpdate:
    case SiteKind::kAtomicStore:
      if ((site.flags & trace::kSiteFullFence) != 0) ++fences[owner];
      if (kind == SiteKind::kAtomicUpdate && (head & 1) == 0) return;
      return note_store(owner, address(), site.size);
    case SiteKind::kStore:
    case SiteKind::kNonTemporal:
      return note_store(owner, address(), site.size);
    case SiteKind::kCopyStore:
      return note_store(owner, address(), record[trace::kHeadBytes + 8]);
    case SiteKind::kFlush:
      return note_flush_of(owner, address());
    case SiteKind::kFence:
      if (site.detail != static_cast<std::uint8_t>(trace::FenceKind::kLfence)) ++fences[owner];
      return;
    default:
      return;
  }
}

// Notes a thread's records up to `end` that haven't been noted yet.
void note_records(Thread& thread, const std::uint8_t* end) {
  if (thread.noted > end) thread.noted = end;  // records have been removed
  for (; thread.noted < end; thread.noted += record_bytes(thread.noted)) {
    note_record(thread.index + 1, thread.noted, thread.noted < thread.translated);
  }
}

void begin_tracking() {
  tracking = true;
  read_operations([](std::uint32_t thread, const std::uint8_t* begin, const std::uint8_t* end) {
    for (; begin < end; begin += record_bytes(begin)) note_record(thread + 1, begin, true);
  });
  on_submission = &note_records;
}

// True if the calling thread's next fence, or an earlier one of the owner, completes the flush.
bool will_be_clean(const Line& line) {
  return line.flushed && (line.owner == self->index + 1 || fences[line.owner] > line.fences);
}

}  // namespace

bool find_dirty_lines(std::uint64_t begin, std::uint64_t end) {
  if (!tracking) begin_tracking();
  for (Thread* thread : threads) {
    if (thread->buffer != nullptr) note_records(*thread, end_of_records(*thread));
  }
  std::size_t kept = 0;
  for (const std::uint64_t number : listed) {
    Line& line = *lines.find(number);
    const std::uint64_t address = number * trace::kLineBytes;
    if (line.owner != kNobody && (address < begin || address >= end)) {
      listed[kept++] = number;
      continue;
    }
    if (line.owner != kNobody && will_be_clean(line)) {
      needs_fence = needs_fence || fences[line.owner] == line.fences;
    } else if (line.owner != kNobody) {
      dirty.push(number);
    }
    line = {};
  }
  listed.shrink(kept);
  return needs_fence || dirty.size() > 0;
}

void persist_dirty_lines(LibraryCall& call) {
  std::sort(dirty.begin(), dirty.end());
  for (const std::uint64_t number : dirty) call.flush_in_file(number * trace::kLineBytes);
  call.fence();
  dirty.shrink(0);
  needs_fence = false;
}

}  // namespace pmemsim::rt
