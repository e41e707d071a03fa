#include "pmemsim/designs/ordering/hops.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "pmemsim/common/relations.hpp"
#include "pmemsim/common/sentences.hpp"
#include "pmemsim/designs/ordering/persist_buffer_storage.hpp"

namespace pmemsim {
template <class Visitor>
void HopsOrdering::Statistics::describe(Visitor& visit) const {
  visit("stores", stores, "stores", "Stores that entered persist buffers");
  visit("coalesced", coalesced, "stores", "Stores that coalesced with an entry of a persist buffer",
        share_of("stores"));
  visit("flushes", flushes, "writes", "Entries written to PM", share_of("stores"),
        origin_of("received.data_writes"));
  visit("epochs", epochs, "epochs", "Epochs that ended");
  visit("dependences", dependences, "dependences",
        "Dependences of epochs on epochs of other cores");
  visit("dfences", dfences, "fences", "dfences whose persist buffer was not empty",
        part_of("core.fences"));
  visit("full", full, "stores", "Stores that stalled because their persist buffer was full",
        part_of("stores"));
  visit("filtered_reads", filtered_reads, "reads",
        "Reads of PM that stalled because of the Bloom filter", part_of("shared.pm_reads"));
  visit("falsely_filtered_reads", falsely_filtered_reads, "reads",
        "Reads of PM stalled by the Bloom filter although their line was in no persist buffer",
        part_of("filtered_reads"));
  visit("stale_reads", stale_reads, "reads", "Reads of PM that returned stale data",
        part_of("shared.pm_reads"));
}

HopsOrdering::HopsOrdering(std::uint32_t cores, const HopsParameters& parameters)
    : parameters_(parameters),
      cores_(cores),
      path_(parameters.path_latency),
      filter_(parameters.filter_size.count * 8) {}

void HopsOrdering::connect(const LayerContext& context) {
  context_.emplace(context);
  path_.connect(context);
  stale_.connect(context);
  cycle_ = context.clock.duration(cycles(1));
  filter_latency_ = context.clock.duration(parameters_.filter_latency);
  flush_interval_ = context.clock.duration(parameters_.flush_interval);
}

// Flushes, and the code that finds out what to flush, aren't part of the program.
Lowering HopsOrdering::lowering() const {
  Lowering lowering;
  lowering.keeps_flushes.fill(false);
  lowering.keeps_the_rest[static_cast<std::size_t>(trace::Purpose::kDataFlush)] = false;
  lowering.keeps_non_temporal = false;
  lowering.own_fences = true;
  return lowering;
}

bool HopsOrdering::store(const Store& store, Time, Completion resume) {
  PerCore& core = cores_[store.core];
  core.leaving = LeavingStore(store);
  if (may_store(core)) return true;
  statistics_.full += !core.durable;
  core.waiting = resume;
  begin_flushing(store.core);
  return false;
}

// Rules 1 and 2 (hops.hpp).
bool HopsOrdering::may_store(const PerCore& core) const {
  return !core.durable && core.in_use < parameters_.buffer_entries;
}

void HopsOrdering::visible(CoreId core, Line line) {
  stale_.stored(line, cores_[core].leaving.bytes());
  enter(core, cores_[core].leaving);
}

// Rule 1 (hops.hpp).
void HopsOrdering::enter(CoreId number, const LeavingStore& store) {
  PerCore& core = cores_[number];
  const Line line = store.line();
  depend_on_last_writer(number, line);
  ++statistics_.stores;
  const EpochNumber present = core.present();
  auto entry = std::find_if(core.entries.rbegin(), core.entries.rend(), [&](const Entry& other) {
    return other.epoch != present || other.line == line;
  });
  if (entry != core.entries.rend() && entry->epoch == present && !entry->sent) {
    ++statistics_.coalesced;
  } else {
    if (core.in_use++ == 0) begin_interval(number);
    core.entries.push_back({.line = line, .epoch = present});
    entry = core.entries.rbegin();
    ++core.epochs.back().entries;
    filter_.insert(line);
    log_occupancy(number);
    EpochId* const writer = last_writers_.find(line);
    (writer != nullptr ? *writer : last_writers_.insert(line)) = {number, present};
  }
  entry->bytes |= store.bytes();
  store.copy_to(entry->data);
  // Rule 3 (hops.hpp).
  if (core.in_use >= parameters_.flush_threshold || !filtered_.empty()) begin_flushing(number);
  if (core.flushing) flush_oldest_epoch(number);
}

void HopsOrdering::log_occupancy(CoreId core) const {
  context_->program_events.log_occupancy(core, LoggedStructure::kPersistBuffer,
                                         cores_[core].in_use);
}

// Rule 4 (hops.hpp).
void HopsOrdering::depend_on_last_writer(CoreId core, Line line) {
  const EpochId* const writer = last_writers_.find(line);
  if (writer == nullptr || writer->core == core || parameters_.faults.dependences) return;
  const EpochId last = *writer;
  PerCore& other = cores_[last.core];
  for (const EpochId& known : cores_[core].epochs.back().after) {
    if (known.core == last.core && known.epoch >= last.epoch) return;
  }
  if (last.epoch == other.present()) end_epoch(last.core);
  begin_flushing(last.core);
  ++statistics_.dependences;
  end_epoch(core);
  cores_[core].epochs.back().after.push_back(last);
}

void HopsOrdering::load(const Load& load, Time) {
  depend_on_last_writer(load.core, load.line());
  stale_.loaded(load, load.region);
}

void HopsOrdering::end_epoch(CoreId number) {
  PerCore& core = cores_[number];
  if (core.epochs.back().entries == 0 && core.epochs.back().after.empty()) return;
  ++statistics_.epochs;
  core.epochs.emplace_back();
}

// Rule 2 (hops.hpp).
bool HopsOrdering::fence(const Fence& fence, Time, Completion resume) {
  PerCore& core = cores_[fence.core];
  const bool dfence = fence.meaning != trace::FenceMeaning::kOrder;
  const bool flushes = dfence || parameters_.ofence == Ofence::kFlushes;
  end_epoch(fence.core);
  if (core.in_use > 0 && flushes) begin_flushing(fence.core);
  epochs_persist(fence.core);
  const bool over = core.persisted + 1 == core.present();
  if (over || (dfence && parameters_.faults.dfence)) {
    context_->program_events.fence_fulfilled(fence.core, fence.number);
    return true;
  }
  core.fences.push_back({core.present() - 1, fence.number});
  core.durable = core.durable || dfence;
  statistics_.dfences += dfence;
  if (!dfence || parameters_.dfence_stops == DurableFence::kStopsPmStores) return true;
  core.waiting = resume;
  return false;
}

// Rule 8 (hops.hpp).
bool HopsOrdering::region_end(CoreId number, std::uint64_t region, Time, Completion) {
  PerCore& core = cores_[number];
  if (core.durable) {
    core.ended.push_back(region);
  } else {
    context_->program_events.region_durable(number, region);
  }
  return true;
}

bool HopsOrdering::release(CoreId core, Time, Completion resume) {
  if (!cores_[core].durable) return true;
  cores_[core].waiting = resume;
  return false;
}

// Rule 3 (hops.hpp).
void HopsOrdering::begin_flushing(CoreId core) {
  if (std::exchange(cores_[core].flushing, true)) return;
  flush_oldest_epoch(core);
}

void HopsOrdering::begin_interval(CoreId core) {
  cores_[core].flushes_at = context_->queue.now() + flush_interval_;
  context_->queue.schedule(cores_[core].flushes_at, Phase::kController,
                           completion<&HopsOrdering::interval_elapsed>(*this, core));
}

void HopsOrdering::interval_elapsed(std::uint64_t core, Time now) {
  if (cores_[core].flushes_at == now && cores_[core].in_use > 0) {
    begin_flushing(static_cast<CoreId>(core));
  }
}

void HopsOrdering::flush_oldest_epoch(CoreId number) {
  PerCore& core = cores_[number];
  if (core.in_use == 0) {
    core.flushing = false;
    return;
  }
  const bool any = parameters_.faults.epochs;
  // An epoch that was ended without entries, because of its dependence, gets no acknowledgement.
  if (!any && core.epochs.front().entries == 0 && epochs_persist(number)) return;
  if (!any && !may_send(number, core.epochs.front())) return;
  if (any) {
    for (std::size_t index = core.entries.size(); index-- > 0;) send(number, index);
    return;
  }
  while (core.unsent < core.freed + core.entries.size()) {
    const std::size_t index = core.unsent - core.freed;
    if (core.entries[index].epoch != core.persisted + 1) break;
    ++core.unsent;
    send(number, index);
  }
}

void HopsOrdering::send(CoreId number, std::size_t index) {
  PerCore& core = cores_[number];
  Entry& entry = core.entries[index];
  if (std::exchange(entry.sent, true)) return;
  ++statistics_.flushes;
  core.departs = context_->queue.now_or_later(core.departs);
  path_.send({.line = entry.line,
              .data = entry.data,
              .persisted = {},
              .written = {},
              .bytes = entry.bytes},
             core.departs,
             completion<&HopsOrdering::acknowledged>(
                 *this, std::uint64_t{number} << kCoreShift | (core.freed + index)));
  core.departs += cycle_;
}

// Rule 4 (hops.hpp). True if the last poll found all epochs persistent that this one depends on.
bool HopsOrdering::may_send(CoreId number, Epoch& epoch) {
  const Picoseconds interval = parameters_.poll_interval;
  const Time polled{context_->queue.now().count / interval.count * interval.count};
  std::erase_if(epoch.after, [&](const EpochId& earlier) {
    const std::deque<Published>& published = cores_[earlier.core].published;
    return std::ranges::any_of(published, [&](const Published& known) {
      return known.epoch >= earlier.epoch && known.when <= polled;
    });
  });
  if (epoch.after.empty()) return true;
  cores_[number].awaits_epoch = true;
  const bool published = std::ranges::any_of(epoch.after, [&](const EpochId& earlier) {
    return cores_[earlier.core].persisted >= earlier.epoch;
  });
  if (published) schedule_poll(number);
  return false;
}

// Schedules the next poll of a core. Polls that would find nothing new are not simulated, so that
// their number is at most the number of epochs.
void HopsOrdering::schedule_poll(CoreId number) {
  if (std::exchange(cores_[number].poll_scheduled, true)) return;
  const Picoseconds interval = parameters_.poll_interval;
  const Time last{context_->queue.now().count / interval.count * interval.count};
  context_->queue.schedule(last + interval, Phase::kController,
                           completion<&HopsOrdering::poll>(*this, number));
}

void HopsOrdering::poll(std::uint64_t number, Time) {
  const auto core = static_cast<CoreId>(number);
  cores_[core].poll_scheduled = cores_[core].awaits_epoch = false;
  epochs_persist(core);
  if (cores_[core].flushing) flush_oldest_epoch(core);
  wake(core);
}

void HopsOrdering::acknowledged(std::uint64_t core_and_entry, Time) {
  const auto number = static_cast<CoreId>(core_and_entry >> kCoreShift);
  PerCore& core = cores_[number];
  const std::uint64_t index = (core_and_entry & ((1ull << kCoreShift) - 1)) - core.freed;
  Entry& entry = core.entries[index];
  const Line line = entry.line;
  entry.acknowledged = true;
  --core.in_use;
  log_occupancy(number);
  --core.epoch(entry.epoch).entries;
  const EpochNumber epoch = entry.epoch;
  while (!core.entries.empty() && core.entries.front().acknowledged) {
    core.entries.pop_front();
    ++core.freed;
  }
  filter_.remove(line);
  const EpochId* const writer = last_writers_.find(line);
  if (writer != nullptr && writer->core == number && writer->epoch == epoch &&
      !in_buffer(core, line)) {
    last_writers_.erase(line);
  }
  epochs_persist(number);
  if (core.flushing) flush_oldest_epoch(number);
  for (const std::uint32_t slot : std::exchange(filtered_, {})) read_if_not_filtered(slot);
  wake(number);
}

bool HopsOrdering::in_buffer(const PerCore& core, Line line) {
  return std::ranges::any_of(core.entries, [line](const Entry& entry) {
    return entry.line == line && !entry.acknowledged;
  });
}

// Marks the oldest epochs without remaining entries as persistent, and flushes the next one. False
// if there is no such epoch.
bool HopsOrdering::epochs_persist(CoreId number) {
  PerCore& core = cores_[number];
  const EpochNumber before = core.persisted;
  while (core.epochs.size() > 1 && core.epochs.front().entries == 0 &&
         may_send(number, core.epochs.front())) {
    core.epochs.pop_front();
    ++core.persisted;
  }
  if (core.persisted == before) return false;
  const Time now = context_->queue.now();
  // Keeps only the latest of the epochs that persisted before the last poll.
  while (core.published.size() > 1 && core.published[1].when + parameters_.poll_interval <= now) {
    core.published.pop_front();
  }
  core.published.push_back({core.persisted, now});
  for (CoreId other = 0; other < cores_.size(); ++other) {
    if (cores_[other].awaits_epoch) schedule_poll(other);
  }
  while (!core.fences.empty() && core.fences.front().until <= core.persisted) {
    context_->program_events.fence_fulfilled(number, core.fences.front().number);
    core.fences.pop_front();
  }
  if (core.durable && core.fences.empty()) dfence_completed(number);
  if (core.flushing) flush_oldest_epoch(number);
  return true;
}

void HopsOrdering::dfence_completed(CoreId number) {
  PerCore& core = cores_[number];
  core.durable = false;
  for (const std::uint64_t region : std::exchange(core.ended, {})) {
    context_->program_events.region_durable(number, region);
  }
}

// Resumes the stalled operation at the head of the store queue, if it may continue.
void HopsOrdering::wake(CoreId number) {
  PerCore& core = cores_[number];
  if (core.waiting && may_store(core)) std::exchange(core.waiting, {})(context_->queue.now());
}

// Rule 6 (hops.hpp).
bool HopsOrdering::fetch(CoreId, Line line, Time when, Completion done) {
  const std::uint32_t slot = reads_.take();
  reads_[slot] = {line, done};
  context_->queue.schedule(when + filter_latency_, Phase::kController,
                           completion<&HopsOrdering::look_up>(*this, slot));
  return true;
}

void HopsOrdering::look_up(std::uint64_t number, Time) {
  const auto slot = static_cast<std::uint32_t>(number);
  const Line line = reads_[slot].line;
  read_if_not_filtered(slot);
  if (filtered_.empty() || filtered_.back() != slot) return;
  ++statistics_.filtered_reads;
  statistics_.falsely_filtered_reads += last_writers_.find(line) == nullptr;
  for (CoreId core = 0; core < cores_.size(); ++core) begin_flushing(core);
}

void HopsOrdering::read_if_not_filtered(std::uint32_t slot) {
  const auto [line, done] = reads_[slot];
  if (!parameters_.faults.filter && filter_.contains(line)) {
    filtered_.push_back(slot);
    return;
  }
  reads_.release(slot);
  statistics_.stale_reads += stale_.read(line, context_->pm.newest(line));
  context_->pm.read(line, done);
}

void HopsOrdering::statistics(StatisticsCollector& collector) const {
  collector.group("hops", statistics_);
}

std::string HopsOrdering::pending() const {
  return sentences(cores_.size(), [this](std::size_t core) {
    const std::uint32_t entries = cores_[core].in_use;
    return entries == 0 ? ""
                        : std::to_string(entries) + " entries in the persist buffer of core " +
                              std::to_string(core);
  });
}

Storage HopsOrdering::storage(const HopsParameters& parameters, const Chip& chip) {
  constexpr std::uint64_t kStampBits = 32;
  return {{
      persist_buffer(parameters.buffer_entries, chip.cores * kStampBits, "time stamps", chip),
      {.name = "time stamps, a core",
       .formula = fmt::format("{} x {} bit", chip.cores, kStampBits),
       .bytes = in_bytes(chip.cores * kStampBits),
       .count = chip.cores,
       .source = "which epochs of others have persisted"},
      {.name = "sticky bits",
       .formula = fmt::format("1 bit a line of the caches ({})", chip.cache_lines),
       .bytes = in_bytes(chip.cache_lines),
       .count = 1,
       .source = "PMEM-Spec, 3.1"},
      {.name = "Bloom filter, a channel",
       .formula = format_value(parameters.filter_size),
       .bytes = static_cast<double>(parameters.filter_size.count),
       .count = chip.channels,
       .source = "PMEM-Spec, 5.1.1"},
  }};
}

}  // namespace pmemsim
