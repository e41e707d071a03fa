#include "pmemsim/checks/rules/read_values.hpp"

#include <algorithm>

namespace pmemsim::check {
namespace {

// Returns the bits of a word's bytes that lie in [begin, end).
std::uint8_t bytes_of_word(std::uint64_t word, std::uint64_t begin, std::uint64_t end) {
  const std::uint64_t first = std::max(begin, word * kWordBytes) - word * kWordBytes;
  const std::uint64_t last = std::min(end, (word + 1) * kWordBytes) - word * kWordBytes;
  return static_cast<std::uint8_t>((1u << last) - (1u << first));
}

}  // namespace

void ReadValues::load_pm(const At& at, std::uint64_t address, std::uint64_t bytes) {
  const Line line = Line::of(address);
  const LineState* const state = lines_.find(line);
  const Words words = words_of(address, bytes);
  const bool known =
      state != nullptr && state->version > 0 && !state->racy && (state->run & words) == words;
  const bool own = known && state->store.thread == thread_;
  const bool followed =
      known && (own ? follow_own_ : order_.before(state->store.thread, state->stored, thread_));
  if (followed && !is_guaranteed(*state, words, order_, thread_)) {
    by_site_[at.site] = {at, line, words, bytes == kWordBytes, own, state->version};
  } else if (!by_site_.empty()) {
    by_site_.erase(at.site);
  }
}

void ReadValues::load_volatile(const At& at, std::uint64_t address, std::uint64_t bytes) {
  if (none()) return;
  const std::uint64_t end = address + bytes;
  for (std::uint64_t word = address / kWordBytes; word * kWordBytes < end; ++word) {
    const auto known = by_word_.find(word);
    if (known == by_word_.end()) continue;
    if ((known->second.bytes & bytes_of_word(word, address, end)) == 0) continue;
    by_site_[at.site] = known->second.read;
    return;
  }
  by_site_.erase(at.site);
}

void ReadValues::store_volatile(const At& at, std::uint64_t address, std::uint64_t bytes) {
  if (!none()) fill(address, bytes, source_of_data(at.site));
}

// Notes the load that the memory has its contents from; nullptr: none.
void ReadValues::fill(std::uint64_t address, std::uint64_t bytes, const Read* read) {
  if (read == nullptr && by_word_.empty()) return;
  const std::uint64_t end = address + bytes;
  for (std::uint64_t word = address / kWordBytes; word * kWordBytes < end; ++word) {
    const ByteBits stored = bytes_of_word(word, address, end);
    if (read == nullptr) {
      clear_bytes(word, stored);
      continue;
    }
    const auto [known, fresh] = by_word_.try_emplace(word, Word{*read, stored});
    if (!fresh) known->second = {*read, static_cast<ByteBits>(known->second.bytes | stored)};
  }
}

void ReadValues::clear_bytes(std::uint64_t word, ByteBits bytes) {
  const auto known = by_word_.find(word);
  if (known == by_word_.end()) return;
  known->second.bytes &= static_cast<ByteBits>(~bytes);
  if (known->second.bytes == 0) by_word_.erase(known);
}

const ReadValues::Read* ReadValues::source(std::uint32_t site, bool data_only) const {
  if (by_site_.empty()) return nullptr;
  const trace::SiteRecord& record = sites_.sites()[site];
  const auto all = sites_.dependences(record);
  const Read* own = nullptr;
  for (std::size_t i = data_only ? record.address_dependences : 0; i < all.size(); ++i) {
    const auto read = by_site_.find(all[i] >> 8);
    if (read == by_site_.end()) continue;
    if (i < record.address_dependences && !read->second.pointer) continue;
    if (!read->second.own) return &read->second;
    if (own == nullptr) own = &read->second;
  }
  return own;
}

std::vector<ReadValues::Read> ReadValues::sources_of_memory(std::uint64_t address,
                                                            std::uint64_t bytes) const {
  std::vector<Read> reads;
  if (by_word_.empty()) return reads;
  const std::uint64_t end = address + bytes;
  for (std::uint64_t word = address / kWordBytes; word * kWordBytes < end; ++word) {
    const auto known = by_word_.find(word);
    if (known == by_word_.end()) continue;
    if ((known->second.bytes & bytes_of_word(word, address, end)) == 0) continue;
    reads.push_back(known->second.read);
  }
  return reads;
}

}  // namespace pmemsim::check
