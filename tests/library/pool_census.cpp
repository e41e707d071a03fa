#include "pool_census.hpp"

#include <algorithm>
#include <sstream>
#include <vector>

namespace {

std::uint64_t class_bytes(unsigned shelf) {
  if (shelf == MAGAZINE_CLASS) return sizeof(magazine);
  std::uint64_t lines = 0;
  for (unsigned i = 0; i <= shelf; ++i) {
    std::uint64_t step = 1;
    while (lines >= 8 * step) step *= 2;
    lines += step;
  }
  return lines * PM_LINE_BYTES;
}

struct Census {
  const unsigned char* start;
  std::uint64_t bytes;
  std::vector<std::uint64_t> blocks;  // blocks of all chunks, by address
  std::vector<bool> claimed;
  std::ostringstream problems;

  template <class Line>
  const Line* at(std::uint64_t offset) const {
    return reinterpret_cast<const Line*>(start + offset);
  }

  void claim(std::uint64_t block, const char* who) {
    const auto found = std::lower_bound(blocks.begin(), blocks.end(), block);
    const auto index = static_cast<std::size_t>(found - blocks.begin());
    if (found == blocks.end() || *found != block || claimed[index])
      problems << who << " has " << std::hex << block << std::dec
               << ", which does not exist or is elsewhere too\n";
    else
      claimed[index] = true;
  }

  void claim_chain(std::uint64_t address) {
    for (; address; address = reinterpret_cast<const magazine*>(address)->above) {
      claim(address, "a chain of magazines");
      for (const std::uint64_t block : reinterpret_cast<const magazine*>(address)->block)
        if (block) claim(block, "a magazine");
    }
  }
};

}  // namespace

std::string census(const unsigned char* start, std::uint64_t bytes,
                   const std::map<std::uint64_t, std::uint64_t>& live) {
  Census census{start, bytes, {}, {}, {}};
  const auto base = reinterpret_cast<std::uint64_t>(start) + first_chunk_offset(bytes);
  for (std::uint64_t chunk = 0; chunk < pool_chunks(bytes); ++chunk) {
    const std::uint64_t use = census.at<chunk_line>(CHUNK_TABLE_OFFSET)[chunk].use;
    const std::uint64_t address = base + chunk * CHUNK_BYTES;
    if (chunk_use_kind(use) == CHUNK_LARGE) census.blocks.push_back(address);
    if (chunk_use_kind(use) != CHUNK_BLOCKS) continue;
    const std::uint64_t block = class_bytes(chunk_use_class(use));
    for (std::uint64_t at = 0; at + block <= CHUNK_BYTES; at += block)
      census.blocks.push_back(address + at);
  }
  census.claimed.resize(census.blocks.size());
  for (unsigned i = 0; i < PM_MAX_THREADS * SHELVES; ++i) {
    const shelf_line& shelf = census.at<shelf_line>(SHELF_OFFSET)[i];
    for (std::uint64_t at = shelf.next; at < shelf.end; at += class_bytes(i % SHELVES))
      census.claim(at, "a shelf");
    census.claim_chain(shelf.bottom);
  }
  for (unsigned i = 0; i < BLOCK_CLASSES; ++i)
    census.claim_chain(census.at<depot_line>(DEPOT_OFFSET)[i].top);
  for (const auto& [address, size] : live) census.claim(address, "the program");
  const auto lost = std::count(census.claimed.begin(), census.claimed.end(), false);
  if (lost > 0) {
    const auto first = std::find(census.claimed.begin(), census.claimed.end(), false);
    census.problems << lost << " blocks are lost, the first is " << std::hex
                    << census.blocks[static_cast<std::size_t>(first - census.claimed.begin())]
                    << '\n';
  }
  return census.problems.str();
}
