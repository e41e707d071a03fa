#include "pmemsim/designs/atomicity/asap.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "pmemsim/designs/interface/pm_space.hpp"
#include "pmemsim/designs/interface/program_events.hpp"

namespace pmemsim {
namespace {

template <class List, class Value>
bool contains(const List& list, const Value& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

}  // namespace

Asap::Asap(const HardwareLog::Shape& shape, const AsapParameters& parameters,
           const HardwareLogParameters& log)
    : parameters_(parameters),
      cores_(shape.cores),
      log_(shape, log),
      regions_(parameters, shape.cores, shape.channels),
      owners_(shape.channels, parameters.filter_size) {}

void Asap::connect(const LayerContext& context) {
  context_.emplace(context);
  port_.connect(context);
  log_.connect(context);
  owners_.connect(context);
  log_.on_header_space(completion<&Asap::header_space_freed>(*this));
}

Lowering Asap::lowering() const {
  using enum trace::Purpose;
  return Lowering::without({kLog, kDataFlush, kCommit});
}

Asap::Rid Asap::rid(CoreId core, std::uint64_t region) { return region_id(core, region); }

std::uint32_t Asap::operation(const Operation& about) {
  const std::uint32_t slot = operations_.take();
  operations_[slot] = about;
  return slot;
}

Asap::Operation Asap::take(std::uint64_t operation) {
  const auto slot = static_cast<std::uint32_t>(operation);
  operations_.release(slot);
  return operations_[slot];
}

// ---- Requests of the cores: each is retried, when something has become free, until it succeeds

bool Asap::region_begin(CoreId core, std::uint64_t region, Time, Completion resume) {
  cores_[core].number = region;
  return try_begin(core) || block(core, Blocked::kBegin, resume);
}

bool Asap::store(const Store& store, Time, Completion resume) {
  if (store.region == 0) return true;
  make_visible(store.core);
  PerCore& core = cores_[store.core];
  core.line = store.line();
  core.offset = static_cast<std::uint32_t>(store.address % kLineBytes);
  core.size = store.size;
  std::copy_n(store.value, store.size, core.value.begin());
  return try_store(store.core) || block(store.core, Blocked::kStore, resume);
}

bool Asap::region_end(CoreId core, std::uint64_t, Time when, Completion resume) {
  make_visible(core);
  if (!try_end(core, when)) return block(core, Blocked::kEnd, resume);
  return !parameters_.fence_every_region || fence_regions(core, when, resume);
}

// Marks the core's previous store visible, and starts its data persist operation if that is due.
void Asap::make_visible(CoreId core) {
  cores_[core].storing = false;
  AsapRegion* region = regions_.active(cores_[core].latest);
  if (region == nullptr) return;
  for (AsapSlot& slot : region->slots) {
    if (std::exchange(slot.invisible, false) && slot.due) start_dpo(*region, slot);
  }
}

// A core's regions commit in program order, so the last one that has ended commits last.
bool Asap::fence_regions(CoreId number, Time, Completion resume) {
  PerCore& core = cores_[number];
  const std::deque<AsapRegion>& regions = regions_.of(number);
  const auto ended = std::find_if(regions.rbegin(), regions.rend(),
                                  [](const AsapRegion& region) { return region.ended; });
  if (parameters_.faults.fence || ended == regions.rend() || ended->committed) return true;
  core.fence = ended->rid();
  core.fence_resume = resume;
  return false;
}

bool Asap::flush(CoreId core, Line line, Time, Completion resume) {
  make_visible(core);
  cores_[core].flushed = line;
  if (parameters_.faults.flush || may_flush(core)) return true;
  ++statistics_.delayed_flushes;
  return block(core, Blocked::kFlush, resume);
}

bool Asap::may_flush(CoreId number) const {
  const PerCore& core = cores_[number];
  const auto tag = tags_.find(core.flushed.number);
  if (tag != tags_.end() && tag->second.locks > 0) return false;
  bool free = true;
  regions_.for_each([&](const AsapRegion& region) {
    if (region.rid() != core.latest || region.ended) {
      free = free && !(contains(region.lines, core.flushed) && regions_.will_commit(region.rid()));
    } else {
      free =
          free && std::none_of(region.slots.begin(), region.slots.end(), [&](const AsapSlot& slot) {
            return slot.line == core.flushed && slot.in_flight > 0;
          });
    }
  });
  return free;
}

// ASAP, 5.7. Data persist operations of ended regions are in flight already.
bool Asap::context_switch(CoreId core, Time, Completion resume) {
  make_visible(core);
  if (AsapRegion* region = regions_.active(cores_[core].latest)) {
    for (AsapSlot& slot : region->slots) start_dpo(*region, slot);
  }
  return may_switch(core) || block(core, Blocked::kSwitch, resume);
}

bool Asap::may_switch(CoreId core) const {
  const std::deque<AsapRegion>& regions = regions_.of(core);
  return std::all_of(regions.begin(), regions.end(),
                     [](const AsapRegion& region) { return region.slots.empty(); });
}

bool Asap::block(CoreId core, Blocked why, Completion resume) {
  cores_[core].blocked = why;
  cores_[core].resume = resume;
  ++blocked_;
  return false;
}

void Asap::retry(Time now) {
  for (CoreId number = 0; blocked_ > 0 && number < cores_.size(); ++number) {
    PerCore& core = cores_[number];
    bool works = false;
    switch (core.blocked) {
      case Blocked::kNo:
        continue;
      case Blocked::kBegin:
        works = try_begin(number);
        break;
      case Blocked::kStore:
        works = try_store(number);
        break;
      case Blocked::kEnd:
        works = try_end(number, now);
        break;
      case Blocked::kFlush:
        works = may_flush(number);
        break;
      case Blocked::kSwitch:
        works = may_switch(number);
        break;
    }
    if (!works) continue;
    const bool ended = std::exchange(core.blocked, Blocked::kNo) == Blocked::kEnd;
    --blocked_;
    if (ended && parameters_.fence_every_region && !fence_regions(number, now, core.resume)) {
      continue;
    }
    core.resume(now);
  }
}

// ---- Beginning a region (4.5)

bool Asap::try_begin(CoreId number) {
  PerCore& core = cores_[number];
  switch (regions_.full_list(number, core.number)) {
    case AsapRegions::List::kNone:
      break;
    case AsapRegions::List::kClList:
      core.full = "asap.cl_entries";
      statistics_.cl_stalls += core.blocked == Blocked::kNo;
      return false;
    case AsapRegions::List::kDependenceList:
      core.full = "asap.dependence_entries";
      statistics_.dependence_stalls += core.blocked == Blocked::kNo;
      return false;
  }
  const Rid previous = core.latest;
  const Rid self = core.latest = rid(number, core.number);
  AsapRegion& region = regions_.begin(number, core.number);
  statistics_.most_uncommitted = std::max(statistics_.most_uncommitted, regions_.count());
  depend(region, previous, statistics_.control_dependences);
  for (const auto& [reader, owner] : core.early) {
    if (reader == self) depend(region, owner, statistics_.data_dependences);
  }
  std::erase_if(core.early, [self](const auto& early) { return early.first <= self; });
  return true;
}

void Asap::depend(AsapRegion& region, Rid on, std::uint64_t& counter) {
  const AsapRegions::Dependence dependence = regions_.depend(region, on);
  statistics_.cycles += dependence == AsapRegions::Dependence::kWouldBeCycle;
  if (dependence != AsapRegions::Dependence::kAdded) return;
  context_->pm.survivors_changed();
  ++counter;
}

// ---- Accesses (4.6)

void Asap::load(const Load& load, Time) {
  if (load.region == 0 || parameters_.faults.loads) return;
  const auto found = tags_.find(load.line().number);
  if (found == tags_.end()) return;
  const Rid self = rid(load.core, load.region);
  if (AsapRegion* reader = regions_.active(self)) {
    depend(*reader, found->second.owner, statistics_.data_dependences);
  } else if (self >
             cores_[load.core].latest) {  // the load retired before its region's begin took effect
    cores_[load.core].early.emplace_back(self, found->second.owner);
  }
}

bool Asap::try_store(CoreId number) {
  PerCore& core = cores_[number];
  const Rid self = core.latest;
  AsapRegion& region = *regions_.active(self);
  const auto stall = [&](std::uint64_t& counter, std::string_view full = {}) {
    core.full = full;
    counter += core.blocked == Blocked::kNo;
    return false;
  };
  const auto tagged = tags_.find(core.line.number);
  const Rid owner = tagged == tags_.end() ? 0 : tagged->second.owner;
  const bool first = owner != self;
  if (first && !parameters_.faults.lock_wait && tagged != tags_.end() && tagged->second.locks > 0) {
    return stall(statistics_.lock_stalls);
  }
  const bool depends =
      first && regions_.active(owner) != nullptr && !contains(region.dependences, owner);
  if (regions_.must_wait(region, depends)) return stall(statistics_.dependence_stalls);
  const bool listed = std::any_of(region.slots.begin(), region.slots.end(),
                                  [&](const AsapSlot& s) { return s.line == core.line; });
  if (!listed && region.slots.size() == parameters_.cl_slots) {
    // With fewer slots than the distance, no operation would ever start.
    const bool none_started =
        std::none_of(region.slots.begin(), region.slots.end(),
                     [](const AsapSlot& s) { return s.in_flight > 0 || s.due; });
    if (none_started) start_dpo(region, region.slots.front());
    return stall(statistics_.slot_stalls);
  }
  if (first) {
    if (!region.log) region.log = log_.open(region.core, region.number, {});
    if (!log_.has_header_space(*region.log)) {
      return stall(statistics_.lh_wpq_stalls, "asap.lh_wpq_entries");
    }
    depend(region, owner, statistics_.data_dependences);
    Tag& tag = tags_[core.line.number];
    tag.owner = self;
    log(core, region, tag);
  }
  if (!listed) region.slots.push_back({.line = core.line});
  for (AsapSlot& slot : region.slots) written(region, slot, core.line);
  core.storing = true;
  return true;
}

// Records the region's write of a line, either the slot's own or another one, in the slot.
void Asap::written(AsapRegion& region, AsapSlot& slot, Line line) {
  if (slot.line != line) {
    if (++slot.distance >= parameters_.dpo_distance) start_dpo(region, slot);
    return;
  }
  slot.distance = 0;
  slot.invisible = slot.wanted = true;
  if (!parameters_.dpo_coalescing) slot.due = true;
}

// ASAP, 4.6.1: sends the old value to the log while the store continues.
void Asap::log(const PerCore& core, AsapRegion& region, Tag& tag) {
  region.lines.push_back(core.line);
  tag.locks += !parameters_.faults.lock_bit;
  ++region.outstanding;
  ++statistics_.lpos;
  const Operation about{region.rid(), core.line};
  log_.append(*region.log, core.line, old_value(core),
              completion<&Asap::lpo_acknowledged>(*this, operation(about)),
              completion<&Asap::lpo_persisted>(*this, operation(about)));
}

// Returns the old contents of the line that the core is about to write. They include stores of
// other cores that are allowed but haven't reached the cache yet. (This occurs only with false
// sharing. Without these stores, undoing or keeping one region would change the other's bytes.)
LineData Asap::old_value(const PerCore& writer) const {
  LineData old = context_->pm_space.newest().read(writer.line);
  for (const PerCore& core : cores_) {
    if (!core.storing || core.line != writer.line || &core == &writer) continue;
    std::copy_n(core.value.begin(), core.size, old.begin() + core.offset);
  }
  return old;
}

// At the controller: drops the data write of an earlier region to the line, which isn't needed any
// more (ASAP, 5.1).
void Asap::lpo_persisted(std::uint64_t number, Time) {
  const Operation about = take(number);
  if (parameters_.dpo_dropping) drop_data(about);
}

// ASAP, 5.1: the log write has the same data as the earlier region's data write.
void Asap::drop_data(const Operation& logged) {
  WriteId id;
  if (!context_->pm.find(logged.line, WriteKind::kData, id)) return;
  const Rid owner = context_->pm.pending(id)->owner;
  if (owner == 0 || owner == logged.rid) return;
  // While the operation is unacknowledged, its write may not have been accepted yet.
  const AsapRegion* earlier = regions_.active(owner);
  const bool in_flight =
      earlier != nullptr &&
      std::any_of(earlier->slots.begin(), earlier->slots.end(), [&](const AsapSlot& slot) {
        return slot.line == logged.line && slot.in_flight > 0;
      });
  if (!in_flight && context_->pm.drop(id)) ++statistics_.dpos_dropped;
}

void Asap::lpo_acknowledged(std::uint64_t number, Time now) {
  const Operation about = operations_[static_cast<std::uint32_t>(number)];
  if (!parameters_.faults.lock_bit) unlock(*regions_.active(about.rid), about.line);
  outstanding_acknowledged(number, now);
  retry(now);
}

// Clears the LockBit, and starts the operations that it has delayed.
void Asap::unlock(AsapRegion& logger, Line line) {
  Tag& tag = tags_.at(line.number);
  if (--tag.locks > 0) return;
  if (std::exchange(tag.evicted, false)) {
    ++logger.outstanding;
    ++statistics_.late_evictions;
    port_.send(logger.core,
               {.line = line,
                .kind = WriteKind::kData,
                .owner = 0,
                .data = context_->pm_space.newest().read(line),
                .persisted = {},
                .written = {}},
               completion<&Asap::outstanding_acknowledged>(*this, operation({logger.rid(), line})));
  }
  if (!std::exchange(tag.awaited, false)) return;
  regions_.for_each([&](AsapRegion& region) {
    for (AsapSlot& slot : region.slots) {
      if (slot.line == line && slot.due) start_dpo(region, slot);
    }
  });
}

// ASAP, 4.6.2.
void Asap::start_dpo(AsapRegion& region, AsapSlot& slot) {
  if (!slot.wanted) return;
  const auto tag = tags_.find(slot.line.number);
  const bool locked = tag != tags_.end() && tag->second.locks > 0;
  if (locked) tag->second.awaited = true;
  if (slot.invisible || locked) {
    slot.due = true;
    return;
  }
  slot.wanted = slot.due = false;
  slot.distance = 0;
  ++slot.in_flight;
  ++statistics_.dpos;
  context_->caches.mark_clean(slot.line);
  const Rid self = region.rid();
  port_.send(region.core,
             {.line = slot.line,
              .kind = WriteKind::kData,
              .owner = self,
              .data = context_->pm_space.newest().read(slot.line),
              .persisted = {},
              .written = {}},
             completion<&Asap::dpo_acknowledged>(*this, operation({self, slot.line})));
}

void Asap::dpo_acknowledged(std::uint64_t number, Time now) {
  const Operation about = take(number);
  AsapRegion& region = *regions_.active(about.rid);
  const auto slot = std::find_if(region.slots.begin(), region.slots.end(),
                                 [&](const AsapSlot& s) { return s.line == about.line; });
  --slot->in_flight;
  if (slot->in_flight == 0 && !slot->wanted) region.slots.erase(slot);
  finish_lines(region, now);
  retry(now);
}

// ---- Lines that leave the shared cache, and are fetched again (5.3)

Eviction Asap::evicted(Line line, const LineData&, Time) {
  save_owner(line);
  const auto found = tags_.find(line.number);
  if (found == tags_.end() || found->second.locks == 0) return Eviction::kWrite;
  found->second.evicted = true;
  ++statistics_.delayed_evictions;
  return Eviction::kTaken;
}

void Asap::evicted_clean(Line line, Time) { save_owner(line); }

void Asap::save_owner(Line line) {
  const auto found = tags_.find(line.number);
  if (found == tags_.end() || regions_.active(found->second.owner) == nullptr) return;
  ++statistics_.owners_saved;
  owners_.save(line);
}

bool Asap::fetch(CoreId, Line line, Time, Completion done) {
  if (!owners_.may_have(line)) return false;
  ++statistics_.buffer_reads;
  const auto found = tags_.find(line.number);
  statistics_.buffer_reads_in_vain +=
      found == tags_.end() || regions_.active(found->second.owner) == nullptr;
  owners_.read_with_owner(line, done);
  return true;
}

// ---- Ending and committing (4.7, 4.8)

bool Asap::try_end(CoreId core, Time now) {
  AsapRegion& region = *regions_.active(cores_[core].latest);
  if (regions_.must_wait(region, 0)) {
    statistics_.dependence_stalls += cores_[core].blocked == Blocked::kNo;
    return false;
  }
  region.ended = true;
  region.ended_at = now;
  for (AsapSlot& slot : region.slots) start_dpo(region, slot);
  finish_lines(region, now);
  return true;
}

void Asap::outstanding_acknowledged(std::uint64_t number, Time now) {
  AsapRegion& region = *regions_.active(take(number).rid);
  --region.outstanding;
  finish_lines(region, now);
}

// Frees the CL List entry once all lines have persisted, and notifies the Dependence List.
void Asap::finish_lines(AsapRegion& region, Time now) {
  if (!region.ended || region.finished || region.outstanding > 0 || !region.slots.empty()) return;
  regions_.finish(region);
  context_->queue.schedule(now + context_->caches.core_to_controller(region.core),
                           Phase::kController,
                           completion<&Asap::lines_persisted>(*this, region.rid()));
}

void Asap::lines_persisted(std::uint64_t self, Time now) {
  AsapRegion& region = *regions_.active(self);
  region.persisted = true;
  if (parameters_.faults.lpo_dropping && region.log) log_.drop_entries(*region.log);
  std::vector<Rid> ready;
  if (region.dependences.empty()) ready.push_back(self);
  while (!ready.empty()) {
    const Rid next = ready.back();
    ready.pop_back();
    commit(next, now, ready);
  }
  retry(now);
}

// Adds to `ready` the regions that now depend on no other region.
void Asap::commit(Rid self, Time now, std::vector<Rid>& ready) {
  const AsapRegion region = regions_.commit(self);
  context_->program_events.region_durable(region.core, region.number);
  context_->pm.survivors_changed();
  ++statistics_.committed;
  statistics_.commit_delay += now - region.ended_at;
  if (region.log) log_.release(*region.log, parameters_.lpo_dropping);
  regions_.broadcast(self, ready);
  for (const Line line : region.lines) {
    const auto tag = tags_.find(line.number);
    if (tag != tags_.end() && tag->second.owner == self && tag->second.locks == 0) tags_.erase(tag);
  }
  if (regions_.count() == 0) owners_.clear();  // 5.3
  PerCore& core = cores_[region.core];
  if (core.fence == self) {
    core.fence = 0;
    std::exchange(core.fence_resume, {})(now);
  }
}

// ---- State visible from outside

Asap::Survivors Asap::survivors() const {
  Survivors all{{}, log_.survivors()};
  all.dependences.reserve(regions_.count());
  regions_.for_each([&](const AsapRegion& region) {
    all.dependences.emplace_back(region.rid(), region.dependences);
  });
  return all;
}

Asap::Snapshot Asap::snapshot() const {
  Snapshot all;
  regions_.for_each([&](const AsapRegion& region) {
    if (!region.finished) {
      ClEntry& entry = all.cl_list[region.rid()];
      entry.done = region.ended;
      for (const AsapSlot& slot : region.slots) entry.slots.push_back(slot.line);
    }
    all.dependence_list[region.rid()] = {region.persisted, region.channel, region.dependences};
  });
  for (const BufferedHeader& header : log_.survivors().headers) {
    all.lh_wpq[header.place] = LogHeader::of(header.header);
  }
  for (const auto& [line, tag] : tags_) all.tags[{line}] = {tag.owner, tag.locks > 0};
  return all;
}

void Asap::statistics(StatisticsCollector& collector) const {
  collector.group("asap", statistics_);
  log_.statistics(collector);
}

std::string Asap::pending() const {
  // Regions that depend on a region that the program has left unfinished don't commit.
  std::string text;
  for (std::size_t core = 0; core < cores_.size(); ++core) {
    if (cores_[core].blocked == Blocked::kNo) continue;
    text += "core " + std::to_string(core) + " waits for an entry of asap's lists; ";
  }
  std::size_t unfinished = 0;
  regions_.for_each(
      [&](const AsapRegion& region) { unfinished += regions_.will_commit(region.rid()); });
  if (unfinished > 0) {
    text += std::to_string(unfinished) + " regions have ended but not committed; ";
  }
  return text.substr(0, text.size() - std::min<std::size_t>(text.size(), 2));
}

// An ended region stays in the lists while a region that it depends on is in progress. This occurs,
// for example, if that region has released a lock before its end. It may in turn stall for a core
// that stalls because the list is full.
std::string Asap::remedy() const {
  for (const PerCore& core : cores_) {
    const bool waits = core.blocked == Blocked::kBegin || core.blocked == Blocked::kStore;
    if (!waits || core.full.empty()) continue;
    return "a list is full of regions that wait for a running one; choose a larger " +
           std::string(core.full);
  }
  return {};
}

// ---- Storage (section 6.2)

Storage Asap::storage(const AsapParameters& parameters, const Chip& chip) {
  constexpr std::uint64_t kPointerBits = 8, kStateBits = 2, kRidBits = 32;
  const std::uint64_t regions = parameters.cl_entries, slots = parameters.cl_slots;
  const std::uint64_t entries = parameters.dependence_entries, others = parameters.dependence_slots;
  return {{
      {.name = "CL List, a core",
       .formula = fmt::format("{} x ({} x {} bit CLPtr + {} bit state + {} bit RID)", regions,
                              slots, kPointerBits, kStateBits, kRidBits),
       .bytes = in_bytes(regions * (slots * kPointerBits + kStateBits + kRidBits)),
       .count = chip.cores,
       .source = "6.2",
       .printed = 49},
      {.name = "Dependence List, a channel",
       .formula = fmt::format("{} x ({} x {} bit Dep + {} bit state + {} bit RID)", entries, others,
                              kRidBits, kStateBits, kRidBits),
       .bytes = in_bytes(entries * (others * kRidBits + kStateBits + kRidBits)),
       .count = chip.channels,
       .source = "6.2"},
      header_queue("LH-WPQ, a channel", parameters.lh_wpq_entries, chip, "6.2"),
      {.name = "Bloom filter, a channel",
       .formula = format_value(parameters.filter_size),
       .bytes = static_cast<double>(parameters.filter_size.count),
       .count = chip.channels,
       .source = "5.3, Table 2"},
      {.name = "thread state registers, a thread",
       .formula = fmt::format("6 x {} B", kRegisterBytes),
       .bytes = 6 * kRegisterBytes,
       .count = chip.cores,
       .source = "4.4, 6.2"},
      {.name = "tag extension, a line of L1, L2 and L3",
       .formula = fmt::format("1 bit PBit + 1 bit LockBit + {} bit OwnerRID", kRidBits),
       .bytes = in_bytes(1 + 1 + kRidBits),
       .count = chip.cache_lines,
       .source = "4.3, 4.6, 5.6"},
  }};
}

}  // namespace pmemsim
