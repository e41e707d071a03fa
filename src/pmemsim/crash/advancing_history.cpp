#include "pmemsim/crash/advancing_history.hpp"

#include <cstddef>

namespace pmemsim {

bool AdvancingHistory::read_next_version(WordId word) {
  const std::uint32_t newest = words_[word].newest();
  while (!read() && words_[word].newest() == newest) read_more();
  return words_[word].newest() > newest;
}

bool AdvancingHistory::retire(UnitId unit) {
  if (keeps_all_) return false;
  for (const Write& write : writes(unit)) {
    Word& word = words_[write.word];
    if (write.version <= word.first) continue;
    const auto begin = word.versions.begin();
    word.versions.erase(begin, begin + static_cast<std::ptrdiff_t>(write.version - word.first));
    word.first = write.version;
  }
  std::unique_ptr<Chunk>& chunk = chunks_[unit / kChunkUnits];
  if (++chunk->retired < kChunkUnits) return false;
  chunk.reset();
  return true;
}

std::size_t AdvancingHistory::held_units() const {
  std::size_t units = 0;
  for (const std::unique_ptr<Chunk>& chunk : chunks_) units += chunk ? chunk->units.size() : 0;
  return units;
}

std::size_t AdvancingHistory::held_versions() const {
  std::size_t versions = 0;
  for (const Word& word : words_) versions += word.versions.size();
  return versions;
}

std::size_t AdvancingHistory::held_numbers() const {
  std::size_t numbers = 0;
  for (const Numbered& region : regions_) numbers += region.kept();
  for (const Numbered& fence : fences_) numbers += fence.kept();
  return numbers;
}

}  // namespace pmemsim
