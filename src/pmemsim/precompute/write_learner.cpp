#include "pmemsim/precompute/write_learner.hpp"

namespace pmemsim {

void WriteLearner::written_back(Line line, const LineData& data, ChunkMask stored,
                                LearnerStatistics& statistics) {
  ++statistics.write_backs;
  const StoreHistory::Entry* oldest = history_.find_address(line);
  if (oldest == nullptr) {
    ++statistics.address_unknown;
    return;
  }
  WritePattern pattern{.address = {oldest->site, oldest->offset}};
  bool all = true;
  for (std::size_t chunk = 0; chunk < kChunksALine; ++chunk) {
    if ((stored >> chunk & 1) == 0) continue;
    std::uint32_t value;
    std::memcpy(&value, &data[chunk * sizeof value], sizeof value);
    const auto bit = static_cast<ChunkMask>(1u << chunk);
    if (value == 0 && parameters_.zeros) {
      pattern.zero |= bit;
      continue;
    }
    const StoreHistory::Entry* const found = history_.find_chunk(value);
    all = all && found != nullptr;
    if (found == nullptr) continue;
    pattern.from_stores |= bit;
    pattern.chunks[chunk] = {found->site, found->offset};
    if (found->when < oldest->when) oldest = found;
  }
  if (!all) {
    ++statistics.data_unknown;
    if (!parameters_.learn_address_alone) return;
    oldest = history_.find_address(line);
    pattern = {.address = {oldest->site, oldest->offset}};
  }
  switch (table_.learn(oldest->path, pattern, all)) {
    case PredictionTable::Learnt::kNew:
      ++statistics.learnt;
      break;
    case PredictionTable::Learnt::kReplaced:
      ++statistics.replaced;
      break;
    case PredictionTable::Learnt::kKept:
      ++statistics.kept;
      break;
    case PredictionTable::Learnt::kConfirmed:
      break;
  }
}

}  // namespace pmemsim
