#include "pmemsim/checks/rules/redo_copies.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace pmemsim::check {
namespace {

constexpr std::uint64_t kAddressMask = trace::kMaxAddress - 1;

void forget(LineState& line, Words words) {
  line.redo_copied &= static_cast<Words>(~words);
  line.redo_indexed &= static_cast<Words>(~words);
}

}  // namespace

// ---- Stores

void RedoCopies::store(const At& at, Findings::Place place, Lines& lines, std::uint64_t address,
                       std::span<const std::byte> value) {
  const std::uint64_t end = address + value.size();
  for (std::uint64_t word = address / kWordBytes * kWordBytes; word < end; word += kWordBytes) {
    if (word < address || word + kWordBytes > end) {
      overwrite(at, place, lines, word, false);
      continue;
    }
    std::uint64_t stored = 0;
    std::memcpy(&stored, value.data() + (word - address), sizeof(stored));
    store_word(at, place, lines, word, stored);
  }
}

void RedoCopies::store_word(const At& at, Findings::Place place, Lines& lines,
                            std::uint64_t address, std::uint64_t value) {
  const std::optional<Stored> copy = copy_of(at, place.line, lines, address, value);
  const bool by_index = thread(at.thread).last.by_index;
  if (!copy || by_index) {
    overwrite(at, place, lines, address, copy.has_value());
    Bucket& bucket = bucket_of(value);
    bucket.stored.at(bucket.next++ % kWays) = {address, value, at};
  }
  if (!copy) return;
  LineState& line = *lines.find(Line::of(address));
  const Words word = words_of(address, kWordBytes);
  forget(line, word);
  (by_index ? line.redo_indexed : line.redo_copied) |= word;
  home_of_[copy->address] = address;
  copied(address) = {copy->address, ++time_, early_store(at, *copy, lines)};
  end_append(at, by_index ? place.line : kAny, *copy);
}

// A store without a certain copy: it may be a part of a log, or end the validity of copies.
void RedoCopies::overwrite(const At& at, Findings::Place place, Lines& lines, std::uint64_t address,
                           bool indexed) {
  const Words word = words_of(address, kWordBytes);
  LineState& line = *lines.find(Line::of(address));
  forget(line, word);
  if ((line.persisted & word) != 0) (indexed ? indexed_ : others_)[place] = ++time_;
  Thread& own = thread(at.thread);
  own.stores.at(own.next++ % kWindow) = {place, at.operation, address};
  const auto home = home_of_.find(address);
  if (home == home_of_.end()) return;
  const std::uint64_t word_of_copy = home->second;
  home_of_.erase(home);
  if (copied(word_of_copy).copy != address) return;  // There is a newer copy
  forget(*lines.find(Line::of(word_of_copy)), words_of(word_of_copy, kWordBytes));
}

void RedoCopies::end_append(const At& at, std::uint32_t source, const Stored& copy) {
  if (copy.at.thread != at.thread) return;
  const Thread& own = thread(at.thread);
  for (std::size_t i = own.next; i > 0 && own.next - i < kWindow; --i) {
    const AppendStore* const store = &own.stores.at((i - 1) % kWindow);
    const bool before = store->operation < copy.at.operation;
    const std::uint64_t apart =
        std::max(store->address, copy.address) - std::min(store->address, copy.address);
    if (before && apart > kNear) break;
    appends_[source].insert(store->place);
  }
}

// Returns the address of the append's last store if the copy was not persistent then; 0: it was.
std::uint64_t RedoCopies::early_store(const At& at, const Stored& copy, const Lines& lines) {
  const Thread& own = thread(at.thread);
  if (copy.at.thread != at.thread || own.next == 0) return 0;
  const AppendStore& last = own.stores.at((own.next - 1) % kWindow);
  const LineState& line = *lines.find(Line::of(copy.address));
  const bool early = line.fence_thread == at.thread && line.fence_operation > last.operation;
  return early && last.operation > copy.at.operation ? last.address : 0;
}

bool RedoCopies::is_beside_copy(std::uint64_t address) const {
  for (std::uint64_t at = address - kNear; at <= address + kNear; at += kWordBytes) {
    if (home_of_.contains(at)) return true;
  }
  return false;
}

// ---- Copies

RedoCopies::Copied& RedoCopies::copied(std::uint64_t address) {
  const Line line = Line::of(address);
  auto* found = copied_.find(line);
  if (found == nullptr) found = &copied_.insert(line);
  return found->at(address % kLineBytes / kWordBytes);
}

std::uint64_t RedoCopies::word_at(std::uint64_t address) const {
  const LineData line = memory_.read(Line::of(address));
  std::uint64_t word = 0;
  std::memcpy(&word, line.data() + address % kLineBytes, sizeof(word));
  return word;
}

std::optional<RedoCopies::Stored> RedoCopies::copy_of(const At& at, std::uint32_t source,
                                                      const Lines& lines, std::uint64_t address,
                                                      std::uint64_t value) {
  const Bucket& bucket = bucket_of(value);
  Pair& last = thread(at.thread).last;
  const Stored* newest = nullptr;
  for (std::size_t i = 0; i < kWays; ++i) {  // The newest first
    const Stored& stored = bucket.stored.at((bucket.next + kWays - 1 - i) % kWays);
    if (stored.value != value || !is_copy(stored, lines, address, at.thread)) continue;
    const bool follows =
        address == last.address + kWordBytes && stored.address == last.copy + kWordBytes;
    if (newest == nullptr) newest = &stored;
    if (!follows && !has_number(stored.address, address)) continue;
    last = {address, stored.address, follows && last.by_index};
    return stored;
  }
  if (newest == nullptr || !note_index(source, newest->address, address)) return {};
  last = {address, newest->address, true};
  return *newest;
}

bool RedoCopies::is_copy(const Stored& stored, const Lines& lines, std::uint64_t address,
                         CoreId thread) const {
  if (stored.address == 0 || Line::of(stored.address) == Line::of(address)) return false;
  if (word_at(stored.address) != stored.value) return false;
  return is_guaranteed(*lines.find(Line::of(stored.address)), words_of(stored.address, kWordBytes),
                       order_, thread);
}

std::array<std::uint64_t, RedoCopies::kNeighbours> RedoCopies::words_near(
    std::uint64_t address) const {
  std::array<std::uint64_t, kNeighbours> words{};
  LineData line{};
  for (std::size_t i = 0; i < kNeighbours; ++i) {
    const std::uint64_t at = address - kNear + i * kWordBytes;
    if (i == 0 || at % kLineBytes == 0) line = memory_.read(Line::of(at));
    std::memcpy(&words.at(i), line.data() + at % kLineBytes, kWordBytes);
  }
  return words;
}

// Returns the numbers that a word may contain: of 8 B, and of 4 B twice.
std::array<std::uint64_t, 3> RedoCopies::numbers_of(std::uint64_t word) {
  return {word & kAddressMask, word & UINT32_MAX, word >> 32};
}

bool RedoCopies::has_number(std::uint64_t copy, std::uint64_t address) const {
  const auto region = std::ranges::find_if(regions_, [&](const trace::PmRegion& each) {
    return address >= each.begin && address < each.end;
  });
  const std::uint64_t offset = region == regions_.end() ? 0 : address - region->begin;
  const std::array<std::uint64_t, kNeighbours> words = words_near(copy);
  for (std::size_t i = 0; i < kNeighbours; ++i) {
    const std::uint64_t at = copy - kNear + i * kWordBytes;
    if (at == copy) continue;
    for (const std::uint64_t number : numbers_of(words.at(i))) {
      if (number != address && (offset == 0 || number != offset)) continue;
      if (!home_of_.contains(at)) return true;
    }
  }
  return false;
}

// ---- Indices

bool RedoCopies::note_index(std::uint32_t source, std::uint64_t copy, std::uint64_t address) {
  const auto [entry, fresh] = indices_.try_emplace(source);
  Indices& indices = entry->second;
  if (!fresh && indices.empty()) return false;
  const std::array<std::uint64_t, kNeighbours> words = words_near(copy);
  for (std::size_t i = 0; i < kNeighbours; ++i) {
    const std::uint64_t at = copy - kNear + i * kWordBytes;
    if (at == copy) continue;
    int part = 0;
    for (const std::uint64_t number : numbers_of(words.at(i))) {
      const std::pair key{static_cast<std::int64_t>(at - copy), part++};
      if (fresh) indices.try_emplace(key, Index{number, address});
      const auto known = indices.find(key);
      if (known == indices.end()) continue;
      note_number(known->second, number, address);
      if (!known->second.linear || home_of_.contains(at)) indices.erase(known);
    }
  }
  return !indices.empty();
}

void RedoCopies::note_number(Index& index, std::uint64_t number, std::uint64_t address) {
  if (index.different.size() < kFewest) index.different.insert(number);
  const auto steps = static_cast<std::int64_t>(number - index.number);
  const auto bytes = static_cast<std::int64_t>(address - index.address);
  if (steps == 0 || bytes == 0) {
    index.linear &= steps == bytes;
    return;
  }
  if (index.stride == 0) index.stride = bytes / steps;
  index.linear &= bytes == index.stride * steps;
}

bool RedoCopies::has_index(std::uint32_t source) const {
  const auto known = indices_.find(source);
  return known != indices_.end() && std::ranges::any_of(known->second, [](const auto& entry) {
           return entry.second.different.size() >= kFewest;
         });
}

// ---- At the end

bool RedoCopies::is_append(Findings::Place place) const {
  return std::ranges::any_of(appends_, [&](const auto& entry) {
    return (entry.first == kAny || has_index(entry.first)) && entry.second.contains(place);
  });
}

bool RedoCopies::have_copies(Findings::Place place, Line line, const LineState& state,
                             Words words) const {
  const Words copies = state.redo_copied | (has_index(place.line) ? state.redo_indexed : Words{0});
  if ((words & ~copies) != 0) return false;
  std::uint64_t first = UINT64_MAX;
  for (Words left = words; left != 0; left &= static_cast<Words>(left - 1)) {
    const Copied& word = copied_.find(line)->at(static_cast<std::size_t>(std::countr_zero(left)));
    if (word.early != 0 && !is_beside_copy(word.early)) return false;
    first = std::min(first, word.time);
  }
  const auto ends_copies = [&](const auto& entry) {
    return entry.second > first && !is_append(entry.first);
  };
  return std::ranges::none_of(others_, ends_copies) &&
         std::ranges::none_of(indexed_, [&](const auto& entry) {
           return !has_index(entry.first.line) && ends_copies(entry);
         });
}

}  // namespace pmemsim::check
