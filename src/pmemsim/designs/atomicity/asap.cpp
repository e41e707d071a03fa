#include "pmemsim/designs/atomicity/asap.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "pmemsim/designs/interface/pm_space.hpp"
#include "pmemsim/designs/interface/program_events.hpp"

namespace pmemsim {
namespace {

// Returns the DRAM location of an evicted line's owner (5.3), beyond all addresses that a program
// can have. The paper leaves the organisation of its "small buffer" open: here the line's number is
// the index, and an entry has 8 bytes (a tag and the RID's 4).
Line buffer_line(Line line) {
  constexpr std::uint64_t kBase = std::uint64_t{1} << 54, kEntries = 1u << 16, kEntryBytes = 8;
  return Line::of(kBase + line.number % kEntries * kEntryBytes);
}

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
      dependence_entries_(shape.channels),
      filters_(shape.channels, BloomFilter(parameters.filter_size)) {}

void Asap::connect(const LayerContext& context) {
  context_.emplace(context);
  port_.connect(context);
  log_.connect(context);
  log_.on_header_space(completion<&Asap::header_space_freed>(*this));
}

Lowering Asap::lowering() const {
  using enum trace::Purpose;
  return Lowering::without({kLog, kDataFlush, kCommit});
}

Asap::Rid Asap::rid(CoreId core, std::uint64_t region) { return region_id(core, region); }

Asap::Region* Asap::active(Rid rid) {
  std::deque<Region>& regions = cores_[core_of(rid)].regions;
  const std::uint64_t number = region_number(rid);
  if (regions.empty() || number < regions.front().number) return nullptr;
  const std::uint64_t at = number - regions.front().number;
  return at < regions.size() && !regions[at].committed ? &regions[at] : nullptr;
}
const Asap::Region* Asap::active(Rid rid) const { return const_cast<Asap*>(this)->active(rid); }

template <class Visit>
void Asap::for_each_active(Visit visit) {
  for (PerCore& core : cores_) {
    for (Region& region : core.regions) {
      if (!region.committed) visit(region);
    }
  }
}
template <class Visit>
void Asap::for_each_active(Visit visit) const {
  const_cast<Asap*>(this)->for_each_active([&](const Region& region) { visit(region); });
}

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
  Region* region = active(cores_[core].latest);
  if (region == nullptr) return;
  for (Slot& slot : region->slots) {
    if (std::exchange(slot.invisible, false) && slot.due) start_dpo(*region, slot);
  }
}

// A core's regions commit in program order, so the last one that has ended commits last.
bool Asap::fence_regions(CoreId number, Time, Completion resume) {
  PerCore& core = cores_[number];
  const auto ended = std::find_if(core.regions.rbegin(), core.regions.rend(),
                                  [](const Region& region) { return region.ended; });
  if (parameters_.faults.fence || ended == core.regions.rend() || ended->committed) return true;
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
  for_each_active([&](const Region& region) {
    if (region.rid() != core.latest || region.ended) {
      free = free && !(contains(region.lines, core.flushed) && will_commit(region.rid()));
    } else {
      free = free && std::none_of(region.slots.begin(), region.slots.end(), [&](const Slot& slot) {
               return slot.line == core.flushed && slot.in_flight > 0;
             });
    }
  });
  return free;
}

// ASAP, 5.7. Data persist operations of ended regions are in flight already.
bool Asap::context_switch(CoreId core, Time, Completion resume) {
  make_visible(core);
  if (Region* region = active(cores_[core].latest)) {
    for (Slot& slot : region->slots) start_dpo(*region, slot);
  }
  return may_switch(core) || block(core, Blocked::kSwitch, resume);
}

bool Asap::may_switch(CoreId core) const {
  const auto& regions = cores_[core].regions;
  return std::all_of(regions.begin(), regions.end(),
                     [](const Region& region) { return region.slots.empty(); });
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
  const auto channel = static_cast<std::uint32_t>(core.number % dependence_entries_.size());  // 5.6
  if (core.cl_entries == parameters_.cl_entries) {
    core.full = "asap.cl_entries";
    statistics_.cl_stalls += core.blocked == Blocked::kNo;
    return false;
  }
  if (dependence_entries_[channel] == parameters_.dependence_entries) {
    core.full = "asap.dependence_entries";
    statistics_.dependence_stalls += core.blocked == Blocked::kNo;
    return false;
  }
  const Rid previous = core.latest;
  const Rid self = core.latest = rid(number, core.number);
  ++core.cl_entries;
  ++dependence_entries_[channel];
  statistics_.most_uncommitted = std::max(statistics_.most_uncommitted, ++uncommitted_);
  Region& region = core.regions.emplace_back();
  region.core = number;
  region.number = core.number;
  region.channel = channel;
  depend(region, previous, statistics_.control_dependences);
  for (const auto& [reader, owner] : core.early) {
    if (reader == self) depend(region, owner, statistics_.data_dependences);
  }
  std::erase_if(core.early, [self](const auto& early) { return early.first <= self; });
  return true;
}

// True if the predicate holds for the region or for one that it depends on, directly or not. Each
// region is checked once: there may be very many paths between two regions.
template <class Predicate>
bool Asap::any_before(Rid rid, Predicate predicate) const {
  std::vector<Rid> found{rid};
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Region* region = active(found[i]);
    if (region == nullptr) continue;
    if (predicate(*region)) return true;
    for (const Rid on : region->dependences) {
      if (!contains(found, on)) found.push_back(on);
    }
  }
  return false;
}

bool Asap::will_commit(Rid rid) const {
  return !any_before(rid, [](const Region& region) { return !region.ended; });
}

// True if the Dep slots are full, and one of them will become free. A region that acquires locks
// inside could stall for a region that its own stall blocks. It therefore stalls only for regions
// that commit without further progress of any thread.
bool Asap::must_wait(const Region& region, std::size_t more) const {
  const auto& list = region.dependences;
  return list.size() + more > parameters_.dependence_slots &&
         std::any_of(list.begin(), list.end(), [this](Rid on) { return will_commit(on); });
}

void Asap::depend(Region& region, Rid on, std::uint64_t& counter) {
  Region* other = active(on);
  if (other == nullptr || other == &region || contains(region.dependences, on)) return;
  if (parameters_.faults.dependences) return;
  // Two regions that depend on each other would never commit.
  if (region.depended_on &&
      any_before(on, [&region](const Region& before) { return &before == &region; })) {
    ++statistics_.cycles;
    return;
  }
  other->depended_on = true;
  region.dependences.push_back(on);
  context_->pm.survivors_changed();
  ++counter;
}

// ---- Accesses (4.6)

void Asap::load(const Load& load, Time) {
  if (load.region == 0 || parameters_.faults.loads) return;
  const auto found = tags_.find(load.line().number);
  if (found == tags_.end()) return;
  const Rid self = rid(load.core, load.region);
  if (Region* reader = active(self)) {
    depend(*reader, found->second.owner, statistics_.data_dependences);
  } else if (self >
             cores_[load.core].latest) {  // the load retired before its region's begin took effect
    cores_[load.core].early.emplace_back(self, found->second.owner);
  }
}

bool Asap::try_store(CoreId number) {
  PerCore& core = cores_[number];
  const Rid self = core.latest;
  Region& region = *active(self);
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
  const bool depends = first && active(owner) != nullptr && !contains(region.dependences, owner);
  if (must_wait(region, depends)) return stall(statistics_.dependence_stalls);
  const bool listed = std::any_of(region.slots.begin(), region.slots.end(),
                                  [&](const Slot& s) { return s.line == core.line; });
  if (!listed && region.slots.size() == parameters_.cl_slots) {
    // With fewer slots than the distance, no operation would ever start.
    const bool none_started = std::none_of(region.slots.begin(), region.slots.end(),
                                           [](const Slot& s) { return s.in_flight > 0 || s.due; });
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
  for (Slot& slot : region.slots) written(region, slot, core.line);
  core.storing = true;
  return true;
}

// Records the region's write of a line, either the slot's own or another one, in the slot.
void Asap::written(Region& region, Slot& slot, Line line) {
  if (slot.line != line) {
    if (++slot.distance >= parameters_.dpo_distance) start_dpo(region, slot);
    return;
  }
  slot.distance = 0;
  slot.invisible = slot.wanted = true;
  if (!parameters_.dpo_coalescing) slot.due = true;
}

// ASAP, 4.6.1: sends the old value to the log while the store continues.
void Asap::log(const PerCore& core, Region& region, Tag& tag) {
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
  const Region* earlier = active(owner);
  const bool in_flight =
      earlier != nullptr &&
      std::any_of(earlier->slots.begin(), earlier->slots.end(),
                  [&](const Slot& slot) { return slot.line == logged.line && slot.in_flight > 0; });
  if (!in_flight && context_->pm.drop(id)) ++statistics_.dpos_dropped;
}

void Asap::lpo_acknowledged(std::uint64_t number, Time now) {
  const Operation about = operations_[static_cast<std::uint32_t>(number)];
  if (!parameters_.faults.lock_bit) unlock(*active(about.rid), about.line);
  outstanding_acknowledged(number, now);
  retry(now);
}

// Clears the LockBit, and starts the operations that it has delayed.
void Asap::unlock(Region& logger, Line line) {
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
  for_each_active([&](Region& region) {
    for (Slot& slot : region.slots) {
      if (slot.line == line && slot.due) start_dpo(region, slot);
    }
  });
}

// ASAP, 4.6.2.
void Asap::start_dpo(Region& region, Slot& slot) {
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
  Region& region = *active(about.rid);
  const auto slot = std::find_if(region.slots.begin(), region.slots.end(),
                                 [&](const Slot& s) { return s.line == about.line; });
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
  if (found == tags_.end() || active(found->second.owner) == nullptr) return;
  ++statistics_.owners_saved;
  filters_[context_->pm.channel_of(line)].insert(line);
  context_->dram.write({.line = buffer_line(line), .data = {}, .persisted = {}, .written = {}});
}

// Reads the buffer beside PM; the line and its owner are filled when both have answered.
bool Asap::fetch(CoreId, Line line, Time, Completion done) {
  if (!filters_[context_->pm.channel_of(line)].contains(line)) return false;
  ++statistics_.buffer_reads;
  const auto found = tags_.find(line.number);
  statistics_.buffer_reads_in_vain +=
      found == tags_.end() || active(found->second.owner) == nullptr;
  const std::uint32_t slot = fetches_.take();
  fetches_[slot] = {done, 2};
  context_->dram.read(buffer_line(line), completion<&Asap::fetched>(*this, slot));
  context_->pm.read(line, completion<&Asap::fetched>(*this, slot));
  return true;
}

void Asap::fetched(std::uint64_t number, Time now) {
  const auto slot = static_cast<std::uint32_t>(number);
  if (--fetches_[slot].unanswered > 0) return;
  fetches_.release(slot);
  fetches_[slot].done(now);
}

// ---- Ending and committing (4.7, 4.8)

bool Asap::try_end(CoreId core, Time now) {
  Region& region = *active(cores_[core].latest);
  if (must_wait(region, 0)) {
    statistics_.dependence_stalls += cores_[core].blocked == Blocked::kNo;
    return false;
  }
  region.ended = true;
  region.ended_at = now;
  for (Slot& slot : region.slots) start_dpo(region, slot);
  finish_lines(region, now);
  return true;
}

void Asap::outstanding_acknowledged(std::uint64_t number, Time now) {
  Region& region = *active(take(number).rid);
  --region.outstanding;
  finish_lines(region, now);
}

// Frees the CL List entry once all lines have persisted, and notifies the Dependence List.
void Asap::finish_lines(Region& region, Time now) {
  if (!region.ended || region.finished || region.outstanding > 0 || !region.slots.empty()) return;
  region.finished = true;
  --cores_[region.core].cl_entries;
  context_->queue.schedule(now + context_->caches.core_to_controller(region.core),
                           Phase::kController,
                           completion<&Asap::lines_persisted>(*this, region.rid()));
}

void Asap::lines_persisted(std::uint64_t self, Time now) {
  Region& region = *active(self);
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
  Region& own = *active(self);
  PerCore& core = cores_[own.core];
  own.committed = true;
  const Region region = std::move(own);
  while (!core.regions.empty() && core.regions.front().committed) core.regions.pop_front();
  context_->program_events.region_durable(region.core, region.number);
  context_->pm.survivors_changed();
  ++statistics_.committed;
  statistics_.commit_delay += now - region.ended_at;
  --dependence_entries_[region.channel];
  if (region.log) log_.release(*region.log, parameters_.lpo_dropping);
  for_each_active([&](Region& other) {  // the broadcast
    if (std::erase(other.dependences, self) == 0) return;
    if (other.persisted && other.dependences.empty()) ready.push_back(other.rid());
  });
  for (const Line line : region.lines) {
    const auto tag = tags_.find(line.number);
    if (tag != tags_.end() && tag->second.owner == self && tag->second.locks == 0) tags_.erase(tag);
  }
  // 5.3. All Dependence Lists count: a line and its owner's entry may be in different channels.
  if (--uncommitted_ == 0) {
    for (BloomFilter& filter : filters_) filter.clear();
  }
  if (core.fence == self) {
    core.fence = 0;
    std::exchange(core.fence_resume, {})(now);
  }
}

// ---- State visible from outside

Asap::Survivors Asap::survivors() const {
  Survivors all{{}, log_.survivors()};
  all.dependences.reserve(uncommitted_);
  for_each_active([&](const Region& region) {
    all.dependences.emplace_back(region.rid(), region.dependences);
  });
  return all;
}

Asap::Snapshot Asap::snapshot() const {
  Snapshot all;
  for_each_active([&](const Region& region) {
    if (!region.finished) {
      ClEntry& entry = all.cl_list[region.rid()];
      entry.done = region.ended;
      for (const Slot& slot : region.slots) entry.slots.push_back(slot.line);
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
  for_each_active([&](const Region& region) { unfinished += will_commit(region.rid()); });
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
