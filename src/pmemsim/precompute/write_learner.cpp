#include "pmemsim/precompute/write_learner.hpp"

namespace pmemsim {

void WriteLearner::written_back(Line line, const LineData& data, ChunkMask stored,
                                LearnerStatistics& statistics) {
  ++statistics.write_backs;
  const Found found = look_for(line, data, stored);
  const bool address = found.address != nullptr;
  statistics.address_unknown += !address;
  statistics.data_unknown += address && !found.data;
  if (address && (found.data || parameters_.learn_address_alone)) learn(found, statistics);
  for (const std::uint64_t when : found.stores) history_.forget(when);
}

WriteLearner::Found WriteLearner::look_for(Line line, const LineData& data,
                                           ChunkMask stored) const {
  Found found;
  const auto use = [&](const StoreHistory::Entry& entry, bool tells_path) {
    if (history_.is_queue()) found.stores.push_back(entry.when);
    if (!tells_path) return;
    if (found.oldest == nullptr || entry.when < found.oldest->when) found.oldest = &entry;
  };
  found.address = history_.find_address(line);
  if (found.address != nullptr) {
    found.pattern.address = {found.address->site, found.address->offset};
    use(*found.address, true);
  }
  for (std::size_t chunk = 0; chunk < kChunksALine; ++chunk) {
    if ((stored >> chunk & 1) == 0) continue;
    const std::uint32_t value = chunk_of(data, chunk);
    const auto bit = static_cast<ChunkMask>(1u << chunk);
    if (value == 0 && parameters_.zeros) {
      found.pattern.zero |= bit;
      continue;
    }
    const StoreHistory::Entry* const source = history_.find_chunk(value);
    found.data = found.data && source != nullptr;
    if (source == nullptr) continue;
    found.pattern.from_stores |= bit;
    found.pattern.chunks[chunk] = {source->site, source->offset};
    use(*source, value != 0);
  }
  return found;
}

void WriteLearner::learn(const Found& found, LearnerStatistics& statistics) {
  const std::uint64_t path = (found.data ? found.oldest : found.address)->path;
  const WritePattern pattern =
      found.data ? found.pattern : WritePattern{.address = found.pattern.address};
  switch (table_.learn(path, pattern, found.data)) {
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

void WriteLearner::put_constants(PredictedWrite& write) const {
  const PredictionTable::Entry* const entry = table_.find(write.path);
  if (entry == nullptr) return;
  for (std::size_t chunk = 0; chunk < kChunksALine; ++chunk) {
    const PredictionTable::Constant& constant = entry->constants[chunk];
    if (constant.times > 0) write.chunks[chunk] = constant.value;
  }
}

}  // namespace pmemsim
