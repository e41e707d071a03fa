// A table of the lines that the program has touched before the region of interest, so that a
// simulation can begin with warm caches. The table is set-associative by page: of more than four
// pages with the same set, those touched last stay. The addresses of the program's memory must
// have little effect on which lines are lost.
#include "warm.hpp"

#include "output.hpp"
#include "reserved_memory.hpp"
#include "thread.hpp"
#include "trace_addresses.hpp"

namespace pmemsim::rt {
namespace {

constexpr unsigned kPageBits = 12, kLineBits = 6;
constexpr std::size_t kPageLines = std::size_t{1} << (kPageBits - kLineBits);
constexpr unsigned kSetBits = 12;
constexpr std::size_t kWays = 4;
constexpr std::size_t kPages = kWays << kSetBits;  // 64 MiB, more than caches hold
constexpr std::size_t kEntries = kPages * kPageLines;

struct Page {
  std::uint64_t number;
  std::uint64_t stamp;  // 0: empty
};
struct Entry {
  std::uint64_t line;  // bit 0: written
  std::uint32_t thread;
  std::uint64_t stamp;  // 0: empty
};
static_assert(std::uint64_t{1} << kLineBits == trace::kLineBytes);
Page* pages = nullptr;
Entry* entries = nullptr;  // The lines of each page
std::uint64_t last_stamp = 0;
const Entry* last_entry = nullptr;

// Returns the lines of a page. The upper address bits are folded into the set, so that contiguous
// memory is spread over all sets.
Entry* lines_of(std::uint64_t number) {
  const std::uint64_t set =
      (number ^ number >> kSetBits ^ number >> 2 * kSetBits) % (std::uint64_t{1} << kSetBits);
  Page* const first = pages + set * kWays;
  Page* page = first;
  for (Page* way = first; way < first + kWays; ++way) {
    if (way->stamp != 0 && way->number == number) {
      page = way;
      break;
    }
    if (way->stamp < page->stamp) page = way;
  }
  Entry* const lines = entries + static_cast<std::size_t>(page - pages) * kPageLines;
  if (page->stamp != 0 && page->number != number) {
    for (std::size_t i = 0; i < kPageLines; ++i) lines[i] = {};
  }
  *page = {number, last_stamp + 1};
  return lines;
}

void touch_line(std::uint64_t line, bool written) {
  // Most accesses are to the line of the previous access.
  if (last_entry != nullptr && last_entry->thread == self->index &&
      (last_entry->line == (line | 1) || (last_entry->line == line && !written))) {
    return;
  }
  Entry& entry = lines_of(line >> kPageBits)[line >> kLineBits & (kPageLines - 1)];
  const bool was_written = entry.stamp != 0 && (entry.line & 1) != 0;
  entry.line = line | (written || was_written ? 1 : 0);
  entry.thread = self->index;
  entry.stamp = ++last_stamp;
  last_entry = &entry;
}

// Sorts the entries by stamp. Uses a heap sort, since the C library's sort may allocate memory.
void sift_down(std::size_t root, std::size_t count) {
  for (std::size_t child = 2 * root + 1; child < count; child = 2 * root + 1) {
    if (child + 1 < count && entries[child].stamp < entries[child + 1].stamp) ++child;
    if (entries[root].stamp >= entries[child].stamp) return;
    const Entry swapped = entries[root];
    entries[root] = entries[child];
    entries[child] = swapped;
    root = child;
  }
}

void sort_entries(std::size_t count) {
  for (std::size_t root = count / 2; root-- > 0;) sift_down(root, count);
  for (std::size_t last = count; last-- > 1;) {
    const Entry swapped = entries[0];
    entries[0] = entries[last];
    entries[last] = swapped;
    sift_down(0, last);
  }
}

// Moves the entries that aren't empty to the front; returns their number.
std::size_t gather_entries() {
  std::size_t count = 0;
  for (std::size_t i = 0; i < kEntries; ++i) {
    if (entries[i].stamp != 0) entries[count++] = entries[i];
  }
  return count;
}

}  // namespace

void touch(const volatile void* address, std::uint32_t bytes, bool written) {
  if (bytes == 0) return;
  if (entries == nullptr) {
    pages = static_cast<Page*>(allocate(kPages * sizeof(Page)));
    entries = static_cast<Entry*>(allocate(kEntries * sizeof(Entry)));
  }
  const std::uint64_t begin = trace_address_of(address);
  const std::uint64_t line_mask = ~std::uint64_t{trace::kLineBytes - 1};
  for (std::uint64_t line = begin & line_mask; line < begin + bytes; line += trace::kLineBytes) {
    touch_line(line, written);
  }
}

void write_warm_lines(const std::uint32_t* thread_numbers) {
  if (entries == nullptr) return;
  const std::size_t count = gather_entries();
  sort_entries(count);
  Stream lines(trace::FrameKind::kWarm);
  for (std::size_t i = 0; i < count; ++i) {
    // Lines of a thread that isn't in the trace warm the caches of thread 0.
    const std::uint32_t number = thread_numbers[entries[i].thread];
    const trace::WarmLine line{entries[i].line, number == kNotRecorded ? 0 : number, 0};
    lines.put(&line, sizeof(line));
  }
}

}  // namespace pmemsim::rt
