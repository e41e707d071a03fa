#include "pmemsim/designs/atomicity/lad.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "pmemsim/common/sentences.hpp"
#include "pmemsim/designs/interface/pm_space.hpp"

namespace pmemsim {
namespace {

// Returns two numbers in one completion argument.
constexpr std::uint64_t packed(std::uint32_t high, std::uint32_t low) {
  return std::uint64_t{high} << 32 | low;
}
constexpr std::uint32_t high(std::uint64_t packed) {
  return static_cast<std::uint32_t>(packed >> 32);
}
constexpr std::uint32_t low(std::uint64_t packed) { return static_cast<std::uint32_t>(packed); }

}  // namespace

Lad::Lad(const HardwareLog::Shape& shape, Picoseconds controller_latency,
         const HardwareLogParameters& parameters)
    : controller_latency_(controller_latency),
      faults_(parameters.faults),
      log_(shape, parameters),
      cores_(shape.cores),
      committed_(shape.channels, std::vector<std::uint64_t>(shape.cores, 0)) {
  for (PerCore& core : cores_) core.overflowed.resize(shape.channels);
}

void Lad::connect(const LayerContext& context) {
  context_.emplace(context);
  log_.connect(context);
  log_.on_header_space(completion<&Lad::header_space_freed>(*this));
}

Lowering Lad::lowering() const {
  using enum trace::Purpose;
  return Lowering::without({kLog, kDataFlush, kCommit});
}

bool Lad::region_begin(CoreId core, std::uint64_t region, Time, Completion) {
  cores_[core].region = region;
  return true;
}

// Rule 1 (lad.hpp).
bool Lad::store(const Store& store, Time, Completion) {
  if (store.region == 0) return true;
  PerCore& core = cores_[store.core];
  const Line line = store.line();
  core.latest = line;
  if (bool* mark = core.marks.find(line)) {
    *mark = true;
  } else {
    core.marks.insert(line) = true;
    core.lines.push_back(line);
  }
  return true;
}

// ---- Phase 1: speculative writes

bool Lad::region_end(CoreId number, std::uint64_t, Time when, Completion resume) {
  PerCore& core = cores_[number];
  for (const Line line : core.lines) {
    if (!std::exchange(*core.marks.find(line), false)) continue;
    context_->caches.mark_clean(line);
    send(number, line, context_->pm_space.newest().read(line));  // rule 2 (lad.hpp)
  }
  core.ended = when;
  if (core.unacknowledged == 0 && core.held_lines.empty()) {
    finish(core);
    return true;
  }
  core.waiting = resume;
  if (faults_.commit) {
    for (auto& controller : committed_) controller[number] = core.region;
  }
  if (core.unacknowledged == 0) send_commit(number, context_->queue.now());
  return false;
}

Eviction Lad::evicted(Line line, const LineData& data, Time) {
  Eviction eviction = Eviction::kWrite;
  for (CoreId number = 0; number < cores_.size(); ++number) {
    PerCore& core = cores_[number];
    bool* mark = core.marks.find(line);
    if (mark == nullptr || !*mark) continue;
    // The latest store may not have reached the cache yet. The line then keeps its mark and is sent
    // again.
    *mark = line == core.latest;
    ++statistics_.written_through;
    send(number, line, data);
    eviction = Eviction::kTaken;
  }
  if (eviction == Eviction::kWrite) replace_older(line, context_->pm.next_departure(), data);
  return eviction;
}

// False for a line that a region has stored to and that is neither committed nor logged.
bool Lad::may_leave(Line line) const {
  return std::none_of(cores_.begin(), cores_.end(), [&](const PerCore& core) {
    const std::uint32_t* const slot = core.held.find(line);
    if (slot == nullptr) return core.marks.find(line) != nullptr;
    const State state = held_[*slot].state;
    return state == State::kKept || state == State::kLogging;
  });
}

void Lad::send(CoreId core, Line line, const LineData& data) {
  in_flight_.push_back({core, line, data, context_->pm.next_departure()});
  ++cores_[core].unacknowledged;
  ++statistics_.speculative;
  context_->queue.schedule(context_->queue.now() + context_->caches.core_to_controller(core),
                           Phase::kController, completion<&Lad::arrive>(*this));
}

Lad::Held* Lad::find(CoreId core, Line line) {
  const std::uint32_t* slot = cores_[core].held.find(line);
  return slot == nullptr ? nullptr : &held_[*slot];
}

std::uint32_t Lad::hold(CoreId core, Line line) {
  const std::uint32_t slot = held_.take();
  held_[slot] = Held{};
  held_[slot].core = core;
  held_[slot].line = line;
  held_[slot].controller = context_->pm.channel_of(line);
  cores_[core].held.insert(line) = slot;
  cores_[core].held_lines.push_back(slot);
  return slot;
}

// All sent lines have the same latency, so the first one sent arrives first.
void Lad::arrive(std::uint64_t, Time now) {
  const Sent sent = in_flight_.front();
  in_flight_.pop_front();
  Held* held = find(sent.core, sent.line);
  if (held == nullptr) {
    const std::uint32_t fresh = hold(sent.core, sent.line);
    keep_or_log(fresh);
    held = &held_[fresh];
  }
  held->data = sent.data;
  held->departure = sent.departure;
  switch (held->state) {
    case State::kKept:  // rule 3 (lad.hpp)
      context_->pm.survivors_changed();
      acknowledge(sent.core, 1, now + controller_latency_);
      break;
    case State::kLogging:
      ++held->unacknowledged;
      break;
    default:
      write_in_place(*held, 1);
  }
}

void Lad::keep_or_log(std::uint32_t slot) {
  Held& held = held_[slot];
  const PerCore& core = cores_[held.core];
  if (!core.overflowed[held.controller]) {
    held.has_entry = context_->pm.reserve(held.controller);
    if (held.has_entry) return;
    overflow(held.core, held.controller);
  }
  log(slot);
}

void Lad::write_in_place(Held& held, std::uint32_t acknowledgements) {
  replace_older(held.line, held.departure, held.data);
  ++statistics_.data_writes;
  const Write write{
      .line = held.line,
      .kind = WriteKind::kData,
      .owner = region_id(held.core, cores_[held.core].region),
      .data = held.data,
      .persisted = completion<&Lad::in_place>(*this, packed(held.core, acknowledgements)),
      .written = {},
      .departure = held.departure};
  if (std::exchange(held.has_entry, false)) {
    context_->pm.write_reserved(write);
  } else {
    context_->pm.write(write);
  }
}

void Lad::in_place(std::uint64_t packed, Time now) { acknowledge(high(packed), low(packed), now); }

void Lad::acknowledge(CoreId core, std::uint32_t count, Time when) {
  context_->queue.schedule(when + context_->caches.controller_to_core(), Phase::kCore,
                           completion<&Lad::acknowledged>(*this, packed(core, count)));
}

void Lad::acknowledged(std::uint64_t packed, Time now) {
  PerCore& core = cores_[high(packed)];
  core.unacknowledged -= low(packed);
  if (core.unacknowledged == 0 && core.waiting) send_commit(high(packed), now);
}

// Replaces older data that regions have sent of the line by these contents, which left the caches
// later and must not be overwritten.
void Lad::replace_older(Line line, std::uint64_t departure, const LineData& data) {
  const auto replace = [&](auto& older) {
    if (older.departure >= departure) return;
    older.data = data;
    older.departure = departure;
  };
  for (Sent& sent : in_flight_) {
    if (sent.line == line) replace(sent);
  }
  for (CoreId core = 0; core < cores_.size(); ++core) {
    if (Held* const held = find(core, line)) replace(*held);
  }
}

// Rule 3 (lad.hpp): a read finds the line in the write pending queue.
bool Lad::fetch(CoreId, Line line, Time when, Completion done) {
  for (CoreId core = 0; core < cores_.size(); ++core) {
    const Held* held = find(core, line);
    if (held == nullptr || !held->has_entry) continue;
    ++statistics_.forwarded;
    context_->queue.schedule(when + controller_latency_, Phase::kController, done);
    return true;
  }
  return false;
}

// ---- Phase 2: the commit messages

void Lad::send_commit(CoreId number, Time now) {
  PerCore& core = cores_[number];
  core.unacknowledged = static_cast<std::uint32_t>(committed_.size());  // rule 5 (lad.hpp)
  for (std::uint32_t controller = 0; controller < committed_.size(); ++controller) {
    context_->queue.schedule(now + context_->caches.core_to_controller(number), Phase::kController,
                             completion<&Lad::commit_arrives>(*this, packed(controller, number)));
  }
}

void Lad::commit_arrives(std::uint64_t packed, Time now) {
  const std::uint32_t controller = high(packed);
  const CoreId number = low(packed);
  PerCore& core = cores_[number];
  const auto here = [&](const Held& held, State state) {
    return held.controller == controller && held.state == state;
  };
  committed_[controller][number] = core.region;
  for (const std::uint32_t slot : core.held_lines) {
    if (!here(held_[slot], State::kKept)) continue;
    held_[slot].state = State::kDraining;
    held_[slot].has_entry = false;
  }
  context_->pm.survivors_changed();
  for (const std::uint32_t slot : core.held_lines) {
    const Held& held = held_[slot];
    if (!here(held, State::kDraining)) continue;
    ++core.unacknowledged;
    replace_older(held.line, held.departure, held.data);
    ++statistics_.data_writes;
    context_->pm.write_reserved({.line = held.line,
                                 .kind = WriteKind::kData,
                                 .owner = region_id(number, core.region),
                                 .data = held.data,
                                 .persisted = completion<&Lad::drained>(*this, slot),
                                 .written = {}});
  }
  context_->queue.schedule(now + controller_latency_ + context_->caches.controller_to_core(),
                           Phase::kCore, completion<&Lad::commit_acknowledged>(*this, number));
}

void Lad::drained(std::uint64_t slot, Time now) {
  Held& held = held_[static_cast<std::uint32_t>(slot)];
  held.state = State::kInPlace;
  context_->queue.schedule(now + context_->caches.controller_to_core(), Phase::kCore,
                           completion<&Lad::commit_acknowledged>(*this, held.core));
}

void Lad::commit_acknowledged(std::uint64_t number, Time now) {
  PerCore& core = cores_[number];
  if (--core.unacknowledged > 0) return;
  count_latencies(core, now);
  finish(core);
  std::exchange(core.waiting, {})(now);
}

void Lad::count_latencies(const PerCore& core, Time now) {
  statistics_.commit_latency += now - core.ended;
  statistics_.log_completion += (core.log ? std::max(core.logged, core.ended) : now) - core.ended;
}

void Lad::finish(PerCore& core) {
  ++statistics_.committed;
  for (const std::uint32_t slot : core.held_lines) held_.release(slot);
  if (core.log) log_.release(*std::exchange(core.log, {}), false);
  core.region = 0;
  core.marks.clear();
  core.lines.clear();
  core.held.clear();
  core.held_lines.clear();
  core.overflowed.assign(core.overflowed.size(), false);
}

// ---- Overflow: the undo log (rule 4)

void Lad::overflow(CoreId number, std::uint32_t controller) {
  PerCore& core = cores_[number];
  const bool first = std::ranges::count(core.overflowed, true) == 0;
  core.overflowed[controller] = true;
  statistics_.overflows += first;
  for (const std::uint32_t slot : core.held_lines) {
    const Held& held = held_[slot];
    const bool kept = held.state == State::kKept && held.has_entry;
    if (kept && held.controller == controller) log_kept(slot);
  }
}

// Logs a line whose write the controller has acknowledged. The region may not commit before the
// line is in place.
void Lad::log_kept(std::uint32_t slot) {
  Held& held = held_[slot];
  ++cores_[held.core].unacknowledged;
  ++held.unacknowledged;
  log(slot);
  context_->pm.survivors_changed();
}

void Lad::log(std::uint32_t slot) {
  Held& held = held_[slot];
  if (faults_.order) {
    held.state = State::kInPlace;
    if (held.unacknowledged > 0) write_in_place(held, std::exchange(held.unacknowledged, 0));
    return;
  }
  held.state = State::kLogging;
  ++cores_[held.core].about_to_log;
  context_->pm.read(held.line, completion<&Lad::old_data_read>(*this, slot));
}

// Tries to append before the entries that stall: the region's last record may have room, and those
// entries may depend on this region's commit.
void Lad::old_data_read(std::uint64_t slot, Time) {
  const auto held = static_cast<std::uint32_t>(slot);
  if (!append(held)) awaiting_header_space_.push_back(held);
}

bool Lad::append(std::uint32_t slot) {
  const Held& held = held_[slot];
  PerCore& core = cores_[held.core];
  if (!core.log) core.log = log_.open(held.core, core.region, {});
  if (!log_.has_header_space(*core.log)) return false;
  log_.append(*core.log, held.line, context_->pm.newest(held.line), {},
              completion<&Lad::logged>(*this, slot));
  if (--core.about_to_log == 0) log_.seal(*core.log);
  return true;
}

void Lad::header_space_freed(std::uint64_t, Time) {
  std::erase_if(awaiting_header_space_, [this](std::uint32_t slot) { return append(slot); });
}

void Lad::logged(std::uint64_t slot, Time now) {
  Held& held = held_[static_cast<std::uint32_t>(slot)];
  held.state = State::kInPlace;
  cores_[held.core].logged = now + context_->caches.controller_to_core();
  const std::uint32_t writes = std::exchange(held.unacknowledged, 0);
  if (writes > 0) write_in_place(held, writes);
  if (held.flush) resume_flush(std::exchange(held.flush, {}), now);
}

// Rule 7 (lad.hpp).
bool Lad::flush(CoreId number, Line line, Time, Completion resume) {
  PerCore& core = cores_[number];
  const Held* const held = find(number, line);
  const bool* const mark = core.marks.find(line);
  if (held == nullptr && (mark == nullptr || !*mark)) {
    replace_older(line, context_->pm.next_departure(), context_->pm_space.newest().read(line));
    return true;
  }
  if (held != nullptr && held->state == State::kInPlace) return true;
  core.flushed = line;
  core.flush = resume;
  ++statistics_.delayed_flushes;
  context_->queue.schedule(context_->queue.now() + context_->caches.core_to_controller(number),
                           Phase::kController, completion<&Lad::flush_arrives>(*this, number));
  return false;
}

void Lad::flush_arrives(std::uint64_t number, Time now) {
  const auto owner = static_cast<CoreId>(number);
  PerCore& core = cores_[owner];
  const bool fresh = find(owner, core.flushed) == nullptr;
  const std::uint32_t slot = fresh ? hold(owner, core.flushed) : *core.held.find(core.flushed);
  Held& held = held_[slot];
  if (fresh) {
    log(slot);
  } else if (held.state == State::kKept) {
    // Its contents go in place, too: the caches may not hold them any more.
    log_kept(slot);
  }
  if (held.state == State::kLogging) {
    held.flush = core.flush;
  } else {
    resume_flush(core.flush, now);
  }
}

void Lad::resume_flush(Completion flush, Time now) {
  context_->queue.schedule(now + context_->caches.controller_to_core(), Phase::kCore, flush);
}

// ---- Surviving state and reports

Lad::Survivors Lad::survivors() const {
  Survivors all{committed_, {}, log_.survivors()};
  std::vector<const Held*> kept;
  for (const PerCore& core : cores_) {
    for (const std::uint32_t slot : core.held_lines) {
      const State state = held_[slot].state;
      if (state == State::kKept || state == State::kDraining) kept.push_back(&held_[slot]);
    }
  }
  std::sort(kept.begin(), kept.end(),
            [](const Held* a, const Held* b) { return a->departure < b->departure; });
  for (const Held* held : kept) {
    all.kept.push_back({held->core, cores_[held->core].region, held->line, held->data});
  }
  return all;
}

void Lad::statistics(StatisticsCollector& collector) const {
  collector.group("lad", statistics_);
  log_.statistics(collector);
}

std::string Lad::pending() const {
  return sentences(cores_.size(), [this](std::size_t core) {
    const std::uint32_t writes = cores_[core].unacknowledged;
    return writes == 0
               ? ""
               : std::to_string(writes) + " speculative writes or commit messages of core " +
                     std::to_string(core) + " not acknowledged";
  });
}

Storage Lad::storage(const HardwareLogParameters& parameters, const Chip& chip) {
  Storage storage{{
      {.name = "mark, a line of an L1",
       .formula = "1 bit",
       .bytes = in_bytes(1),
       .count = chip.l1_lines * chip.cores,
       .source = "LAD: transactional lines of a private cache"},
      {.name = "array of committed regions, a channel",
       .formula = fmt::format("{} cores x {} B", chip.cores, kRegisterBytes),
       .bytes = static_cast<double>(chip.cores * kRegisterBytes),
       .count = chip.channels,
       .source = "LAD: phase 2"},
  }};
  storage.add(HardwareLog::storage(parameters, chip));
  return storage;
}

}  // namespace pmemsim
