#include "pmemsim/checks/rules/allocations.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>

#include "pmemsim/checks/rules/lines.hpp"

namespace pmemsim::check {
namespace {

// Maximum number of freed lines that are tracked for a block.
constexpr std::uint64_t kMostFreedLines = 1 << 16;
// Maximum number of lines visited for a block: a damaged recording may contain blocks of any size.
constexpr std::uint64_t kMostReachedLines = 1 << 24;
// Mask of the address bits: a program may store other data in a pointer's upper bits.
constexpr std::uint64_t kAddressBits = trace::kMaxAddress - 1;

}  // namespace

// True if the program can ask libpmemobj for all objects of a pool.
bool Allocations::lists_objects(const trace::Metadata& metadata) {
  return metadata.json.find(R"("lists_objects":true)") != std::string::npos;
}

void Allocations::allocate(const At& at, std::uint64_t address, std::uint64_t bytes,
                           bool in_region) {
  any_ = true;
  live_.insert_or_assign(address, Allocated{bytes == 0 ? 1 : bytes, at, false});
  if (in_region) open_[at.thread].allocated.push_back(address);
  if (freed_.size() == 0) return;
  for_each_line({address, bytes}, kMostFreedLines, [&](Line line, Words words) {
    Freed* const freed = freed_.find(line);
    if (freed == nullptr) return;
    freed->words &= static_cast<Words>(~words);
    if (freed->words == 0) freed_.erase(line);
  });
}

void Allocations::free(const At& at, std::uint64_t address, std::uint64_t bytes, bool in_region) {
  any_ = true;
  if (in_region) {
    open_[at.thread].freed.emplace_back(at, Block{address, bytes});
  } else {
    forget(at, {address, bytes});
  }
}

void Allocations::region_ended(CoreId thread) {
  OfRegion& region = open_[thread];
  for (const auto& [at, block] : region.freed) forget(at, block);
  region = {};
}

template <typename Visit>
void Allocations::for_each_line(Block block, std::uint64_t most, Visit visit) const {
  const std::uint64_t unit = share_lines_ ? kWordBytes : kLineBytes;
  std::uint64_t at = block.address / unit * unit;
  const std::uint64_t end =
      (block.address + std::max<std::uint64_t>(block.bytes, 1) + unit - 1) / unit * unit;
  for (std::uint64_t i = 0; at < end && i < most; ++i) {
    const Line line = Line::of(at);
    const std::uint64_t next = std::min(end, line.address() + kLineBytes);
    visit(line, words_of(at, next - at));
    at = next;
  }
}

void Allocations::forget(const At& at, Block block) {
  if (const auto known = live_.find(block.address); known != live_.end()) {
    block.bytes = known->second.bytes;
    live_.erase(known);
  }
  for_each_line(block, kMostFreedLines, [&](Line line, Words words) {
    const Words others = freed_words(line);
    Freed* const known = freed_.find(line);
    (known != nullptr ? *known : freed_.insert(line)) =
        Freed{static_cast<Words>(others | words), at, order_.now(at.thread)};
  });
}

void Allocations::check_access(const At& at, std::uint64_t address, std::uint64_t bytes,
                               Reason reason) {
  const Freed* const freed = freed_.find(Line::of(address));
  if (freed == nullptr) return;
  const std::uint64_t rest = kLineBytes - address % kLineBytes;
  if ((freed->words & words_of(address, std::min(bytes, rest))) == 0) return;
  const std::uint32_t by = freed->at.thread;
  if (by != at.thread && !order_.before(by, freed->epoch, at.thread)) return;
  findings_.add(Kind::kUsedAfterFree, reason, at, freed->at);
}

Allocations::Live::iterator Allocations::containing(std::uint64_t address) {
  auto block = live_.upper_bound(address);
  if (block == live_.begin()) return live_.end();
  --block;
  return address - block->first < block->second.bytes ? block : live_.end();
}

std::optional<Allocations::Block> Allocations::find(std::uint64_t address) const {
  const auto block = const_cast<Allocations*>(this)->containing(address);
  if (block == live_.end()) return std::nullopt;
  return Block{block->first, block->second.bytes};
}

void Allocations::reach(std::uint64_t word, std::vector<Block>& reached) {
  const auto visit = [&](Live::iterator block) {
    if (block == live_.end() || block->second.reached) return;
    block->second.reached = true;
    reached.push_back({block->first, block->second.bytes});
  };
  if (word == 0) return;
  visit(containing(word & kAddressBits));
  for (const trace::PmRegion& region : regions_) {
    if (word < region.end - region.begin) visit(live_.find(region.begin + word));
  }
}

void Allocations::reach_from(const Image& memory, Line line, Words words,
                             std::vector<Block>& reached) {
  const LineData data = memory.read(line);
  for (Words left = words; left != 0; left &= static_cast<Words>(left - 1)) {
    std::uint64_t word = 0;
    std::memcpy(&word, data.data() + std::countr_zero(left) * kWordBytes, sizeof(word));
    reach(word, reached);
  }
}

Words Allocations::roots(Line line) {
  Words words = 0;
  for (std::uint64_t at = 0; at < kLineBytes; at += kWordBytes) {
    if (containing(line.address() + at) == live_.end()) words |= words_of(at, kWordBytes);
  }
  return words & static_cast<Words>(~freed_words(line));
}

std::vector<std::uint64_t> Allocations::references(const Image& memory) const {
  std::vector<std::uint64_t> found;
  memory.for_each_page([&](std::uint64_t page, const std::byte* bytes) {
    for (std::uint64_t at = 0; at < Image::kPageBytes; at += kWordBytes) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes + at, sizeof(word));
      if (word == 0) continue;
      const std::uint64_t address = word & kAddressBits & ~(kWordBytes - 1);
      for (const trace::PmRegion& region : regions_) {
        if (page < region.begin || page >= region.end) continue;
        if (address >= region.begin && address < region.end) found.push_back(address);
        if (word < region.end - region.begin) found.push_back(region.begin + word);
      }
    }
  });
  std::ranges::sort(found);
  return found;
}

void Allocations::find_leaks(const Image& memory, const LineTable<bool>& log) {
  if (!finds_leaks_) return;
  std::vector<Block> reached;
  memory.for_each_page([&](std::uint64_t page, const std::byte*) {
    for (std::uint64_t at = page; at < page + Image::kPageBytes; at += kLineBytes) {
      const Line line = Line::of(at);
      if (log.find(line) == nullptr) reach_from(memory, line, roots(line), reached);
    }
  });
  while (!reached.empty()) {
    const Block block = reached.back();
    reached.pop_back();
    for_each_line(block, kMostReachedLines,
                  [&](Line line, Words words) { reach_from(memory, line, words, reached); });
  }
  for (const auto& [thread, region] : open_) {
    for (const std::uint64_t address : region.allocated) reach(address, reached);
  }
  for (const auto& [address, block] : live_) {
    if (!block.reached) findings_.add(Kind::kLeaked, Reason::kNone, block.at);
  }
}

}  // namespace pmemsim::check
