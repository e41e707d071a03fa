#include "pmemsim/designs/backend/backend_parts.hpp"

#include <algorithm>
#include <utility>

#include "pmemsim/designs/backend/line_entries.hpp"
#include "pmemsim/designs/backend/schedule.hpp"

namespace pmemsim {

BackendParts::BackendParts(Operations operations) : operations(std::move(operations)) {}
BackendParts::BackendParts(BackendParts&&) noexcept = default;
BackendParts& BackendParts::operator=(BackendParts&&) noexcept = default;
BackendParts::~BackendParts() = default;

// Adds the entries after the last operation that needs them. Later operations neither move nor
// change the entries.
void BackendParts::add_entries(const MetadataCacheParameters& counter_cache, std::uint32_t cores,
                               bool defers) {
  const auto last = std::find_if(operations.rbegin(), operations.rend(), [](const auto& operation) {
    return operation->traits().needs_entries;
  });
  if (last == operations.rend()) return;
  entries = std::make_unique<LineEntries>(counter_cache, cores, defers);
  before_entries = static_cast<std::size_t>(last.base() - operations.begin());
  for (const auto& operation : operations) operation->share(*entries);
}

void BackendParts::add_shared(const BackendParameters& parameters,
                              const MetadataCacheParameters& counter_cache, std::uint32_t cores,
                              std::uint32_t unit_scale, bool entries_may_be_deferred) {
  add_entries(counter_cache, cores, entries_may_be_deferred);
  std::vector<BackendOperation*> all;
  std::vector<std::vector<SubOperation>> graph;
  for (const auto& operation : operations) {
    all.push_back(operation.get());
    graph.push_back(operation->sub_operations());
  }
  if (std::ranges::all_of(graph, &std::vector<SubOperation>::empty)) return;
  schedule = std::make_unique<OperationSchedule>(
      std::move(all), OperationGraph(graph, parameters.execution),
      parameters.units_per_core * cores * unit_scale, parameters);
}

// ---- Writes and reads

Encoded BackendParts::encode(const Write& write, const Prepared& prepared,
                             std::uint64_t order) const {
  Encoded encoded{.place = write.line, .data = write.data, .order = order};
  encoded.predicted = prepared.data.has_value();
  for_each([&](const auto& part) { part.encode(write, prepared, encoded); });
  return encoded;
}

void BackendParts::sent(const Write& write, const Encoded& encoded) const {
  for_each([&](auto& part) { part.sent(write, encoded); });
}

void BackendParts::accepted(const Write& write, const Encoded& encoded) const {
  for_each([&](auto& part) { part.accepted(write, encoded); });
}

void BackendParts::dropped(const Write& write, const Encoded& encoded, bool accepted) const {
  for_each([&](auto& part) { part.dropped(write, encoded, accepted); });
}

void BackendParts::written(const Write& write, const Encoded& encoded) const {
  for_each([&](auto& part) { part.written(write, encoded); });
}

void BackendParts::schedule_accepted(const Write& write, const Encoded& encoded) const {
  if (schedule != nullptr) schedule->accepted(write, encoded);
}

Line BackendParts::place(Line line) const {
  for (const auto& operation : operations) line = operation->place(line);
  return line;
}

// Decodes from the last operation to the first, each with the place that it had chosen for the
// line.
LineData BackendParts::decode(Line line, LineData data, const BackendOperation* before) const {
  std::vector<std::pair<const BackendOperation*, Line>> passed;
  for (const auto& operation : operations) {
    if (operation.get() == before) break;
    passed.emplace_back(operation.get(), line);
    line = operation->place(line);
  }
  for (auto operation = passed.rbegin(); operation != passed.rend(); ++operation) {
    data = operation->first->decode(operation->second, data);
  }
  return data;
}

// ---- Entries

void BackendParts::stored(Line line, EntryNeed need) const {
  if (entries != nullptr) entries->stored(line, need);
}

bool BackendParts::publish(Completion done) const {
  return entries == nullptr || entries->publish(done);
}

std::optional<LineData> BackendParts::evicted(Line line, const LineData& data) const {
  return entries == nullptr ? data : entries->evicted(line, data);
}

void BackendParts::format(Image& device) const {
  if (entries != nullptr) entries->format(device);
}

void BackendParts::skip_sealing() const {
  if (entries != nullptr) entries->skip_sealing();
}

// ---- Crash images and statistics

std::unique_ptr<ImageDecoder> BackendParts::decoder() const {
  DecoderChain::Decoders decoders;
  for_each([&](const auto& part) {
    if (auto decoder = part.decoder()) decoders.push_back(std::move(decoder));
  });
  if (decoders.empty()) return nullptr;
  return std::make_unique<DecoderChain>(std::move(decoders));
}

SurvivingRegisters BackendParts::registers() const {
  SurvivingRegisters registers;
  for_each([&](const auto& part) { part.add_registers(registers); });
  return registers;
}

void BackendParts::add_spare_bits(DeviceImage& device) const {
  for (const auto& operation : operations) {
    operation->add_spare_bits(device, [this](Line line) { return place(line); });
  }
}

void BackendParts::statistics(StatisticsCollector& collector) const {
  for_each([&](const auto& part) { part.statistics(collector); });
  if (schedule != nullptr) schedule->statistics(collector);
}

std::vector<std::string> BackendParts::pending() const {
  std::vector<std::string> all;
  for_each([&](const auto& part) { all.push_back(part.pending()); });
  if (schedule != nullptr) all.push_back(schedule->pending());
  return all;
}

std::vector<std::string> BackendParts::sub_operation_names() const {
  return schedule != nullptr ? schedule->names() : std::vector<std::string>{};
}

}  // namespace pmemsim
