#include "pmemsim/checks/rules/allocations.hpp"

#include <algorithm>
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

void Allocations::allocate(const At& at, std::uint64_t address, std::uint64_t bytes,
                           bool in_region) {
  any_ = true;
  live_.insert_or_assign(address, Allocated{bytes == 0 ? 1 : bytes, at, false});
  if (in_region) open_[at.thread].allocated.push_back(address);
  const std::uint64_t first = Line::of(address).number;
  const std::uint64_t lines = (address % kLineBytes + bytes + kLineBytes - 1) / kLineBytes;
  for (std::uint64_t i = 0; i < lines && i < kMostFreedLines && freed_.size() > 0; ++i) {
    if (freed_.find({first + i}) != nullptr) freed_.erase({first + i});
  }
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

// A line that an allocation shares with others is not free when the allocation is.
Allocations::Lines Allocations::lines_of(Block block) const {
  if (!share_lines_) {
    return {Line::of(block.address).number, (block.bytes + kLineBytes - 1) / kLineBytes};
  }
  const std::uint64_t first = (block.address + kLineBytes - 1) / kLineBytes;
  const std::uint64_t end = (block.address + block.bytes) / kLineBytes;
  return {first, end > first ? end - first : 0};
}

void Allocations::forget(const At& at, Block block) {
  if (const auto known = live_.find(block.address); known != live_.end()) {
    block.bytes = known->second.bytes;
    live_.erase(known);
  }
  if (block.bytes == 0) block.bytes = 1;
  const Lines lines = lines_of(block);
  for (std::uint64_t i = 0; i < lines.count && i < kMostFreedLines; ++i) {
    const Line line{lines.first + i};
    Freed* const known = freed_.find(line);
    (known != nullptr ? *known : freed_.insert(line)) = {at, order_.now(at.thread)};
  }
}

void Allocations::check_access(const At& at, Line line, Reason reason) {
  const Freed* const freed = freed_.find(line);
  if (freed == nullptr) return;
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

void Allocations::reach_from(const Image& memory, Line line, std::vector<Block>& reached) {
  const LineData data = memory.read(line);
  for (std::size_t at = 0; at < data.size(); at += kWordBytes) {
    std::uint64_t word = 0;
    std::memcpy(&word, data.data() + at, sizeof(word));
    reach(word, reached);
  }
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
  if (share_lines_) return;
  std::vector<Block> reached;
  memory.for_each_page([&](std::uint64_t page, const std::byte*) {
    for (std::uint64_t at = page; at < page + Image::kPageBytes; at += kLineBytes) {
      const Line line = Line::of(at);
      const bool root = containing(at) == live_.end() && freed_.find(line) == nullptr;
      if (root && log.find(line) == nullptr) reach_from(memory, line, reached);
    }
  });
  while (!reached.empty()) {
    const Block block = reached.back();
    reached.pop_back();
    const std::uint64_t first = Line::of(block.address).number;
    const std::uint64_t lines = (block.bytes + kLineBytes - 1) / kLineBytes;
    for (std::uint64_t i = 0; i < lines && i < kMostReachedLines; ++i) {
      reach_from(memory, {first + i}, reached);
    }
  }
  for (const auto& [thread, region] : open_) {
    for (const std::uint64_t address : region.allocated) reach(address, reached);
  }
  for (const auto& [address, block] : live_) {
    if (!block.reached) findings_.add(Kind::kLeaked, Reason::kNone, block.at);
  }
}

}  // namespace pmemsim::check
