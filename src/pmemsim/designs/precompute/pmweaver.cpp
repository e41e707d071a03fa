#include "pmemsim/designs/precompute/pmweaver.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cstring>
#include <utility>

namespace pmemsim {
namespace {

// The artifact calls a prediction late if it precedes its write by less than 50 ns.
constexpr Picoseconds kLate{50'000};

constexpr ChunkMask kAllChunks = 0xffff;

constexpr ByteMask bytes_of_chunk(std::size_t chunk) {
  constexpr ByteMask kFirst = (ByteMask{1} << StoreHistory::kChunkBytes) - 1;
  return kFirst << chunk * StoreHistory::kChunkBytes;
}

}  // namespace

PmWeaver::PmWeaver(const PmWeaverParameters& parameters, std::uint32_t cores, bool recomputes)
    : parameters_(parameters),
      lines_(std::size_t{parameters.result_lines} * cores, parameters.results_a_line),
      validator_(recomputes) {
  for (std::uint32_t core = 0; core < cores; ++core) {
    cores_.push_back({WriteLearner(parameters),
                      TimeoutPredictor(parameters.timeout_entries, parameters.timeout),
                      LineAccumulator(parameters.timeout_entries, parameters.timeout)});
  }
}

ResultBufferSize PmWeaver::result_buffer() const {
  const std::uint64_t entries =
      std::uint64_t{parameters_.result_lines} * parameters_.results_a_line * cores_.size();
  return {.entries = static_cast<std::uint32_t>(std::min<std::uint64_t>(entries, UINT32_MAX))};
}

// ---- Rules 1 and 2 (pmweaver.hpp)

void PmWeaver::stored(const RetiredStore& store, Time when) {
  const auto made = [&](const PredictedWrite& write) {
    if (!context_->pm_space.contains(write.line)) {
      ++statistics_.not_pm;
      return;
    }
    ++statistics_.by_stores;
    send({.core = store.core, .write = write}, when + parameters_.prediction_latency);
  };
  cores_[store.core].learner.stored(store, learnt_, made, when);
  if (WriteLearner::follows(store) && context_->pm_space.contains(store.address)) {
    note_store(store, when);
  }
}

void PmWeaver::note_store(const RetiredStore& store, Time when) {
  const Line line = Line::of(store.address);
  if (parameters_.timeout_entries != 0) note_time(store.core, line, when);
  Stored* found = stored_.find(line);
  if (found == nullptr) found = &stored_.insert(line);
  if (found->core != store.core) *found = {.core = store.core};
  const std::uint64_t first = store.address % kLineBytes / StoreHistory::kChunkBytes;
  const std::uint64_t last =
      (store.address % kLineBytes + store.value.size() - 1) / StoreHistory::kChunkBytes;
  for (std::uint64_t chunk = first; chunk <= last; ++chunk) {
    found->chunks |= static_cast<ChunkMask>(1u << chunk);
  }
  found->latest = when;
}

void PmWeaver::note_time(CoreId core, Line line, Time when) {
  if (!parameters_.as_artifact()) {
    const auto look = cores_[core].timeout.stored(line, when, context_->queue.now());
    if (look) schedule_timeout(core, line, *look);
    return;
  }
  cores_[core].accumulator.stored(line, when, [&](Line sent, bool left) {
    const Stored* const found = stored_.find(sent);
    const bool all_stored = found != nullptr && found->chunks == kAllChunks;
    send_current_contents(core, sent, when, !left || all_stored);
    if (left) forget_stores(core, sent);
  });
}

// Removes the record, unless another core has stored to the line since, or written it back.
void PmWeaver::forget_stores(CoreId core, Line line) {
  const Stored* const found = stored_.find(line);
  if (found != nullptr && found->core == core) stored_.erase(line);
}

void PmWeaver::written_back(CoreId core, Line line, const LineData& data, WriteBack how,
                            Time when) {
  ++statistics_.written_back;
  statistics_.address_seen += predicted_.find(line) != nullptr;
  cores_[core].timeout.written_back(line);
  cores_[core].accumulator.written_back(line);
  Stored* const found = stored_.find(line);
  if (found == nullptr) return;
  if (how == WriteBack::kFlush && found->core == core) {
    gaps_.count(when - found->latest);
    cores_[core].learner.written_back(line, data, found->chunks, learnt_);
  }
  stored_.erase(line);
}

void PmWeaver::thread_ended(CoreId core) {
  cores_[core].learner.thread_ended();
  cores_[core].timeout.clear();
  cores_[core].accumulator.clear();
  for (const std::uint32_t slot : in_flight_) {
    if (sent_[slot].core == core) sent_[slot].wanted = false;
  }
}

// ---- Rules 3 and 5 (pmweaver.hpp)

void PmWeaver::send(const Predicted& predicted, Time when) {
  if (parameters_.predicted == pmemsim::Predicted::kNothing) return;
  const std::uint32_t slot = sent_.take();
  sent_[slot] = predicted;
  sent_[slot].made = when;
  in_flight_.push_back(slot);
  const Time arrival = context_->queue.now_or_later(when + parameters_.result_latency);
  context_->queue.schedule(arrival, Phase::kController, completion<&PmWeaver::arrive>(*this, slot));
}

void PmWeaver::arrive(std::uint64_t number, Time) {
  const auto slot = static_cast<std::uint32_t>(number);
  std::erase(in_flight_, slot);
  const Predicted predicted = sent_[slot];
  PreparedId id;
  if (predicted.wanted) {
    for (const PreparedId other : lines_.to_displace(predicted.write.line)) {
      lines_.displaced();
      context_->pm.predictions().discard(other);
    }
    id = context_->pm.predictions().prepare(prediction_of(predicted, slot));
  }
  if (!id) return sent_.release(slot);
  ++statistics_.prepared;
  lines_.add(predicted.write.line, id);
  if (parameters_.as_artifact()) add_candidate(id, slot);
  if (predicted_.find(predicted.write.line) == nullptr) {
    predicted_.insert(predicted.write.line) = true;
  }
}

Prediction PmWeaver::prediction_of(const Predicted& predicted, std::uint64_t number) const {
  const PredictedWrite& write = predicted.write;
  Prediction prediction{.core = predicted.core, .number = number, .line = write.line};
  if (!write.with_data || parameters_.predicted == pmemsim::Predicted::kAddress) return prediction;
  const bool merges_wrong = parameters_.faults.merge && !predicted.by_timeout;
  const Line from{write.line.number + (merges_wrong ? 1 : 0)};
  prediction.data = merged(write, from);
  prediction.bytes = kWholeLine;
  if (!merges_wrong) return prediction;
  prediction.compared = 0;
  for (std::size_t chunk = 0; chunk < kChunksALine; ++chunk) {
    if ((write.known >> chunk & 1) != 0) prediction.compared |= bytes_of_chunk(chunk);
  }
  return prediction;
}

// Returns the predicted chunks, merged with the other bytes of a line.
LineData PmWeaver::merged(const PredictedWrite& write, Line from) const {
  LineData data = context_->pm_space.newest().read(from);
  for (std::size_t chunk = 0; chunk < kChunksALine; ++chunk) {
    if ((write.known >> chunk & 1) == 0) continue;
    std::memcpy(&data[chunk * sizeof(std::uint32_t)], &write.chunks[chunk], sizeof(std::uint32_t));
  }
  return data;
}

// ---- Rule 4 (pmweaver.hpp)

void PmWeaver::schedule_timeout(CoreId core, Line line, Time when) {
  const std::uint32_t slot = looks_.take();
  looks_[slot] = {core, line};
  context_->queue.schedule(when, Phase::kController,
                           completion<&PmWeaver::check_timeout>(*this, slot));
}

void PmWeaver::check_timeout(std::uint64_t slot, Time now) {
  const Look look = looks_[static_cast<std::uint32_t>(slot)];
  looks_.release(static_cast<std::uint32_t>(slot));
  const TimeoutPredictor::Look found = cores_[look.core].timeout.look(look.line, now);
  if (found.again) schedule_timeout(look.core, look.line, *found.again);
  if (found.fires) send_current_contents(look.core, look.line, now);
}

void PmWeaver::send_current_contents(CoreId core, Line line, Time when, bool comparable) {
  ++statistics_.by_timeout;
  send({.core = core,
        .by_timeout = true,
        .write = {.line = line, .with_data = true},
        .comparable = comparable},
       when);
}

// ---- Rule 6 (pmweaver.hpp)

void PmWeaver::outcome(const Outcome& outcome) {
  const auto slot = static_cast<std::uint32_t>(outcome.number);
  const Predicted predicted = sent_[slot];
  sent_.release(slot);
  lines_.remove(predicted.write.line, outcome.id);
  if (validator_.remove(predicted.write.line, outcome.id)) return;  // counted when it was used
  switch (outcome.fate) {
    case Fate::kUsed:
      lines_.used();
      return count_right(predicted, outcome);
    case Fate::kUsedInPart:
      lines_.used();
      return count_address_right(predicted, outcome);
    default:
      return count_unused(predicted, outcome.fate);
  }
}

void PmWeaver::count_right(const Predicted& predicted, const Outcome& outcome) {
  ++(predicted.by_timeout ? statistics_.right_by_timeout : statistics_.right_by_stores);
  statistics_.right_late += outcome.late;
  statistics_.right_early += outcome.when - predicted.made;
  note_early(predicted, outcome);
  if (predicted.by_timeout) return;
  PredictionTable& table = cores_[predicted.core].learner.table();
  table.count_address_right(predicted.write.path);
  table.data_right(predicted.write.path);
}

void PmWeaver::count_address_right(const Predicted& predicted, const Outcome& outcome) {
  ++statistics_.address_right;
  note_early(predicted, outcome);
  if (predicted.by_timeout) return;
  PredictionTable& table = cores_[predicted.core].learner.table();
  table.count_address_right(predicted.write.path);
  if (outcome.differing != 0) data_wrong(predicted, outcome, table);
}

void PmWeaver::note_early(const Predicted& predicted, const Outcome& outcome) {
  const Picoseconds early = outcome.when - predicted.made;
  statistics_.early += early;
  statistics_.known_late += early < kLate;
}

void PmWeaver::data_wrong(const Predicted& predicted, const Outcome& outcome,
                          PredictionTable& table) {
  table.data_wrong(predicted.write.path);
  for (std::size_t chunk = 0; chunk < kChunksALine; ++chunk) {
    const bool known = (predicted.write.known >> chunk & 1) != 0;
    if (!known || (outcome.differing & bytes_of_chunk(chunk)) == 0) continue;
    table.record_wrong_chunk(predicted.write.path, chunk, chunk_of(outcome.written, chunk));
  }
}

// ---- The artifact's validator (artifact_validator.hpp)

void PmWeaver::add_candidate(PreparedId id, std::uint32_t slot) {
  const Predicted& predicted = sent_[slot];
  ArtifactValidator::Candidate candidate{
      .id = id,
      .slot = slot,
      .known = {predicted.write.address_since.value_or(predicted.made), predicted.made},
      .data = merged(predicted.write, predicted.write.line)};
  const ChunkMask known = predicted.by_timeout ? kAllChunks : predicted.write.known;
  for (std::size_t chunk = 0; predicted.comparable && chunk < kChunksALine; ++chunk) {
    if ((known >> chunk & 1) != 0) candidate.compared |= bytes_of_chunk(chunk);
  }
  validator_.add(predicted.write.line, candidate);
}

Prepared PmWeaver::validate(const Write& write) {
  const Time now = context_->queue.now();
  validated_ = validator_.validate(write.line, write.data, now);
  if (!validated_.known) return {};
  const bool address_alone = parameters_.predicted == pmemsim::Predicted::kAddress;
  if (address_alone) validated_.known->data = now;
  count_validated(validated_, write);
  Prepared prepared{.since = validated_.known->data, .known = validated_.known};
  if (validated_.now_used) prepared.now_used = validated_.now_used->id;
  if (validated_.data && !address_alone) prepared.data = write.data;
  return prepared;
}

void PmWeaver::count_validated(const ArtifactValidator::Verdict& verdict, const Write& write) {
  const Time now = context_->queue.now();
  const Picoseconds early = now - max(verdict.known->address, verdict.known->data);
  statistics_.early += early;
  statistics_.known_late += now - verdict.known->address < kLate;
  if (verdict.nearest) learn_constants(*verdict.nearest, write.data);
  if (!verdict.now_used) {
    ++(verdict.data ? statistics_.reused : statistics_.address_only);
    return;
  }
  const Predicted& predicted = sent_[verdict.now_used->slot];
  ++(predicted.by_timeout ? statistics_.right_by_timeout : statistics_.right_by_stores);
  statistics_.right_early += early;
  if (!predicted.by_timeout) {
    cores_[predicted.core].learner.table().data_right(predicted.write.path);
  }
}

void PmWeaver::learn_constants(const ArtifactValidator::Candidate& nearest,
                               const LineData& written) {
  const Predicted& predicted = sent_[nearest.slot];
  if (predicted.by_timeout) return;
  PredictionTable& table = cores_[predicted.core].learner.table();
  for (std::size_t chunk = 0; chunk < kChunksALine; ++chunk) {
    const bool known = (predicted.write.known >> chunk & 1) != 0;
    if (!known || chunk_of(nearest.data, chunk) == chunk_of(written, chunk)) continue;
    table.record_wrong_chunk(predicted.write.path, chunk, chunk_of(written, chunk));
  }
}

void PmWeaver::validated(bool late) {
  const ArtifactValidator::Verdict verdict = std::exchange(validated_, {});
  statistics_.right_late += verdict.now_used && late;
  if (verdict.erased) context_->pm.predictions().discard(verdict.erased);
}

void PmWeaver::count_unused(const Predicted& predicted, Fate fate) {
  if (fate == Fate::kMetadataChanged) {
    ++statistics_.changed;
    return;
  }
  ++statistics_.unused;
  if (predicted.by_timeout || fate != Fate::kTakenBack) return;
  cores_[predicted.core].learner.table().count_unused(predicted.write.path);
}

void PmWeaver::statistics(StatisticsCollector& collector) const {
  collector.group("pmweaver", learnt_);
  collector.group("pmweaver", statistics_);
  collector.group("pmweaver", gaps_);
  StructureUse history, table, index, pending, timeouts;
  for (const PerCore& core : cores_) {
    history += core.learner.history().use();
    table += core.learner.table().use();
    index += core.learner.pending().index();
    pending += core.learner.pending().predictions();
    timeouts += core.timeout.use();
    timeouts += core.accumulator.use();
  }
  collector.group("pmweaver.history", history);
  collector.group("pmweaver.table", table);
  collector.group("pmweaver.index", index);
  collector.group("pmweaver.pending", pending);
  collector.group("pmweaver.timeouts", timeouts);
  collector.group("pmweaver.results", lines_.use());
}

Storage PmWeaver::storage(const PmWeaverParameters& parameters, const Chip& chip) {
  const auto structure = [&](std::string_view name, std::uint64_t entries, std::uint64_t bits,
                             std::string_view formula, std::optional<double> printed,
                             std::string_view source = "Table I") {
    return Structure{.name = fmt::format("{}, each core", name),
                     .formula = fmt::format("{} x {}", entries, formula),
                     .bytes = in_bytes(entries * bits),
                     .count = chip.cores,
                     .source = std::string(source),
                     .printed = printed};
  };
  const std::uint64_t results = std::uint64_t{parameters.result_lines} * parameters.results_a_line;
  const std::uint64_t patterns = parameters.table_entries;
  Storage storage{{
      structure("PC path", parameters.path_length, 64, "64 bit", 256, "V-A1, VI-B9"),
      structure("store history buffer", parameters.history_entries, 140, "140 bit", 8960),
      structure("prediction table", patterns, 18 * 64, "18 x 64 bit", 4608),
      structure("timeout predictor table", parameters.timeout_entries, 68, "68 bit", 34),
      structure("index generator", parameters.index_entries, 70, "70 bit", 1126),
      structure("pending predictions", parameters.pending_entries, 73 * 8, "73 B", 584),
      {.name = "prediction result buffer, shared, for each core",
       .formula = fmt::format("{} x 152 B", results),
       .bytes = static_cast<double>(results * 152),
       .count = chip.cores,
       .source = "Table I",
       .printed = 38912},
  }};
  if (parameters.next_pointers) {
    storage.structures.push_back(structure("next pointers of patterns", patterns, 4, "4 bit", {},
                                           "VII; a word of a line, or none"));
  }
  if (parameters.value_deltas) {
    storage.structures.push_back(
        structure("last writes of patterns and differences", patterns, 2 * (64 + 64 * 8) + 17,
                  "(2 x (64 bit address + 64 B line) + 17 bit)", {}, "VII; as the model has them"));
  }
  return storage;
}

}  // namespace pmemsim
