#include "pmemsim/designs/precompute/write_learner.hpp"

namespace pmemsim {

void WriteLearner::written_back(Line line, const LineData& data, ChunkMask stored,
                                LearnerStatistics& statistics) {
  ++statistics.write_backs;
  Found found = look_for(line, data, stored);
  if (parameters_.next_pointers && found.address == nullptr) look_for_pointer(line, found);
  const LastWrite write = parameters_.value_deltas ? LastWrite::of(line, data) : LastWrite{};
  if (parameters_.value_deltas) compare_with_last(write, found);
  statistics.address_unknown += !found.has_address();
  statistics.data_unknown += found.has_address() && !found.has_data();
  statistics.by_next_pointer += found.pattern.next_pointer.has_value();
  statistics.by_delta += found.deltas.any();
  if (found.has_address() && (found.has_data() || parameters_.learn_address_alone)) {
    learn(found, statistics);
  }
  if (parameters_.value_deltas && found.oldest != nullptr)
    table_.record_write(found.oldest->path, write);
  for (const std::uint64_t when : found.stores) history_.forget(when);
}

WriteLearner::Found WriteLearner::look_for(Line line, const LineData& data, ChunkMask stored) {
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
    if (source == nullptr) {
      found.missing |= bit;
      continue;
    }
    found.pattern.from_stores |= bit;
    found.pattern.chunks[chunk] = {source->site, source->offset};
    use(*source, value != 0);
  }
  return found;
}

void WriteLearner::look_for_pointer(Line line, Found& found) const {
  history_.addresses([&](const StoreHistory::Entry& entry, Line holder) {
    if (found.address != nullptr && found.address->when < entry.when) return;
    const auto word = pointers_->word_to(holder, line);
    if (!word) return;
    found.address = &entry;
    found.pattern.address = {entry.site, entry.offset};
    found.pattern.next_pointer = word;
  });
  if (found.address == nullptr) return;
  if (found.oldest == nullptr || found.address->when < found.oldest->when) {
    found.oldest = found.address;
  }
}

void WriteLearner::compare_with_last(const LastWrite& write, Found& found) const {
  if (found.oldest == nullptr) return;
  const PredictionTable::Entry* const known = table_.find(found.oldest->path);
  if (known == nullptr) return;
  found.deltas = ValueDeltas::between(known->last, write, found.address == nullptr, found.missing);
}

void WriteLearner::learn(const Found& found, LearnerStatistics& statistics) {
  const bool whole = found.has_data();
  const std::uint64_t path = (whole ? found.oldest : found.address)->path;
  const WritePattern pattern = whole ? found.pattern
                                     : WritePattern{.address = found.pattern.address,
                                                    .next_pointer = found.pattern.next_pointer};
  switch (table_.learn(path, pattern, whole, found.deltas)) {
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
