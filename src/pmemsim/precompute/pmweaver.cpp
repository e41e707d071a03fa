#include "pmemsim/precompute/pmweaver.hpp"

#include <algorithm>
#include <cstring>

namespace pmemsim {

PmWeaver::PmWeaver(const PmWeaverParameters& parameters, std::uint32_t cores)
    : parameters_(parameters),
      lines_(std::size_t{parameters.result_lines} * cores, parameters.results_a_line) {
  for (std::uint32_t core = 0; core < cores; ++core) {
    cores_.push_back({WriteLearner(parameters),
                      TimeoutPredictor(parameters.timeout_entries, parameters.timeout)});
  }
}

ResultBufferSize PmWeaver::result_buffer() const {
  const std::uint64_t entries =
      std::uint64_t{parameters_.result_lines} * parameters_.results_a_line * cores_.size();
  return {.entries = static_cast<std::uint32_t>(std::min<std::uint64_t>(entries, UINT32_MAX))};
}

// ---- Rules 1 and 2

void PmWeaver::stored(const RetiredStore& store, Picoseconds when) {
  cores_[store.core].learner.stored(store, learnt_, [&](const PredictedWrite& write) {
    if (!context_->pm_space.contains(write.line)) {
      ++statistics_.not_pm;
      return;
    }
    ++statistics_.by_stores;
    send({.core = store.core, .write = write}, when + parameters_.prediction_latency);
  });
  if (WriteLearner::follows(store) && context_->pm_space.contains(store.address)) {
    note_store(store, when);
  }
}

void PmWeaver::note_store(const RetiredStore& store, Picoseconds when) {
  const Line line = Line::of(store.address);
  Stored* found = stored_.find(line);
  if (found == nullptr) found = &stored_.insert(line);
  if (found->core != store.core) *found = {.core = store.core};
  const std::uint64_t first = store.address % kLineBytes / StoreHistory::kChunkBytes;
  const std::uint64_t last =
      (store.address % kLineBytes + store.value.size() - 1) / StoreHistory::kChunkBytes;
  for (std::uint64_t chunk = first; chunk <= last; ++chunk) {
    found->chunks |= static_cast<ChunkMask>(1u << chunk);
  }
  if (parameters_.timeout_entries == 0) return;
  if (const auto look = cores_[store.core].timeout.stored(line, when)) {
    look_at(store.core, line, *look);
  }
}

void PmWeaver::written_back(CoreId core, Line line, const LineData& data, WriteBack how,
                            Picoseconds) {
  cores_[core].timeout.written_back(line);
  Stored* const found = stored_.find(line);
  if (found == nullptr) return;
  if (how == WriteBack::kFlush && found->core == core) {
    cores_[core].learner.written_back(line, data, found->chunks, learnt_);
  }
  stored_.erase(line);
}

void PmWeaver::thread_ended(CoreId core) {
  cores_[core].learner.thread_ended();
  cores_[core].timeout.clear();
  for (const std::uint32_t slot : on_their_way_) {
    if (sent_[slot].core == core) sent_[slot].wanted = false;
  }
}

// ---- Rules 3 and 5

void PmWeaver::send(const Predicted& predicted, Picoseconds when) {
  const std::uint32_t slot = sent_.take();
  sent_[slot] = predicted;
  sent_[slot].made = when;
  on_their_way_.push_back(slot);
  context_->queue.schedule(when + parameters_.result_latency, Phase::kController,
                           completion<&PmWeaver::arrive>(*this, slot));
}

void PmWeaver::arrive(std::uint64_t number, Picoseconds) {
  const auto slot = static_cast<std::uint32_t>(number);
  std::erase(on_their_way_, slot);
  const Predicted predicted = sent_[slot];
  PreparedId id;
  if (predicted.wanted) {
    for (const PreparedId other : lines_.in_the_way(predicted.write.line)) {
      ++statistics_.displaced;
      context_->pm.discard(other);
    }
    id = context_->pm.prepare(prediction_of(predicted, slot));
  }
  if (!id) return sent_.give_back(slot);
  lines_.add(predicted.write.line, id);
}

Prediction PmWeaver::prediction_of(const Predicted& predicted, std::uint64_t number) const {
  const PredictedWrite& write = predicted.write;
  Prediction prediction{.core = predicted.core, .number = number, .line = write.line};
  if (!write.with_data || parameters_.predicted == pmemsim::Predicted::kAddress) return prediction;
  prediction.data = context_->pm_space.newest().read(write.line);
  prediction.bytes = kWholeLine;
  for (std::size_t chunk = 0; chunk < kChunksALine; ++chunk) {
    if ((write.known >> chunk & 1) == 0) continue;
    std::memcpy(&prediction.data[chunk * sizeof(std::uint32_t)], &write.chunks[chunk],
                sizeof(std::uint32_t));
  }
  return prediction;
}

// ---- Rule 4

void PmWeaver::look_at(CoreId core, Line line, Picoseconds when) {
  const std::uint32_t slot = looks_.take();
  looks_[slot] = {core, line};
  context_->queue.schedule(when, Phase::kController, completion<&PmWeaver::look>(*this, slot));
}

void PmWeaver::look(std::uint64_t slot, Picoseconds now) {
  const Look look = looks_[static_cast<std::uint32_t>(slot)];
  looks_.give_back(static_cast<std::uint32_t>(slot));
  const TimeoutPredictor::Look found = cores_[look.core].timeout.look(look.line, now);
  if (found.again) look_at(look.core, look.line, *found.again);
  if (!found.fires) return;
  ++statistics_.by_timeout;
  send({.core = look.core, .by_timeout = true, .write = {.line = look.line, .with_data = true}},
       now);
}

// ---- Rule 6

void PmWeaver::outcome(const Outcome& outcome) {
  const auto slot = static_cast<std::uint32_t>(outcome.number);
  const Predicted predicted = sent_[slot];
  sent_.give_back(slot);
  lines_.remove(predicted.write.line, outcome.id);
  switch (outcome.fate) {
    case Fate::kUsed:
      return right(predicted, outcome);
    case Fate::kUsedInPart:
      return address_right(predicted, outcome);
    default:
      return unused(predicted, outcome.fate);
  }
}

void PmWeaver::right(const Predicted& predicted, const Outcome& outcome) {
  ++(predicted.by_timeout ? statistics_.right_by_timeout : statistics_.right_by_stores);
  statistics_.right_late += outcome.late;
  statistics_.early += outcome.when - predicted.made;
  if (predicted.by_timeout) return;
  PredictionTable& table = cores_[predicted.core].learner.table();
  table.address_right(predicted.write.path);
  table.data_right(predicted.write.path);
}

void PmWeaver::address_right(const Predicted& predicted, const Outcome& outcome) {
  ++statistics_.address_right;
  statistics_.early += outcome.when - predicted.made;
  if (predicted.by_timeout) return;
  PredictionTable& table = cores_[predicted.core].learner.table();
  table.address_right(predicted.write.path);
  if (outcome.differing != 0) table.data_wrong(predicted.write.path);
}

void PmWeaver::unused(const Predicted& predicted, Fate fate) {
  if (fate == Fate::kMetadataChanged) {
    ++statistics_.changed;
    return;
  }
  ++statistics_.unused;
  if (predicted.by_timeout || fate != Fate::kTakenBack) return;
  cores_[predicted.core].learner.table().unused(predicted.write.path);
}

void PmWeaver::statistics(StatisticsCollector& collector) const {
  collector.group("pmweaver", learnt_);
  collector.group("pmweaver", statistics_);
}

}  // namespace pmemsim
