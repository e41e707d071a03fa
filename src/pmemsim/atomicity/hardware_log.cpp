#include "pmemsim/atomicity/hardware_log.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace pmemsim {
namespace {

std::uint8_t first_entries(std::uint32_t count) {
  return static_cast<std::uint8_t>((1u << count) - 1);
}

}  // namespace

HardwareLog::HardwareLog(const Shape& shape, const HardwareLogParameters& parameters)
    : shape_(shape),
      parameters_(parameters),
      header_entries_(shape.channels),
      complete_(shape.channels),
      awaited_(shape.channels),
      newest_(shape.cores),
      last_(shape.cores) {
  if (load_aware()) return;
  const std::uint64_t ring_size = parameters.ring_size.count * (shape.cores / shape.rings);
  for (CoreId ring = 0; ring < shape.rings; ++ring) rings_.emplace_back(ring, ring_size);
}

void HardwareLog::connect(const LayerContext& context) {
  context_.emplace(context);
  if (load_aware()) banks_.emplace(context.pm, shape_.banks, parameters_);
}

HardwareLog::Id HardwareLog::open(CoreId core, std::uint64_t region, Completion idle) {
  const Id id = logs_.take();
  Log& log = logs_[id];
  log.core = core;
  log.region = region;
  log.records.clear();
  log.unlinked.clear();
  log.outstanding = log.headers_on_their_way = 0;
  log.closed = log.released = false;
  log.idle = idle;
  return id;
}

std::uint32_t HardwareLog::channel_of(const Record& record) const {
  return context_->pm.channel_of(record.place->first);
}

// ---- Room for headers (rules 3 and 4)

bool HardwareLog::has_buffer(std::uint32_t channel) const {
  return adr_buffered() ? context_->pm.can_reserve(channel, header_lines())
                        : header_entries_[channel] < shape_.header_entries;
}

void HardwareLog::take_buffer(Id id, std::uint32_t number) {
  Record& record = logs_[id].records[number];
  const std::uint32_t channel = channel_of(record);
  if (adr_buffered()) {
    for (std::uint32_t line = 0; line < header_lines(); ++line) context_->pm.reserve(channel);
  } else {
    ++header_entries_[channel];
  }
  record.state = HeaderState::kBuffered;
  record.buffered = static_cast<std::uint32_t>(buffered_.size());
  buffered_.push_back({id, number});
  ++statistics_.buffered_headers;
}

void HardwareLog::give_buffer(Record& record) {
  const std::uint32_t channel = channel_of(record);
  const Header last = buffered_.back();
  buffered_[*record.buffered] = last;
  logs_[last.log].records[last.record].buffered = record.buffered;
  buffered_.pop_back();
  record.buffered.reset();
  if (!adr_buffered()) {
    --header_entries_[channel];
  } else {
    for (std::uint32_t line = 0; line < header_lines(); ++line) context_->pm.release(channel);
  }
}

// Where load-aware allocation puts a header that has to be buffered.
std::optional<std::uint32_t> HardwareLog::header_bank() {
  banks_->grow_if_empty();
  if (volatile_headers()) return {};
  return banks_->header_bank([this](std::uint32_t channel) { return has_buffer(channel); });
}

// For one that needn't be.
std::uint32_t HardwareLog::least_loaded_bank() {
  banks_->grow_if_empty();
  return *banks_->header_bank([](std::uint32_t) { return true; });
}

// False: there is no room for the record's header, or a chain can't lead to it yet, past one that
// is being written.
bool HardwareLog::buffer_header(Id id, std::uint32_t number) {
  Log& log = logs_[id];
  Record& record = log.records[number];
  if (!record.place) {
    const auto bank = log.unlinked.empty() ? header_bank() : std::nullopt;
    if (!bank) return false;
    place_header(record, *bank);
    if (shape_.kind == LogKind::kUndo) newest_[log.core] = record.place->first;
  } else if (!has_buffer(channel_of(record))) {
    return false;
  }
  take_buffer(id, number);
  return true;
}

bool HardwareLog::room(Id id) {
  if (may_be_volatile()) return true;
  Log& log = logs_[id];
  if (!log.records.empty() && log.records.back().entries < kRecordEntries) return true;
  if (load_aware()) {
    if (header_bank()) return true;
    for (std::uint32_t channel = 0; channel < shape_.channels; ++channel) make_room(channel);
    return false;
  }
  const std::uint32_t channel = context_->pm.channel_of(ring(log.core).next());
  if (has_buffer(channel)) return true;
  make_room(channel);
  return false;
}

// Not from within: whoever is told will append.
void HardwareLog::announce_room() {
  if (!std::exchange(room_wanted_, false)) return;
  context_->queue.schedule(context_->queue.now(), Phase::kController, room_);
}

void HardwareLog::make_room(std::uint32_t channel) {
  room_wanted_ = true;
  if (!adr_buffered()) return;  // a header that is being written gives its room back
  spill_oldest(channel);
  if (awaited_[channel]) return;
  awaited_[channel] = true;
  context_->pm.await_entry(channel, completion<&HardwareLog::entry_free>(*this, channel));
}

void HardwareLog::entry_free(std::uint64_t channel, Picoseconds) {
  awaited_[channel] = false;
  announce_room();
}

// Rule 4.
void HardwareLog::spill_oldest(std::uint32_t channel) {
  std::deque<Header>& headers = complete_[channel];
  if (headers.empty()) return;
  const Header oldest = headers.front();
  headers.pop_front();
  ++statistics_.spilled_headers;
  write_header(oldest.log, oldest.record);
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
  if (!load_aware()) {
    const Line place = ring(log.core).allocate();
    record.place = {place, place};
  }
  if (!buffer_header(id, number) && adr_buffered()) {
    spill_oldest(record.place ? channel_of(record) : banks_->channel(least_loaded_bank()));
  }
  assert(record.buffered || may_be_volatile());
  record.counted = shape_.kind == LogKind::kRedo && !record.buffered;
}

// Load-aware: the chain runs through headers in the order in which they get their places.
void HardwareLog::place_header(Record& record, std::uint32_t bank) {
  record.place = banks_->header(bank);
  record.links.previous = last_[record.header.core];
  last_[record.header.core] = record.place->first;
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
  const Picoseconds now = context_->queue.now();
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
  const Picoseconds way =
      shape_.from_controllers ? Picoseconds{0} : context_->caches.way_down(log.core);
  context_->queue.schedule(now + way, Phase::kController,
                           completion<&HardwareLog::arrive>(*this, slot));
}

void HardwareLog::arrive(std::uint64_t number, Picoseconds) {
  const auto slot = static_cast<std::uint32_t>(number);
  const Entry& entry = entries_[slot];
  const Log& log = logs_[entry.log];
  Record& record = logs_[entry.log].records[entry.record];
  const Line place =
      load_aware() ? banks_->entry() : Line{record.place->first.number + 1 + entry.number};
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

void HardwareLog::entry_persisted(std::uint64_t number, Picoseconds now) {
  const Entry& entry = entries_[static_cast<std::uint32_t>(number)];
  Record& record = logs_[entry.log].records[entry.record];
  record.header.valid |= static_cast<std::uint8_t>(1u << entry.number);
  if (record.buffered) context_->pm.survivors_changed();
  ++statistics_.persistent_entries;
  statistics_.entry_latency += now - entry.sent;
  if (waits_for_header(record)) {
    record.waiting.push_back(static_cast<std::uint32_t>(number));
    try_complete(entry.log, entry.record);
    return;
  }
  if (entry.persisted) entry.persisted(now);
  try_complete(entry.log, entry.record);
  context_->queue.schedule(now + context_->caches.way_back(), Phase::kCore,
                           completion<&HardwareLog::entry_acknowledged>(*this, number));
}

void HardwareLog::entry_acknowledged(std::uint64_t number, Picoseconds now) {
  const auto slot = static_cast<std::uint32_t>(number);
  const Entry entry = entries_[slot];
  entries_.give_back(slot);
  if (parameters_.defects.release) {
    drop(*logs_[entry.log].records[entry.record].links.entries[entry.number], WriteKind::kLog);
  }
  if (entry.acknowledged) entry.acknowledged(now);
  acknowledged(entry.log, now);
}

void HardwareLog::acknowledged(std::uint64_t id, Picoseconds now) {
  Log& log = logs_[static_cast<Id>(id)];
  if (--log.outstanding == 0 && log.idle) log.idle(now);
}

// ---- Headers

// The last header of a redo log waits for the region's place in the order of commits.
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
  if (record.counted && adr_buffered() && buffer_header(id, number)) record.counted = false;
  if (record.state == HeaderState::kBuffered && adr_buffered()) {
    if (std::exchange(record.listed, true)) return;
    complete_[channel_of(record)].push_back({id, number});
    if (room_wanted_) spill_oldest(channel_of(record));
  } else {
    write_header(id, number);
  }
}

void HardwareLog::write_header(Id id, std::uint32_t number) {
  Log& log = logs_[id];
  Record& record = log.records[number];
  if (!record.place) place_header(record, least_loaded_bank());
  record.state = HeaderState::kOnItsWay;
  record.lines_left = header_lines();
  ++log.headers_on_their_way;
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
  if (load_aware()) write(record.place->second, record.links.bytes(record.header));
}

void HardwareLog::header_persisted(std::uint64_t slot, Picoseconds now) {
  const auto [id, number] = headers_[static_cast<std::uint32_t>(slot)];
  headers_.give_back(static_cast<std::uint32_t>(slot));
  Log& log = logs_[id];
  Record& record = log.records[number];
  if (--record.lines_left > 0) return;
  record.state = HeaderState::kWritten;
  tell_waiting(log, now);
  if (record.buffered) give_buffer(record);
  if (record.counted) {
    context_->queue.schedule(now + context_->caches.way_back(), Phase::kCore,
                             completion<&HardwareLog::acknowledged>(*this, id));
  }
  if (--log.headers_on_their_way == 0 && log.released) finish_release(id);
  announce_room();
}

// A chain breaks at a header that isn't persistent yet, so that what comes before it counts first.
void HardwareLog::tell_waiting(Log& log, Picoseconds now) {
  while (!log.unlinked.empty()) {
    Record& record = log.records[log.unlinked.front()];
    if (record.state != HeaderState::kWritten) return;
    log.unlinked.erase(log.unlinked.begin());
    newest_[log.core] = record.place->first;
    for (const std::uint32_t slot : std::exchange(record.waiting, {})) {
      if (entries_[slot].persisted) entries_[slot].persisted(now);
      context_->queue.schedule(now + context_->caches.way_back(), Phase::kCore,
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
  const Picoseconds now = context_->queue.now();
  context_->queue.schedule(now + context_->caches.way_down(log.core), Phase::kController,
                           completion<&HardwareLog::closing_arrived>(*this, id));
}

void HardwareLog::closing_arrived(std::uint64_t number, Picoseconds now) {
  const auto id = static_cast<Id>(number);
  Log& log = logs_[id];
  log.closed = true;
  try_complete(id, static_cast<std::uint32_t>(log.records.size() - 1));
  context_->queue.schedule(now + context_->caches.way_back(), Phase::kCore,
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

void HardwareLog::link(Id id) {
  const CoreId core = logs_[id].core;
  newest_[core] = last_[core];
}

void HardwareLog::release(Id id, bool drop_pending) {
  Log& log = logs_[id];
  assert(log.outstanding == 0);
  log.released = true;
  if (drop_pending) drop_entries(id);
  for (Record& record : log.records) {
    if (load_aware()) {
      for (std::uint32_t i = 0; i < record.entries; ++i) {
        banks_->free_entry(*record.links.entries[i]);
      }
    }
    if (drop_pending && record.state == HeaderState::kWritten) {
      drop(record.place->first, WriteKind::kLogHeader);
      if (load_aware()) drop(record.place->second, WriteKind::kLogHeader);
    }
  }
  if (log.headers_on_their_way == 0) finish_release(id);
}

// No header is on its way any more.
void HardwareLog::finish_release(Id id) {
  Log& log = logs_[id];
  bool gave = false;
  for (std::uint32_t number = 0; number < log.records.size(); ++number) {
    Record& record = log.records[number];
    if (record.buffered) {
      std::erase_if(complete_[channel_of(record)], [&](const Header& header) {
        return header.log == id && header.record == number;
      });
      give_buffer(record);
      gave = true;
    }
    free_header(record);
  }
  log.records.clear();
  logs_.give_back(id);
  if (gave) announce_room();
}

void HardwareLog::free_header(Record& record) {
  --records_in_use_;
  if (!record.place) return;
  if (load_aware()) {
    banks_->free_header(*record.place);
  } else {
    ring(record.header.core).free(record.place->first);
  }
}

void HardwareLog::drop(Line line, WriteKind kind) {
  WriteId id;
  if (context_->pm.find(line, kind, id) && context_->pm.drop(id)) ++statistics_.dropped;
}

// Half of the space that the log has before it grows.
bool HardwareLog::nearly_full() const {
  const std::uint64_t space =
      load_aware() ? std::min<std::uint64_t>(parameters_.free_headers,
                                             parameters_.free_entries / kRecordEntries) *
                         shape_.banks
                   : parameters_.ring_size.count * shape_.cores / (kRecordLines * kLineBytes);
  return 2 * records_in_use_ > space;
}

LogSurvivors HardwareLog::survivors() const {
  LogSurvivors all;
  for (const SequentialLog& ring : rings_) all.rings.push_back({ring.first(), ring.lines()});
  if (banks_) {
    if (!parameters_.defects.link) all.newest = newest_;
    all.header_stride = banks_->header_stride();
    all.growths = banks_->growths();
  }
  if (parameters_.defects.headers) return all;
  for (const Header& buffered : buffered_) {
    const Log& log = logs_[buffered.log];
    if (log.released) continue;
    const Record& record = log.records[buffered.record];
    all.headers.push_back(
        {record.place->first, record.header.bytes(), record.links.bytes(record.header)});
  }
  return all;
}

void HardwareLog::statistics(StatisticsCollector& collector) const {
  HardwareLogStatistics all = statistics_;
  for (const SequentialLog& ring : rings_) all.growths += ring.growths();
  if (banks_) all.growths += banks_->growths();
  collector.group("log", all);
}

}  // namespace pmemsim
