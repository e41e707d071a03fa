#include "pmemsim/atomicity/asap.hpp"

#include <algorithm>
#include <utility>

#include "pmemsim/backend/backend.hpp"
#include "pmemsim/cache/hierarchy.hpp"
#include "pmemsim/sim/pm_space.hpp"

namespace pmemsim {
namespace {

constexpr unsigned kCoreShift = 48;

}  // namespace

Asap::Asap(std::uint32_t cores, std::uint32_t channels, const AsapParameters& parameters,
           const HardwareLogParameters& log)
    : parameters_(parameters), dependence_entries_(channels), lh_wpq_entries_(channels) {
  for (CoreId core = 0; core < cores; ++core) {
    cores_.emplace_back(SequentialLog(core, log.ring_size.count));
  }
}

void Asap::connect(const LayerContext& context) {
  context_.emplace(context);
  port_.connect(context);
}

Lowering Asap::lowering() const {
  Lowering lowering;
  for (const auto purpose :
       {trace::Purpose::kLog, trace::Purpose::kDataFlush, trace::Purpose::kCommit}) {
    lowering.keeps[static_cast<std::size_t>(purpose)] = false;
  }
  return lowering;
}

Asap::Rid Asap::rid(CoreId core, std::uint64_t region) {
  return std::uint64_t{core} << kCoreShift | region;
}

Asap::Region* Asap::active(Rid rid) {
  const auto found = active_.find(rid);
  return found == active_.end() ? nullptr : &found->second;
}

std::uint32_t Asap::operation(const Operation& about) {
  const std::uint32_t slot = operations_.take();
  operations_[slot] = about;
  return slot;
}

Asap::Operation Asap::take(std::uint64_t operation) {
  const auto slot = static_cast<std::uint32_t>(operation);
  operations_.give_back(slot);
  return operations_[slot];
}

// ---- What the cores ask: each is tried again, after something has become free, until it works

bool Asap::region_begin(CoreId core, std::uint64_t region, Picoseconds, Completion resume) {
  cores_[core].region = region;
  return try_begin(core) || block(core, Blocked::kBegin, resume);
}

bool Asap::store(const Store& store, Picoseconds, Completion resume) {
  if (store.region == 0) return true;
  settle(store.core);
  PerCore& core = cores_[store.core];
  core.line = Line::of(store.address);
  core.before = store.before;
  return try_store(store.core) || block(store.core, Blocked::kStore, resume);
}

bool Asap::region_end(CoreId core, std::uint64_t, Picoseconds when, Completion resume) {
  settle(core);
  return try_end(core, when) || block(core, Blocked::kEnd, resume);
}

// The core's store before this one has become visible by now: its data may go.
void Asap::settle(CoreId core) {
  const Rid self = cores_[core].latest;
  Region* region = active(self);
  if (region == nullptr) return;
  for (Slot& slot : region->slots) {
    if (std::exchange(slot.invisible, false) && slot.due) start_dpo(self, *region, slot);
  }
}

bool Asap::fence_regions(CoreId number, Picoseconds, Completion resume) {
  PerCore& core = cores_[number];
  if (active(core.latest) == nullptr) return true;
  core.fence = core.latest;
  core.fence_resume = resume;
  return false;
}

bool Asap::block(CoreId core, Blocked why, Completion resume) {
  cores_[core].blocked = why;
  cores_[core].resume = resume;
  return false;
}

void Asap::retry(Picoseconds now) {
  for (CoreId number = 0; number < cores_.size(); ++number) {
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
    }
    if (!works) continue;
    core.blocked = Blocked::kNo;
    core.resume(now);
  }
}

// ---- Beginning a region (4.5)

bool Asap::try_begin(CoreId number) {
  PerCore& core = cores_[number];
  const auto channel = static_cast<std::uint32_t>(core.region % dependence_entries_.size());  // 5.6
  if (core.cl_entries == parameters_.cl_entries) {
    statistics_.cl_stalls += core.blocked == Blocked::kNo;
    return false;
  }
  if (dependence_entries_[channel] == parameters_.dependence_entries) {
    statistics_.dependence_stalls += core.blocked == Blocked::kNo;
    return false;
  }
  const Rid previous = core.latest;
  const Rid self = core.latest = rid(number, core.region);
  ++core.cl_entries;
  ++dependence_entries_[channel];
  Region& region = active_[self];
  region.core = number;
  region.channel = channel;
  depend(region, self, previous, statistics_.control_dependences);
  for (const auto& [reader, owner] : core.early) {
    if (reader == self) depend(region, self, owner, statistics_.data_dependences);
  }
  std::erase_if(core.early, [self](const auto& early) { return early.first <= self; });
  return true;
}

// Is it true of the region or of one that it depends on, directly or not? Each is asked once: there
// may be very many paths between two regions.
template <class Predicate>
bool Asap::any_before(Rid rid, Predicate predicate) const {
  std::vector<Rid> found{rid};
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto region = active_.find(found[i]);
    if (region == active_.end()) continue;
    if (predicate(found[i], region->second)) return true;
    for (const Rid on : region->second.dependences) {
      if (std::find(found.begin(), found.end(), on) == found.end()) found.push_back(on);
    }
  }
  return false;
}

bool Asap::will_commit(Rid rid) const {
  return !any_before(rid, [](Rid, const Region& region) { return !region.ended; });
}

// Are the Dep slots full, with one to become free? A region that takes locks inside may wait for
// the one that this wait would hold up; so only regions that need nobody any more are waited for.
bool Asap::must_wait(const Region& region, std::size_t more) const {
  const auto& list = region.dependences;
  return list.size() + more > parameters_.dependence_slots &&
         std::any_of(list.begin(), list.end(), [this](Rid on) { return will_commit(on); });
}

void Asap::depend(Region& region, Rid self, Rid on, std::uint64_t& counter) {
  auto& list = region.dependences;
  if (active(on) == nullptr || std::find(list.begin(), list.end(), on) != list.end()) return;
  // Without isolation two regions could depend on each other, and would never commit.
  if (any_before(on, [self](Rid before, const Region&) { return before == self; })) return;
  list.push_back(on);
  ++counter;
}

// ---- Accesses (4.6)

void Asap::load(CoreId core, Line line, std::uint64_t region, Picoseconds) {
  if (region == 0) return;
  const auto found = tags_.find(line.number);
  if (found == tags_.end()) return;
  const Rid self = rid(core, region);
  if (Region* reader = active(self)) {
    depend(*reader, self, found->second.owner, statistics_.data_dependences);
  } else if (self > cores_[core].latest) {  // has retired before its region's begin took effect
    cores_[core].early.emplace_back(self, found->second.owner);
  }
}

bool Asap::try_store(CoreId number) {
  PerCore& core = cores_[number];
  const Rid self = core.latest;
  Region& region = active_.at(self);
  const auto stall = [&](std::uint64_t& counter) {
    counter += core.blocked == Blocked::kNo;
    return false;
  };
  const auto tagged = tags_.find(core.line.number);
  const Rid owner = tagged == tags_.end() ? 0 : tagged->second.owner;
  const bool first = owner != self;
  const bool depends = first && active(owner) != nullptr &&
                       std::find(region.dependences.begin(), region.dependences.end(), owner) ==
                           region.dependences.end();
  if (must_wait(region, depends)) return stall(statistics_.dependence_stalls);
  const auto slot = std::find_if(region.slots.begin(), region.slots.end(),
                                 [&](const Slot& s) { return s.line == core.line; });
  if (slot == region.slots.end() && region.slots.size() == parameters_.cl_slots) {
    // With fewer slots than the distance, none would ever start.
    const bool none_started = std::none_of(region.slots.begin(), region.slots.end(),
                                           [](const Slot& s) { return s.in_flight > 0 || s.due; });
    if (none_started) start_dpo(self, region, region.slots.front());
    return stall(statistics_.slot_stalls);
  }
  if (first) {
    const bool new_record =
        region.records.empty() || region.records.back().entries == kRecordEntries;
    if (new_record) {
      const std::uint32_t channel = context_->pm.channel_of(core.log.next());
      if (lh_wpq_entries_[channel] == parameters_.lh_wpq_entries) {
        return stall(statistics_.lh_wpq_stalls);
      }
      ++lh_wpq_entries_[channel];
      region.records.push_back({core.log.allocate(), {number, core.region, 0, {}}});
    }
    depend(region, self, owner, statistics_.data_dependences);
    Tag& tag = tags_[core.line.number];
    tag.owner = self;
    log(number, self, region, tag);
  }
  const bool listed = slot != region.slots.end();
  for (Slot& other : region.slots) {
    if (other.line == core.line) continue;
    if (++other.distance >= parameters_.dpo_distance) start_dpo(self, region, other);
  }
  if (!listed) region.slots.push_back({.line = core.line});
  Slot& own = *std::find_if(region.slots.begin(), region.slots.end(),
                            [&](const Slot& s) { return s.line == core.line; });
  own.distance = 0;
  own.wanted = own.invisible = true;
  if (!parameters_.dpo_coalescing) start_dpo(self, region, own);
  return true;
}

// 4.6.1: the old value goes to the log while the store goes on.
void Asap::log(CoreId number, Rid self, Region& region, Tag& tag) {
  PerCore& core = cores_[number];
  region.lines.push_back(core.line);
  Record& record = region.records.back();
  const std::uint32_t entry = record.entries++;
  record.header.homes[entry] = core.line;
  ++tag.locks;
  ++region.outstanding;
  ++statistics_.lpos;
  const Operation about{self, core.line, static_cast<std::uint32_t>(region.records.size() - 1),
                        entry};
  port_.send(number,
             {.line = {record.place.number + 1 + entry},
              .kind = WriteKind::kLog,
              .owner = self,
              .data = core.before,
              .persisted = completion<&Asap::lpo_persisted>(*this, operation(about)),
              .written = {}},
             completion<&Asap::lpo_acknowledged>(*this, operation(about)));
}

// At the controller: the header in the LH-WPQ learns of the entry (5.5), and the data that an
// earlier region has written to the line needn't be written any more (5.1).
void Asap::lpo_persisted(std::uint64_t number, Picoseconds) {
  const Operation about = take(number);
  Region& region = active_.at(about.rid);
  Record& record = region.records[about.record];
  record.header.valid |= static_cast<std::uint8_t>(1u << about.entry);
  if (parameters_.dpo_dropping) {
    WriteId id;
    if (context_->pm.find(about.line, WriteKind::kData, id)) {
      const Rid owner = context_->pm.pending(id)->owner;
      const Region* earlier = active(owner);
      // While it waits for an acknowledgement, it may not have been accepted yet.
      const bool in_flight =
          earlier != nullptr &&
          std::any_of(earlier->slots.begin(), earlier->slots.end(), [&](const Slot& slot) {
            return slot.line == about.line && slot.in_flight > 0;
          });
      if (owner != 0 && owner != about.rid && !in_flight && context_->pm.drop(id)) {
        ++statistics_.dpos_dropped;
      }
    }
  }
  if (record.header.valid != kAllEntriesValid) return;
  ++region.outstanding;
  ++statistics_.headers;
  port_.send(region.core,
             {.line = record.place,
              .kind = WriteKind::kLogHeader,
              .owner = about.rid,
              .data = record.header.bytes(),
              .persisted = completion<&Asap::header_persisted>(*this, operation(about)),
              .written = {}},
             completion<&Asap::outstanding_acknowledged>(*this, operation(about)));
}

void Asap::header_persisted(std::uint64_t number, Picoseconds now) {
  const Operation about = take(number);
  Record& record = active_.at(about.rid).records[about.record];
  record.in_lh_wpq = false;
  --lh_wpq_entries_[context_->pm.channel_of(record.place)];
  retry(now);
}

void Asap::lpo_acknowledged(std::uint64_t number, Picoseconds now) {
  const Operation about = operations_[static_cast<std::uint32_t>(number)];
  unlock(about.rid, about.line, now);
  outstanding_acknowledged(number, now);
}

// Clears the LockBit: what has waited for it goes on.
void Asap::unlock(Rid self, Line line, Picoseconds) {
  Tag& tag = tags_.at(line.number);
  if (--tag.locks > 0) return;
  Region& region = active_.at(self);
  if (std::exchange(tag.evicted, false)) {
    ++region.outstanding;
    port_.send(region.core,
               {.line = line,
                .kind = WriteKind::kData,
                .owner = 0,
                .data = context_->pm_space.newest().read(line),
                .persisted = {},
                .written = {}},
               completion<&Asap::outstanding_acknowledged>(*this, operation({self, line, 0, 0})));
  }
  for (auto& [writer, waiting] : active_) {
    for (Slot& slot : waiting.slots) {
      if (slot.line == line && slot.due) start_dpo(writer, waiting, slot);
    }
  }
}

// 4.6.2
void Asap::start_dpo(Rid self, Region& region, Slot& slot) {
  if (!slot.wanted) return;
  const auto tag = tags_.find(slot.line.number);
  if (slot.invisible || (tag != tags_.end() && tag->second.locks > 0)) {
    slot.due = true;
    return;
  }
  slot.wanted = slot.due = false;
  slot.distance = 0;
  ++slot.in_flight;
  ++statistics_.dpos;
  context_->caches.mark_clean(slot.line);
  port_.send(region.core,
             {.line = slot.line,
              .kind = WriteKind::kData,
              .owner = self,
              .data = context_->pm_space.newest().read(slot.line),
              .persisted = {},
              .written = {}},
             completion<&Asap::dpo_acknowledged>(*this, operation({self, slot.line, 0, 0})));
}

void Asap::dpo_acknowledged(std::uint64_t number, Picoseconds now) {
  const Operation about = take(number);
  Region& region = active_.at(about.rid);
  const auto slot = std::find_if(region.slots.begin(), region.slots.end(),
                                 [&](const Slot& s) { return s.line == about.line; });
  --slot->in_flight;
  if (slot->in_flight == 0 && !slot->wanted) region.slots.erase(slot);
  finish_lines(about.rid, now);
  retry(now);
}

Eviction Asap::evicted(Line line, const LineData&, Picoseconds) {
  const auto found = tags_.find(line.number);
  if (found == tags_.end()) return Eviction::kWrite;
  if (active(found->second.owner) != nullptr) ++statistics_.owners_saved;  // 5.3
  if (found->second.locks == 0) return Eviction::kWrite;
  found->second.evicted = true;
  ++statistics_.delayed_evictions;
  return Eviction::kTaken;
}

// ---- Ending and committing (4.7, 4.8)

bool Asap::try_end(CoreId core, Picoseconds now) {
  const Rid self = cores_[core].latest;
  Region& region = active_.at(self);
  if (must_wait(region, 0)) {
    statistics_.dependence_stalls += cores_[core].blocked == Blocked::kNo;
    return false;
  }
  region.ended = true;
  region.ended_at = now;
  for (Slot& slot : region.slots) start_dpo(self, region, slot);
  finish_lines(self, now);
  return true;
}

void Asap::outstanding_acknowledged(std::uint64_t number, Picoseconds now) {
  const Operation about = take(number);
  --active_.at(about.rid).outstanding;
  finish_lines(about.rid, now);
}

// All lines have persisted: the CL List entry is free, and the Dependence List hears of it.
void Asap::finish_lines(Rid self, Picoseconds now) {
  Region& region = active_.at(self);
  if (!region.ended || region.finished || region.outstanding > 0 || !region.slots.empty()) return;
  region.finished = true;
  --cores_[region.core].cl_entries;
  context_->queue.schedule(now + context_->caches.way_down(region.core), Phase::kController,
                           completion<&Asap::lines_persisted>(*this, self));
}

void Asap::lines_persisted(std::uint64_t self, Picoseconds now) {
  active_.at(self).persisted = true;
  commit_ready(now);
}

void Asap::commit_ready(Picoseconds now) {
  for (bool again = true; again;) {
    again = false;
    for (const auto& [rid, region] : active_) {
      if (!region.persisted || !region.dependences.empty()) continue;
      commit(rid, now);
      again = true;
      break;
    }
  }
  retry(now);
}

void Asap::commit(Rid self, Picoseconds now) {
  const Region region = std::move(active_.at(self));
  active_.erase(self);
  PerCore& core = cores_[region.core];
  ++statistics_.committed;
  statistics_.commit_delay += now - region.ended_at;
  --dependence_entries_[region.channel];
  for (const Record& record : region.records) {
    if (record.in_lh_wpq) --lh_wpq_entries_[context_->pm.channel_of(record.place)];
    core.log.free(record.place);
  }
  if (parameters_.lpo_dropping) drop_logs(region);
  for (auto& [_, other] : active_) std::erase(other.dependences, self);  // the broadcast
  for (const Line line : region.lines) {
    const auto tag = tags_.find(line.number);
    if (tag != tags_.end() && tag->second.owner == self && tag->second.locks == 0) tags_.erase(tag);
  }
  if (core.fence == self) {
    core.fence = 0;
    std::exchange(core.fence_resume, {})(now);
  }
}

// 5.1
void Asap::drop_logs(const Region& region) {
  const auto drop = [&](Line line, WriteKind kind) {
    WriteId id;
    if (context_->pm.find(line, kind, id) && context_->pm.drop(id)) ++statistics_.lpos_dropped;
  };
  for (const Record& record : region.records) {
    for (std::uint32_t i = 0; i < record.entries; ++i) {
      drop({record.place.number + 1 + i}, WriteKind::kLog);
    }
    drop(record.place, WriteKind::kLogHeader);
  }
}

Asap::Survivors Asap::survivors() const {
  Survivors all;
  for (const auto& [rid, region] : active_) {
    all.dependences[rid] = region.dependences;
    for (const Record& record : region.records) {
      if (record.in_lh_wpq) all.headers.push_back({record.place, record.header.bytes()});
    }
  }
  for (const PerCore& core : cores_) all.logs.push_back({core.log.first(), core.log.lines()});
  return all;
}

void Asap::statistics(StatisticsCollector& collector) const {
  AsapStatistics all = statistics_;
  for (const PerCore& core : cores_) all.growths += core.log.growths();
  collector.group("asap", all);
}

std::string Asap::pending() const {
  // What depends on a region that the program has left unfinished doesn't commit.
  std::size_t unfinished = 0;
  for (const auto& [rid, _] : active_) unfinished += will_commit(rid);
  return unfinished == 0 ? ""
                         : std::to_string(unfinished) + " regions have ended but not committed";
}

}  // namespace pmemsim
