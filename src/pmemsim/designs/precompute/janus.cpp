#include "pmemsim/designs/precompute/janus.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cstring>
#include <utility>

namespace pmemsim {

Janus::Janus(const JanusParameters& parameters, std::uint32_t cores)
    : parameters_(parameters), cores_(cores) {}

std::uint64_t Janus::size(std::uint32_t entries) const {
  if (parameters_.scale == 0) return UINT32_MAX;
  return std::uint64_t{entries} * parameters_.scale * cores_;
}

ResultBufferSize Janus::result_buffer() const {
  return {.entries = static_cast<std::uint32_t>(
              std::min<std::uint64_t>(size(parameters_.result_entries), UINT32_MAX)),
          .most_age = parameters_.most_age};
}

// ---- Rule 1 (janus.hpp)

void Janus::hint(CoreId core, const Hint& hint, Time when) {
  const bool starts = hint.kind == trace::HintKind::kStartBuffered;
  const bool buffered = hint.kind == trace::HintKind::kBothBuffered ||
                        hint.kind == trace::HintKind::kAddressBuffered ||
                        hint.kind == trace::HintKind::kDataBuffered;
  statistics_.requests += !starts;
  arriving_.push_back({{object_of(core, hint.object), buffered, parts_of(core, hint)}, starts});
  if (observer_ != nullptr) notify_request(arriving_.back().request, when);
  context_->queue.schedule(when + parameters_.request_latency, Phase::kController,
                           completion<&Janus::arrive>(*this));
}

// Splits an announced range into lines. A range without an address is taken to begin at a
// line's first byte.
std::deque<Janus::Part> Janus::parts_of(CoreId core, const Hint& hint) {
  std::deque<Part> parts;
  for (std::uint64_t at = 0; at < hint.bytes;) {
    const std::uint64_t offset = (hint.address + at) % kLineBytes;
    const std::uint64_t size = std::min(kLineBytes - offset, hint.bytes - at);
    Part part;
    if (hint.address != 0) part.line = Line::of(hint.address + at);
    if (!hint.data.empty()) {
      std::memcpy(part.data.data() + offset, hint.data.data() + at, size);
      part.bytes = bytes_from(offset, size);
    }
    part.from = {core, hint.number, static_cast<std::uint32_t>(parts.size())};
    parts.push_back(part);
    at += size;
  }
  return parts;
}

void Janus::notify_request(const Request& request, Time when) const {
  const auto lines = static_cast<std::uint32_t>(request.parts.size());
  for (const Part& part : request.parts) {
    observer_->announced({part.from, part.line, part.bytes != 0, request.buffered, lines, when});
  }
}

void Janus::notify_lost(const std::deque<Part>& parts, HintLoss where) const {
  if (observer_ == nullptr) return;
  for (const Part& part : parts) observer_->lost(part.from, where);
}

void Janus::arrive(std::uint64_t, Time) {
  Arriving arrived = std::move(arriving_.front());
  arriving_.pop_front();
  if (!arrived.starts) {
    enqueue(std::move(arrived.request));
  } else {
    for (Request& request : requests_) {
      if (request.object == arrived.request.object) request.buffered = false;
    }
  }
  decode();
}

// ---- Rules 2 and 3 (janus.hpp)

void Janus::enqueue(Request request) {
  if (request.parts.empty()) return;
  if (request.buffered && merge(request)) {
    ++statistics_.requests_merged;
    return;
  }
  if (requests_.size() >= size(parameters_.request_entries)) evict_oldest();
  if (requests_.size() >= size(parameters_.request_entries)) {
    ++statistics_.requests_dropped;
    notify_lost(request.parts, HintLoss::kRequestQueue);
    return;
  }
  requests_.push_back(std::move(request));
}

bool Janus::merge(const Request& request) {
  const auto kind = [](const Part& part) {
    return std::pair(part.line.has_value(), part.bytes != 0);
  };
  const Part& first = request.parts.front();
  if (!first.line) return false;
  for (Request& other : requests_) {
    if (!other.buffered || other.object != request.object) continue;
    if (kind(other.parts.front()) != kind(first)) continue;
    const Line begin = *other.parts.front().line, end = *other.parts.back().line;
    if (request.parts.back().line->number + 1 < begin.number ||
        first.line->number > end.number + 1) {
      continue;
    }
    for (const Part& part : request.parts) {
      const auto at = std::ranges::lower_bound(other.parts, part.line->number, {},
                                               [](const Part& each) { return each.line->number; });
      if (at == other.parts.end() || at->line != part.line) {
        other.parts.insert(at, part);
      } else {
        take_bytes(at->data, part.data, part.bytes);
        at->bytes |= part.bytes;
        const HintedLine before = std::exchange(at->from, part.from);
        if (observer_ != nullptr) observer_->merged(before);
      }
    }
    return true;
  }
  return false;
}

void Janus::evict_oldest() {
  const auto oldest = std::ranges::find_if(requests_, &Request::buffered);
  if (oldest == requests_.end()) return;
  notify_lost(oldest->parts, HintLoss::kRequestQueue);
  requests_.erase(oldest);
  ++statistics_.requests_dropped;
}

// ---- Rule 4 (janus.hpp)

void Janus::decode() {
  if (decoding_) return;
  if (std::ranges::all_of(requests_, &Request::buffered)) return;
  decoding_ = true;
  context_->queue.schedule(
      context_->queue.now() + context_->clock.duration(parameters_.decode_latency),
      Phase::kController, completion<&Janus::decode_one>(*this));
}

void Janus::decode_one(std::uint64_t, Time now) {
  decoding_ = false;
  const auto next =
      std::ranges::find_if(requests_, [](const Request& request) { return !request.buffered; });
  if (next == requests_.end()) return;  // the thread of the request has ended or rolled back
  ++statistics_.operations;
  if (operations_.size() < size(parameters_.operation_entries)) {
    operations_.push_back({next->object, next->parts.front()});
  } else {
    ++statistics_.operations_dropped;
    if (observer_ != nullptr) observer_->lost(next->parts.front().from, HintLoss::kOperationQueue);
  }
  next->parts.pop_front();
  if (next->parts.empty()) requests_.erase(next);
  start(0, now);
  decode();
}

// ---- Rules 5 and 6 (janus.hpp)

void Janus::start(std::uint64_t waited, Time) {
  if (waited != 0) waiting_ = false;
  while (!operations_.empty() && !waiting_) {
    if (!context_->pm.predictions().starts_at_once(completion<&Janus::start>(*this, 1))) {
      waiting_ = true;
      return;
    }
    const Operation operation = operations_.front();
    operations_.pop_front();
    execute(operation);
  }
}

void Janus::complete_bytes(Part& part) const {
  if (!part.line || part.bytes == 0 || part.bytes == kWholeLine) return;
  take_bytes(part.data, context_->pm_space.newest().read(*part.line), ~part.bytes);
  part.bytes = kWholeLine;
}

void Janus::execute(const Operation& operation) {
  const Object object = operation.object;
  Part part = operation.part;
  Lines& lines = lines_[object];
  const bool address = part.line.has_value(), data = part.bytes != 0;
  const std::size_t number = address ? lines.addresses : lines.data;
  lines.addresses += address;
  lines.data += data;
  if (address != data &&
      number < lines.entries.size()) {  // the entry has the address or the data already
    Lines::Entry& entry = lines.entries[number];
    if (address) {
      entry.part.line = part.line;
    } else {
      entry.part.data = part.data;
      entry.part.bytes = part.bytes;
    }
    complete_bytes(entry.part);
    const Lines::Entry joined = entry;
    bool is_pending = !address || context_->pm.predictions().complete(joined.id, *joined.part.line);
    if (joined.part.bytes != 0) {
      is_pending =
          context_->pm.predictions().complete(joined.id, joined.part.data, joined.part.bytes);
    }
    notify_started(joined.id, part.from, is_pending);
    return;
  }
  complete_bytes(part);
  const PreparedId id = context_->pm.predictions().prepare({.core = core_of(object),
                                                            .number = object,
                                                            .line = part.line,
                                                            .data = part.data,
                                                            .bytes = part.bytes});
  ++(id ? statistics_.prepared : statistics_.results_dropped);
  notify_started(id, part.from, true);
  Lines& now = lines_[object];  // prepare() may have erased it through other outcomes
  now.entries.push_back({id, part});
  now.open += static_cast<bool>(id);
}

void Janus::notify_started(PreparedId id, const HintedLine& line, bool is_pending) const {
  if (observer_ == nullptr) return;
  if (!id) {
    observer_->lost(line, HintLoss::kResultBuffer);
  } else if (is_pending) {
    observer_->started(line, id);
  } else {
    observer_->too_late(line);
  }
}

// ---- Rules 7 and 8 (janus.hpp)

void Janus::outcome(const Outcome& outcome) {
  if (observer_ != nullptr) observer_->outcome(outcome);
  switch (outcome.fate) {
    case Fate::kUsed:
      ++statistics_.used;
      statistics_.used_late += outcome.late;
      break;
    case Fate::kUsedInPart:
      ++statistics_.used_in_part;
      break;
    case Fate::kMetadataChanged:
      ++statistics_.changed;
      break;
    case Fate::kTooOld:
      ++statistics_.too_old;
      break;
    case Fate::kTakenBack:
    case Fate::kThreadEnded:
    case Fate::kRangeDiscarded:
    case Fate::kRunEnded:
      ++statistics_.unused;
      break;
  }
  const auto lines = lines_.find(outcome.number);
  if (lines != lines_.end() && --lines->second.open == 0) lines_.erase(lines);
}

void Janus::thread_ended(CoreId core) {
  std::erase_if(requests_, [&](const Request& each) { return core_of(each.object) == core; });
  std::erase_if(operations_, [&](const Operation& each) { return core_of(each.object) == core; });
  std::erase_if(lines_, [&](const auto& each) { return core_of(each.first) == core; });
  for (Arriving& arriving : arriving_) {
    if (core_of(arriving.request.object) == core) arriving.request.parts.clear();
  }
}

void Janus::statistics(StatisticsCollector& collector) const {
  collector.group("janus", statistics_);
}

Storage Janus::storage(const JanusParameters& parameters, const Chip& chip) {
  if (parameters.scale == 0) {
    return {.unknown = "janus.scale=0 has an unlimited number of entries"};
  }
  const auto queue = [&](std::string_view name, std::uint64_t entries, double bytes,
                         std::string_view formula) {
    const std::uint64_t count = entries * parameters.scale;
    return Structure{.name = fmt::format("{}, shared, for each core", name),
                     .formula = fmt::format("{} x {}", count, formula),
                     .bytes = static_cast<double>(count) * bytes,
                     .count = chip.cores,
                     .source = "4.3, 5.2.7"};
  };
  Structure results = queue("intermediate result buffer", parameters.result_entries, 148, "148 B");
  results.printed = 9472;
  return {{queue("request queue", parameters.request_entries, in_bytes(119), "119 bit"),
           queue("operation queue", parameters.operation_entries, in_bytes(103), "103 bit"),
           results}};
}

}  // namespace pmemsim
