#include "pmemsim/designs/atomicity/hw_redo.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "pmemsim/common/sentences.hpp"
#include "pmemsim/designs/interface/pm_space.hpp"

namespace pmemsim {

HwRedo::HwRedo(const HardwareLog::Shape& shape, const HwRedoParameters& parameters,
               const HardwareLogParameters& log)
    : parameters_(parameters), faults_(log.faults), log_(shape, log), cores_(shape.cores) {}

void HwRedo::connect(const LayerContext& context) {
  context_.emplace(context);
  log_.connect(context);
}

Lowering HwRedo::lowering() const {
  using enum trace::Purpose;
  return Lowering::without({kLog, kDataFlush, kCommit});
}

// ---- Running a region (rules 1 and 2)

bool HwRedo::region_begin(CoreId core, std::uint64_t region, Time, Completion) {
  cores_[core].region = region;
  return true;
}

bool HwRedo::store(const Store& store, Time, Completion) {
  if (store.region == 0) return true;
  PerCore& core = cores_[store.core];
  const Line line = store.line();
  if (core.written.find(line) == nullptr) {
    core.written.insert(line) = true;
    core.lines.push_back(line);
    ++uncommitted_[line].writers;
  }
  const auto found =
      std::find_if(core.log_buffer.begin(), core.log_buffer.end(),
                   [line](const BufferedLine& buffered) { return buffered.line == line; });
  if (found != core.log_buffer.end()) {
    found->data = store.after();
    ++statistics_.coalesced;
    return true;
  }
  if (core.log_buffer.size() == parameters_.log_buffer_entries) {
    log(store.core, core.log_buffer.front());
    core.log_buffer.erase(core.log_buffer.begin());
  }
  core.log_buffer.push_back({line, store.after()});
  return true;
}

void HwRedo::log(CoreId number, const BufferedLine& line) {
  PerCore& core = cores_[number];
  if (!core.log) {
    core.log = log_.open(number, core.region, completion<&HwRedo::idle>(*this, number));
  }
  log_.append(*core.log, line.line, line.data, {});
}

Eviction HwRedo::evicted(Line line, const LineData& data, Time) {
  if (faults_.order) return Eviction::kWrite;
  if (Uncommitted* const uncommitted = uncommitted_.find(line)) {  // rule 2 (hw_redo.hpp)
    uncommitted->kept = true;
  } else {
    const Cached* const cached = cached_.find(line);
    if (cached == nullptr) return Eviction::kWrite;
    // A later store outside regions has changed the line; older data must not overtake that store.
    keep(line, data, cached->dirty ? cached->order : cached->order_in_flight);
  }
  write_to_dram_cache(line, {});
  ++statistics_.kept_evictions;
  return Eviction::kTaken;
}

bool HwRedo::fetch(CoreId, Line line, Time, Completion done) {
  const Uncommitted* const uncommitted = uncommitted_.find(line);
  const bool kept = uncommitted != nullptr && uncommitted->kept;
  if (!kept && !cached_.contains(line)) return false;
  ++statistics_.dram_cache_reads;
  context_->dram.read(line, done);
  return true;
}

// Handles a flush instruction of the program's own.
bool HwRedo::flush(CoreId core, Line line, Time, Completion resume) {
  if (may_flush(core, line)) return true;
  flushes_.push_back({core, line, resume});
  write_for(flushes_.back());
  return false;
}

bool HwRedo::may_flush(CoreId number, Line line) const {
  if (cores_[number].written.find(line) != nullptr) return true;
  return !logged_.contains(line) &&
         std::none_of(cores_.begin(), cores_.end(), [line](const PerCore& core) {
           return core.waiting && core.written.find(line) != nullptr;
         });
}

// Writes the regions in place for which the flush stalls (lazy). No other event may trigger this.
void HwRedo::write_for(const WaitingFlush& flush) {
  if (parameters_.in_place != InPlaceUpdate::kLazy) return;
  if (const std::uint64_t* const order = logged_.find(flush.line)) write_oldest(*order);
}

Eviction HwRedo::flushed(Line line) {
  Uncommitted* const uncommitted = uncommitted_.find(line);
  if (uncommitted == nullptr) return Eviction::kWrite;
  uncommitted->kept = true;
  write_to_dram_cache(line, {});
  return Eviction::kTaken;
}

// ---- Committing (rule 3)

bool HwRedo::region_end(CoreId number, std::uint64_t, Time when, Completion resume) {
  PerCore& core = cores_[number];
  if (core.lines.empty()) {
    core.committed = core.region;
    context_->pm.survivors_changed();
    ++statistics_.committed;
    return true;
  }
  for (const BufferedLine& line : core.log_buffer) log(number, line);
  core.log_buffer.clear();
  core.order = first_order_ + regions_.size();
  regions_.push_back({number, core.region, *core.log, std::exchange(core.lines, {})});
  log_.close(*core.log, core.order);
  core.waiting_since = when;
  core.waiting = resume;
  if (faults_.commit) core.committed = core.region;
  return false;
}

// Called when the core's log is persistent. Commits the region if its end stalls for that.
void HwRedo::idle(std::uint64_t number, Time now) {
  if (!cores_[number].waiting) return;
  if (parameters_.commit_after == CommitAfter::kLog) {
    commit(number, now);
  } else {
    context_->queue.schedule(now + context_->caches.core_to_controller(static_cast<CoreId>(number)),
                             Phase::kController, completion<&HwRedo::lines_arrive>(*this, number));
  }
}

// Sends all lines of the region to the DRAM cache, then commits it (commit_after=dram-cache).
void HwRedo::lines_arrive(std::uint64_t number, Time) {
  PerCore& core = cores_[number];
  const std::vector<Line>& lines = region(core.order).lines;
  core.lines_in_flight = lines.size();
  for (const Line line : lines) {
    write_to_dram_cache(line, completion<&HwRedo::line_accepted>(*this, number));
  }
}

void HwRedo::line_accepted(std::uint64_t number, Time now) {
  if (--cores_[number].lines_in_flight > 0) return;
  context_->queue.schedule(now + context_->caches.controller_to_core(), Phase::kCore,
                           completion<&HwRedo::commit>(*this, number));
}

void HwRedo::commit(std::uint64_t number, Time now) {
  PerCore& core = cores_[number];
  statistics_.commit_latency += now - core.waiting_since;
  ++statistics_.committed;
  core.committed = core.region;
  log_.link(*std::exchange(core.log, {}));
  context_->pm.survivors_changed();
  core.written.clear();
  Region& committed = region(core.order);
  committed.committed = true;
  for (const Line line : committed.lines) {  // rule 4 (hw_redo.hpp)
    if (--uncommitted_.find(line)->writers == 0) uncommitted_.erase(line);
    context_->caches.mark_clean(line);
    std::uint64_t& last = logged_[line];
    // If two regions share a line, the later one may commit first.
    last = std::max(last, core.order);
    keep(line, context_->pm_space.newest().read(line), core.order);
    if (parameters_.commit_after == CommitAfter::kLog) write_to_dram_cache(line, {});
  }
  context_->queue.schedule(now + context_->caches.core_to_controller(static_cast<CoreId>(number)),
                           Phase::kController,
                           completion<&HwRedo::committed_lines_arrive>(*this, core.order));
  std::exchange(core.waiting, {})(now);
}

// ---- Updating in place (rules 4 and 5)

void HwRedo::keep(Line line, const LineData& data, std::uint64_t order) {
  Cached& cached = cached_[line];
  if (cached.dirty) {
    --region(cached.order).not_in_place;
    ++statistics_.filtered_writes;
  }
  ++statistics_.kept_lines;
  cached.data = data;
  cached.order = order;
  cached.dirty = true;
  ++region(order).not_in_place;
}

void HwRedo::write_to_dram_cache(Line line, Completion arrived) {
  ++statistics_.dram_cache_writes;
  context_->dram.write({.line = line, .data = {}, .persisted = arrived, .written = {}});
}

void HwRedo::committed_lines_arrive(std::uint64_t order, Time) {
  if (parameters_.in_place == InPlaceUpdate::kEager) {
    if (order < first_order_) return;  // later regions have taken over all of its lines
    for (const Line line : region(order).lines) write_in_place(line);
    return;
  }
  constexpr std::uint64_t kRegionsAtOnce = 2;  // so that in-place writes keep up with commits
  if (log_.nearly_full() || cached_.size() * kLineBytes > parameters_.dram_cache_size.count) {
    write_oldest(std::max(written_up_to_, first_order_ - 1) + kRegionsAtOnce);
  }
  for (const WaitingFlush& flush : flushes_) write_for(flush);
}

// Writes the lines of the oldest regions in place, up to this region at most (lazy).
void HwRedo::write_oldest(std::uint64_t up_to) {
  up_to = std::min(up_to, first_order_ + regions_.size() - 1);
  for (std::uint64_t order = std::max(written_up_to_ + 1, first_order_); order <= up_to; ++order) {
    if (!region(order).committed) return;
    written_up_to_ = order;
    for (const Line line : region(order).lines) write_in_place(line);
  }
}

void HwRedo::write_in_place(Line line) {
  Cached* const found = cached_.find(line);
  if (found == nullptr || !found->dirty || found->in_flight) return;
  Cached& cached = *found;
  cached.dirty = false;
  cached.in_flight = true;
  cached.order_in_flight = cached.order;
  ++statistics_.in_place_writes;
  context_->pm.write({.line = line,
                      .kind = WriteKind::kData,
                      .owner = 0,
                      .data = cached.data,
                      .persisted = completion<&HwRedo::written_in_place>(*this, line.number),
                      .written = {}});
}

void HwRedo::written_in_place(std::uint64_t number, Time now) {
  Cached& cached = *cached_.find({number});
  cached.in_flight = false;
  --region(cached.order_in_flight).not_in_place;
  if (!cached.dirty) {
    cached_.erase({number});
  } else if (parameters_.in_place == InPlaceUpdate::kEager || cached.order <= written_up_to_) {
    write_in_place({number});
  }
  release(now);
}

// Rule 5 (hw_redo.hpp).
void HwRedo::release(Time now) {
  std::uint64_t held = 0;  // bit mask of cores with an older region that isn't in place
  for (Region& region : regions_) {
    if (region.released) continue;
    const std::uint64_t core = std::uint64_t{1} << region.core;
    if (region.committed && region.not_in_place == 0 && (held & core) == 0) {
      release(region);
    } else if (parameters_.commit_order == CommitOrder::kGlobal) {
      break;
    } else {
      held |= core;
    }
  }
  while (!regions_.empty() && regions_.front().released) {
    for (const Line line : regions_.front().lines) {
      if (*logged_.find(line) == first_order_) logged_.erase(line);
    }
    regions_.pop_front();
    ++first_order_;
  }
  resume_flushes(now);
}

void HwRedo::resume_flushes(Time now) {
  if (flushes_.empty()) return;
  // The calls follow the loop: a core that resumes may add its next flush to the list.
  std::vector<Completion> resumed;
  std::erase_if(flushes_, [&](const WaitingFlush& flush) {
    if (!may_flush(flush.core, flush.line)) return false;
    resumed.push_back(flush.resume);
    return true;
  });
  for (const Completion& resume : resumed) resume(now);
}

void HwRedo::release(Region& region) {
  region.released = true;
  cores_[region.core].in_place = region.number;
  context_->pm.survivors_changed();
  log_.release(region.log, false);
}

void HwRedo::drain() { write_oldest(first_order_ + regions_.size() - 1); }

HwRedo::Survivors HwRedo::survivors() const {
  Survivors all{{}, {}, parameters_.commit_order, log_.survivors()};
  for (const PerCore& core : cores_) {
    all.committed.push_back(core.committed);
    all.in_place.push_back(core.in_place);
  }
  return all;
}

void HwRedo::statistics(StatisticsCollector& collector) const {
  collector.group("hw_redo", statistics_);
  log_.statistics(collector);
}

std::string HwRedo::pending() const {
  return sentences(cores_.size(), [this](std::size_t core) -> std::string {
    const std::string number = std::to_string(core);
    if (cores_[core].waiting) return "the region of core " + number + " is waiting to commit";
    const bool flushes = std::any_of(flushes_.begin(), flushes_.end(),
                                     [&](const auto& flush) { return flush.core == core; });
    return flushes ? "core " + number + " flushes a line that another region holds" : "";
  });
}

Storage HwRedo::storage(const HwRedoParameters& parameters, const HardwareLogParameters& log,
                        const Chip& chip) {
  const std::uint64_t lines = parameters.log_buffer_entries;
  Storage storage{{
      {.name = "log buffer, a core",
       .formula = fmt::format("{} x ({} B address + {} B line)", lines, kAddressBytes, kLineBytes),
       .bytes = static_cast<double>(lines * (kAddressBytes + kLineBytes)),
       .count = chip.cores,
       .source = "ReDU: log buffer"},
      {.name = "registers of the last regions committed and released, a core",
       .formula = fmt::format("2 x {} B", kRegisterBytes),
       .bytes = 2 * kRegisterBytes,
       .count = chip.cores,
       .source = "what survives a crash"},
  }};
  storage.add(HardwareLog::storage(log, chip));
  return storage;
}

}  // namespace pmemsim
