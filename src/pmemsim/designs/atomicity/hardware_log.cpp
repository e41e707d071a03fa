#include "pmemsim/designs/atomicity/hardware_log.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <utility>

#include <fmt/format.h>

#include "pmemsim/designs/atomicity/adr_buffer.hpp"
#include "pmemsim/designs/atomicity/header_queue.hpp"
#include "pmemsim/designs/atomicity/load_aware_log.hpp"
#include "pmemsim/designs/atomicity/sequential_log.hpp"

namespace pmemsim {
namespace {

std::uint8_t first_entries(std::uint32_t count) {
  return static_cast<std::uint8_t>((1u << count) - 1);
}

}  // namespace

HardwareLog::HardwareLog(const Shape& shape, const HardwareLogParameters& parameters)
    : shape_(shape), parameters_(parameters), header_lines_(header_lines(parameters.allocation)) {}

// Rules 2 and 3 (hardware_log.hpp).
void HardwareLog::connect(const LayerContext& context) {
  context_.emplace(context);
  if (parameters_.allocation == LogAllocation::kLoadAware) {
    space_ = std::make_unique<LoadAwareSpace>(context.pm, shape_.cores, shape_.banks, parameters_);
  } else {
    space_ = std::make_unique<SequentialSpace>(context.pm, shape_.cores, shape_.rings,
                                               parameters_.ring_size);
  }
  if (parameters_.metadata == LogMetadata::kAdrBuffered) {
    buffer_ = std::make_unique<AdrBuffer>(context.pm, shape_.channels, header_lines_,
                                          shape_.from_controllers,
                                          completion<&HardwareLog::header_space_freed>(*this));
  } else {
    const bool keeps_complete = parameters_.metadata == LogMetadata::kQueueBuffered;
    buffer_ =
        std::make_unique<HeaderQueue>(shape_.channels, shape_.header_entries,
                                      keeps_complete ? std::optional(shape_.cores) : std::nullopt);
  }
}

HardwareLog::Id HardwareLog::open(CoreId core, std::uint64_t region, Completion idle) {
  const Id id = logs_.take();
  Log& log = logs_[id];
  log.core = core;
  log.region = region;
  log.records.clear();
  log.unlinked.clear();
  log.outstanding = log.headers_in_flight = 0;
  log.closed = log.released = false;
  log.idle = idle;
  return id;
}

std::uint32_t HardwareLog::channel_of(const Record& record) const {
  return context_->pm.channel_of(record.place->first);
}

// ---- Room for headers (rule 3)

// Puts the record's header into the buffer. Returns false if there is no room, or if a chain can't
// lead to the header yet because a header before it is still being written.
bool HardwareLog::buffer_header(Id id, std::uint32_t number) {
  Log& log = logs_[id];
  Record& record = log.records[number];
  if (!record.place) {
    const auto place = log.unlinked.empty() ? space_->place_header(buffer_.get()) : std::nullopt;
    if (!place) return false;
    place_header(record, *place);
    if (shape_.kind == LogKind::kUndo) space_->link(log.core, place->first);
  } else if (!buffer_->has_space(channel_of(record))) {
    return false;
  }
  buffer_->take({id, number}, channel_of(record));
  record.state = HeaderState::kBuffered;
  record.buffered = true;
  ++statistics_.buffered_headers;
  if (buffer_->is_short(channel_of(record))) spill(channel_of(record));
  return true;
}

void HardwareLog::release_header(HeaderId header) {
  Record& record = logs_[header.log].records[header.record];
  record.buffered = false;
  buffer_->release(header, channel_of(record));
}

bool HardwareLog::has_header_space(Id id) {
  if (may_be_volatile()) return true;
  Log& log = logs_[id];
  if (!log.records.empty() && log.records.back().entries < kRecordEntries) return true;
  if (space_->header_fits(log.core, *buffer_)) return true;
  for (std::uint32_t channel = 0; channel < shape_.channels; ++channel) {
    if (space_->may_go_to(log.core, channel)) free_header_space(channel);
  }
  return false;
}

// Schedules the notification instead of calling it, because its receiver will append entries.
void HardwareLog::announce_header_space() {
  if (!std::exchange(header_space_wanted_, false)) return;
  context_->queue.schedule(context_->queue.now(), Phase::kController, header_space_freed_);
}

// Requests room for a header. A header that is being written will release its own room.
void HardwareLog::free_header_space(std::uint32_t channel) {
  header_space_wanted_ = true;
  spill(channel);
  buffer_->await_space(channel);
}

void HardwareLog::header_space_freed(std::uint64_t, Time) { announce_header_space(); }

void HardwareLog::spill(std::uint32_t channel) {
  const std::optional<HeaderId> header = buffer_->spill(channel);
  if (!header) return;
  ++statistics_.spilled_headers;
  write_header(header->log, header->record);
}

// ---- Entries

void HardwareLog::start_record(Id id) {
  Log& log = logs_[id];
  const auto number = static_cast<std::uint32_t>(log.records.size());
  Record& record = log.records.emplace_back();
  record.header.core = log.core;
  record.header.region = log.region;
  record.header.record = number;
  ++records_in_use_;
  record.place = space_->begin_record(log.core);
  if (!buffer_header(id, number) && buffer_->keeps_complete()) {
    spill(record.place ? channel_of(record) : space_->header_channel(log.core));
  }
  assert(record.buffered || may_be_volatile());
  record.counted = shape_.kind == LogKind::kRedo && !record.buffered;
}

// Headers enter the core's chain in the order in which they are given locations.
void HardwareLog::place_header(Record& record, HeaderPlace place) {
  record.place = place;
  record.links.previous = space_->append(record.header.core, place.first);
}

void HardwareLog::append(Id id, Line home, const LineData& data, Completion acknowledged,
                         Completion persisted) {
  Log& log = logs_[id];
  if (log.records.empty() || log.records.back().entries == kRecordEntries ||
      log.records.back().state > HeaderState::kBuffered) {
    start_record(id);
  }
  log.closed = false;
  Record& record = log.records.back();
  const Time now = context_->queue.now();
  const std::uint32_t slot = entries_.take();
  entries_[slot] = {id,
                    static_cast<std::uint32_t>(log.records.size() - 1),
                    record.entries++,
                    home,
                    data,
                    now,
                    acknowledged,
                    persisted};
  ++log.outstanding;
  ++statistics_.entries;
  statistics_.most_under_way =
      std::max(statistics_.most_under_way, statistics_.entries - statistics_.persistent_entries);
  const Picoseconds way =
      shape_.from_controllers ? Picoseconds{0} : context_->caches.core_to_controller(log.core);
  context_->queue.schedule(now + way, Phase::kController,
                           completion<&HardwareLog::arrive>(*this, slot));
}

void HardwareLog::arrive(std::uint64_t number, Time) {
  const auto slot = static_cast<std::uint32_t>(number);
  const Entry& entry = entries_[slot];
  const Log& log = logs_[entry.log];
  Record& record = logs_[entry.log].records[entry.record];
  const Line place = space_->entry(record.place, entry.number);
  record.header.homes[entry.number] = entry.home;
  record.links.entries[entry.number] = place;
  if (entry.number == 0 && entry.record > 0) try_complete(entry.log, entry.record - 1);
  context_->pm.write({.line = place,
                      .kind = WriteKind::kLog,
                      .owner = region_id(log.core, log.region),
                      .data = entry.data,
                      .persisted = completion<&HardwareLog::entry_persisted>(*this, slot),
                      .written = {},
                      .home = entry.home});
}

void HardwareLog::entry_persisted(std::uint64_t number, Time now) {
  const Entry& entry = entries_[static_cast<std::uint32_t>(number)];
  Record& record = logs_[entry.log].records[entry.record];
  record.header.valid |= static_cast<std::uint8_t>(1u << entry.number);
  if (record.buffered) context_->pm.survivors_changed();
  ++statistics_.persistent_entries;
  statistics_.entry_latency += now - (parameters_.faults.latency ? Time{} : entry.sent);
  if (waits_for_header(record)) {
    record.waiting.push_back(static_cast<std::uint32_t>(number));
    try_complete(entry.log, entry.record);
    return;
  }
  if (entry.persisted) entry.persisted(now);
  try_complete(entry.log, entry.record);
  context_->queue.schedule(now + context_->caches.controller_to_core(), Phase::kCore,
                           completion<&HardwareLog::entry_acknowledged>(*this, number));
}

void HardwareLog::entry_acknowledged(std::uint64_t number, Time now) {
  const auto slot = static_cast<std::uint32_t>(number);
  const Entry entry = entries_[slot];
  entries_.release(slot);
  if (parameters_.faults.release) {
    drop(*logs_[entry.log].records[entry.record].links.entries[entry.number], WriteKind::kLog);
  }
  if (entry.acknowledged) entry.acknowledged(now);
  acknowledged(entry.log, now);
}

void HardwareLog::acknowledged(std::uint64_t id, Time now) {
  Log& log = logs_[static_cast<Id>(id)];
  if (--log.outstanding == 0 && log.idle) log.idle(now);
}

// ---- Headers

// The last header of a redo log is written after the region's position in the order of commits.
bool HardwareLog::complete(const Log& log, std::uint32_t number) const {
  const Record& record = log.records[number];
  if (record.header.valid != first_entries(record.entries)) return false;
  const bool last = number + 1 == log.records.size();
  if (last && (shape_.kind == LogKind::kRedo || record.entries < kRecordEntries)) return log.closed;
  return record.entries == kRecordEntries;
}

void HardwareLog::try_complete(Id id, std::uint32_t number) {
  Log& log = logs_[id];
  if (!complete(log, number)) return;
  Record& record = log.records[number];
  if (record.state > HeaderState::kBuffered) return;
  const bool kept = buffer_->keeps_complete();
  if (record.counted && kept && buffer_header(id, number)) record.counted = false;
  if (record.state == HeaderState::kVolatile || !kept) {
    write_header(id, number);
  } else if (!std::exchange(record.kept, true)) {
    buffer_->complete({id, number}, channel_of(record));
    if (header_space_wanted_ || buffer_->is_short(channel_of(record))) spill(channel_of(record));
  }
}

void HardwareLog::write_header(Id id, std::uint32_t number) {
  Log& log = logs_[id];
  Record& record = log.records[number];
  if (!record.place) place_header(record, *space_->place_header(nullptr));
  record.state = HeaderState::kInFlight;
  record.lines_left = header_lines_;
  ++log.headers_in_flight;
  if (!record.waiting.empty()) log.unlinked.push_back(number);
  log.outstanding += record.counted;
  const auto write = [&](Line line, const LineData& data) {
    const std::uint32_t slot = headers_.take();
    headers_[slot] = {id, number};
    ++statistics_.headers;
    context_->pm.write({.line = line,
                        .kind = WriteKind::kLogHeader,
                        .owner = region_id(log.core, log.region),
                        .data = data,
                        .persisted = completion<&HardwareLog::header_persisted>(*this, slot),
                        .written = {}});
  };
  write(record.place->first, record.header.bytes());
  if (header_lines_ == 2) write(record.place->second, record.links.bytes(record.header));
}

void HardwareLog::header_persisted(std::uint64_t slot, Time now) {
  const HeaderId header = headers_[static_cast<std::uint32_t>(slot)];
  headers_.release(static_cast<std::uint32_t>(slot));
  Log& log = logs_[header.log];
  Record& record = log.records[header.record];
  if (--record.lines_left > 0) return;
  record.state = HeaderState::kWritten;
  notify_waiting(log, now);
  if (record.buffered) release_header(header);
  if (record.counted) {
    context_->queue.schedule(now + context_->caches.controller_to_core(), Phase::kCore,
                             completion<&HardwareLog::acknowledged>(*this, header.log));
  }
  if (--log.headers_in_flight == 0 && log.released) finish_release(header.log);
  announce_header_space();
}

// Rule 4 (hardware_log.hpp): a chain breaks at a header that isn't persistent yet. Entries of
// earlier headers are therefore acknowledged first.
void HardwareLog::notify_waiting(Log& log, Time now) {
  while (!log.unlinked.empty()) {
    Record& record = log.records[log.unlinked.front()];
    if (record.state != HeaderState::kWritten) return;
    log.unlinked.erase(log.unlinked.begin());
    space_->link(log.core, record.place->first);
    for (const std::uint32_t slot : std::exchange(record.waiting, {})) {
      if (entries_[slot].persisted) entries_[slot].persisted(now);
      context_->queue.schedule(now + context_->caches.controller_to_core(), Phase::kCore,
                               completion<&HardwareLog::entry_acknowledged>(*this, slot));
    }
  }
}

void HardwareLog::seal(Id id) {
  Log& log = logs_[id];
  if (log.records.back().state != HeaderState::kVolatile) return;
  log.closed = true;
  try_complete(id, static_cast<std::uint32_t>(log.records.size() - 1));
}

void HardwareLog::close(Id id, std::uint64_t commit_order) {
  Log& log = logs_[id];
  if (log.records.empty()) return;
  log.records.back().header.commit_order = commit_order;
  ++log.outstanding;
  const Time now = context_->queue.now();
  context_->queue.schedule(now + context_->caches.core_to_controller(log.core), Phase::kController,
                           completion<&HardwareLog::closing_arrived>(*this, id));
}

void HardwareLog::closing_arrived(std::uint64_t number, Time now) {
  const auto id = static_cast<Id>(number);
  Log& log = logs_[id];
  log.closed = true;
  try_complete(id, static_cast<std::uint32_t>(log.records.size() - 1));
  context_->queue.schedule(now + context_->caches.controller_to_core(), Phase::kCore,
                           completion<&HardwareLog::acknowledged>(*this, number));
}

// ---- Committing and releasing

void HardwareLog::drop_entries(Id id) {
  for (const Record& record : logs_[id].records) {
    for (std::uint32_t i = 0; i < record.entries; ++i) {
      drop(*record.links.entries[i], WriteKind::kLog);
    }
  }
}

void HardwareLog::link(Id id) { space_->link_last(logs_[id].core); }

void HardwareLog::release(Id id, bool drop_pending) {
  Log& log = logs_[id];
  assert(log.outstanding == 0);
  log.released = true;
  if (drop_pending) drop_entries(id);
  for (Record& record : log.records) {
    for (std::uint32_t i = 0; i < record.entries; ++i) space_->free_entry(*record.links.entries[i]);
    if (drop_pending && record.state == HeaderState::kWritten) {
      drop(record.place->first, WriteKind::kLogHeader);
      if (header_lines_ == 2) drop(record.place->second, WriteKind::kLogHeader);
    }
  }
  if (log.headers_in_flight == 0) finish_release(id);
}

// Finishes a release when no header is in flight any more.
void HardwareLog::finish_release(Id id) {
  Log& log = logs_[id];
  bool gave = false;
  for (std::uint32_t number = 0; number < log.records.size(); ++number) {
    Record& record = log.records[number];
    if (record.buffered) {
      release_header({id, number});
      gave = true;
    }
    --records_in_use_;
    if (record.place) space_->free_header(log.core, *record.place);
  }
  log.records.clear();
  logs_.release(id);
  if (gave) announce_header_space();
}

void HardwareLog::drop(Line line, WriteKind kind) {
  WriteId id;
  if (context_->pm.find(line, kind, id) && context_->pm.drop(id)) ++statistics_.dropped;
}

// True if the log uses half of the space that it has before it grows.
bool HardwareLog::nearly_full() const { return 2 * records_in_use_ > space_->initial_records(); }

LogSurvivors HardwareLog::survivors() const {
  LogSurvivors all;
  space_->survive(all);
  if (parameters_.faults.headers) return all;
  all.headers.reserve(buffer_->headers().size());
  for (const HeaderId& buffered : buffer_->headers()) {
    const Log& log = logs_[buffered.log];
    if (log.released) continue;
    const Record& record = log.records[buffered.record];
    BufferedHeader& header =
        all.headers.emplace_back(BufferedHeader{record.place->first, record.header.bytes()});
    const bool has_second_line = record.place->second != record.place->first;
    if (has_second_line) header.links = record.links.bytes(record.header);
  }
  return all;
}

void HardwareLog::statistics(StatisticsCollector& collector) const {
  HardwareLogStatistics all = statistics_;
  all.growths = space_->growths();
  collector.group("log", all);
}

// ---- Storage

namespace {

// Returns LALEA's structures. III-A: "Assuming a row address and a column address have 16 and 10
// bits respectively".
Storage load_aware_storage(const HardwareLogParameters& parameters, const Chip& chip) {
  constexpr std::uint64_t kRowAndColumnBits = 16 + 10;
  constexpr std::uint64_t kEntryBits = kRowAndColumnBits - std::bit_width(kLineBytes - 1);
  constexpr std::uint64_t kHeaderBits = kRowAndColumnBits - std::bit_width(2 * kLineBytes - 1);
  return {{
      {.name = "free-log-entry FIFO, a bank",
       .formula = fmt::format("{} x {} bit", parameters.free_entries, kEntryBits),
       .bytes = in_bytes(parameters.free_entries * kEntryBits),
       .count = chip.banks,
       .source = "III-A",
       .printed = 2560},
      {.name = "free-header FIFO, a bank",
       .formula = fmt::format("{} x {} bit", parameters.free_headers, kHeaderBits),
       .bytes = in_bytes(parameters.free_headers * kHeaderBits),
       .count = chip.banks,
       .source = "III-A",
       .printed = 2432,
       .printed_if = in_bytes(parameters.free_entries * kHeaderBits)},
      {.name = "LR register, a core",
       .formula = "8 B",
       .bytes = 8,
       .count = chip.cores,
       .source = "III-A"},
      {.name = "operation counter, a bank",
       .formula = "8 bit",
       .bytes = 1,
       .count = chip.banks,
       .source = "III-A"},
  }};
}

}  // namespace

Structure header_queue(std::string_view name, std::uint32_t entries, const Chip& chip,
                       std::string_view source) {
  return {.name = std::string(name),
          .formula = fmt::format("{} x ({} B LogHeaderAddr + {} B LogHeader)", entries,
                                 kAddressBytes, kLineBytes),
          .bytes = static_cast<double>(entries * (kAddressBytes + kLineBytes)),
          .count = chip.channels,
          .source = std::string(source)};
}

Structure committed_register(const Chip& chip) {
  return {.name = "register of the last committed region, a core",
          .formula = fmt::format("{} B", kRegisterBytes),
          .bytes = kRegisterBytes,
          .count = chip.cores,
          .source = "what survives a crash"};
}

Storage HardwareLog::storage(const HardwareLogParameters& parameters, const Chip& chip) {
  const bool load_aware = parameters.allocation == LogAllocation::kLoadAware;
  Storage storage = load_aware ? load_aware_storage(parameters, chip) : Storage{};
  // BLOM's headers are in the write pending queues, which are part of the machine.
  if (parameters.metadata != LogMetadata::kAdrBuffered && parameters.header_entries > 0) {
    storage.structures.push_back(
        header_queue("log header queue, a channel", parameters.header_entries, chip, "ASAP, 6.3"));
  }
  if (load_aware) return storage;
  storage.structures.push_back({.name = "registers of a sequential log",
                                .formula = fmt::format("2 x {} B start and offset", kRegisterBytes),
                                .bytes = 2 * kRegisterBytes,
                                .count = parameters.area == LogArea::kShared ? 1 : chip.cores,
                                .source = "ReDU: start and offset registers"});
  return storage;
}

}  // namespace pmemsim
