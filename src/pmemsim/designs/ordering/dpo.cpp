#include "pmemsim/designs/ordering/dpo.hpp"

#include <utility>

#include "pmemsim/common/relations.hpp"
#include "pmemsim/common/sentences.hpp"
#include "pmemsim/designs/ordering/persist_buffer_storage.hpp"

namespace pmemsim {

template <class Visitor>
void DpoOrdering::Statistics::describe(Visitor& visit) const {
  visit("stores", stores, "stores", "Stores that entered persist buffers");
  visit("coalesced", coalesced, "stores", "Stores that coalesced with an entry of a persist buffer",
        share_of("stores"));
  visit("barriers", barriers, "barriers", "Barriers that occupied an entry", at_most("stores"));
  visit("flushes", flushes, "writes", "Entries written to PM", share_of("stores"),
        origin_of("received.data_writes"));
  visit("dependences", dependences, "dependences",
        "Dependences of entries on entries of other cores");
  visit("full", full, "stores", "Stores that stalled because their persist buffer was full",
        part_of("stores"));
  visit("buffer_reads", buffer_reads, "reads",
        "Reads of PM whose line was partly in a persist buffer", part_of("shared.pm_reads"));
  visit("stale_reads", stale_reads, "reads", "Reads of PM that returned stale data",
        part_of("shared.pm_reads"));
}

DpoOrdering::DpoOrdering(std::uint32_t cores, bool writes_are_atomic,
                         const DpoParameters& parameters)
    : parameters_(parameters),
      writes_are_atomic_(writes_are_atomic),
      buffers_(cores),
      path_(parameters.path_latency) {}

void DpoOrdering::connect(const LayerContext& context) {
  context_.emplace(context);
  path_.connect(context);
  stale_.connect(context);
}

// Non-temporal stores enter the buffers and the caches like all other stores.
Lowering DpoOrdering::lowering() const {
  Lowering lowering;
  lowering.keeps_non_temporal = false;
  return lowering;
}

// Rule 7 (dpo.hpp): the snoops' additional latency.
Delay DpoOrdering::transfer_latency() const {
  Delay latency = parameters_.snoop_latency;
  latency.count *= static_cast<std::int64_t>(buffers_.size());
  return latency;
}

bool DpoOrdering::store(const Store& store, Time, Completion resume) {
  Buffer& buffer = buffers_[store.core];
  buffer.leaving = LeavingStore(store);
  if (has_free_entry(buffer)) return true;
  ++statistics_.full;
  buffer.waiting = resume;
  return false;
}

bool DpoOrdering::has_free_entry(const Buffer& buffer) const {
  return buffer.entries.size() + (buffer.barrier ? 2 : 1) <= parameters_.buffer_entries;
}

void DpoOrdering::visible(CoreId core, Line line) {
  stale_.stored(line, buffers_[core].leaving.bytes());
  enter(core, buffers_[core].leaving);
}

// Rule 1 (dpo.hpp).
void DpoOrdering::enter(CoreId core, const LeavingStore& store) {
  Buffer& buffer = buffers_[core];
  const Line line = store.line();
  depend_on_others(core, line);
  const bool coalesces = coalesces_with(buffer, line);
  if (!coalesces) {
    if (std::exchange(buffer.barrier, false)) {  // rule 2 (dpo.hpp)
      ++statistics_.barriers;
      buffer.entries.push_back({});
    }
    buffer.entries.push_back(
        {.line = line, .order = ++entered_, .after = std::exchange(buffer.after, {})});
    EntryId* const youngest = youngest_.find(line);
    (youngest != nullptr ? *youngest : youngest_.insert(line)) = EntryId{core, buffer.youngest()};
    log_occupancy(core);
  }
  ++statistics_.stores;
  statistics_.coalesced += coalesces;
  Entry& entry = buffer.entries.back();
  entry.bytes |= store.bytes();
  store.copy_to(entry.data);
  send_next();
}

void DpoOrdering::log_occupancy(CoreId core) const {
  context_->program_events.log_occupancy(core, LoggedStructure::kPersistBuffer,
                                         buffers_[core].entries.size());
}

bool DpoOrdering::coalesces_with(const Buffer& buffer, Line line) const {
  if (!writes_are_atomic_ || buffer.entries.empty() || buffer.barrier || !buffer.after.empty())
    return false;
  const Entry& youngest = buffer.entries.back();
  const bool sent = buffer.sent == buffer.entries.size();
  return youngest.line == line && !sent && !youngest.depended_on;
}

// Rule 4 (dpo.hpp).
void DpoOrdering::depend_on_others(CoreId core, Line line) {
  const EntryId* const found = youngest_.find(line);
  if (found == nullptr || found->core == core || parameters_.faults.dependences) return;
  Buffer& other = buffers_[found->core];
  if (found->number <= other.acknowledged) return;
  other.entries[found->number - other.acknowledged - 1].depended_on = true;
  for (const EntryId& known : buffers_[core].after) {
    if (known.core == found->core && known.number >= found->number) return;
  }
  ++statistics_.dependences;
  buffers_[core].after.push_back(*found);
}

void DpoOrdering::load(const Load& load, Time) {
  depend_on_others(load.core, load.line());
  stale_.loaded(load, load.region);
}

// Rule 2 (dpo.hpp). No barrier is needed while the buffer is empty.
void DpoOrdering::add_barrier(CoreId core) {
  Buffer& buffer = buffers_[core];
  if (!buffer.entries.empty()) buffer.barrier = true;
}

void DpoOrdering::synchronised(CoreId core, trace::SyncKind, Time) { add_barrier(core); }

bool DpoOrdering::release(CoreId core, Time, Completion) {
  add_barrier(core);
  return true;
}

// Rule 8 (dpo.hpp).
bool DpoOrdering::fence(const Fence& fence, Time, Completion resume) {
  add_barrier(fence.core);
  Buffer& buffer = buffers_[fence.core];
  if (buffer.entries.empty() || parameters_.faults.fence) {
    context_->program_events.fence_fulfilled(fence.core, fence.number);
    return true;
  }
  const bool waits = fence.meaning != trace::FenceMeaning::kOrder ||
                     parameters_.draining_fences == DpoDrains::kAll;
  buffer.fences.push_back({fence.number, buffer.youngest(), waits ? resume : Completion{}});
  return !waits;
}

// Rule 3 (dpo.hpp).
void DpoOrdering::send_next() {
  while (!in_flight_ && send_one()) in_flight_ = !parameters_.faults.token;
}

bool DpoOrdering::send_one() {
  const std::optional<CoreId> core = next_core();
  if (!core) return false;
  Buffer& buffer = buffers_[*core];
  Entry& entry = buffer.entries[buffer.sent++];
  const bool swapped = parameters_.faults.order && buffer.sent < buffer.entries.size() &&
                       buffer.entries[buffer.sent].bytes != 0;
  if (swapped) std::swap(entry, buffer.entries[buffer.sent]);
  turn_ = *core + 1;
  ++statistics_.flushes;
  path_.send({.line = entry.line,
              .data = entry.data,
              .persisted = {},
              .written = {},
              .persisting = completion<&DpoOrdering::accepted>(*this, *core),
              .bytes = entry.bytes},
             context_->queue.now(), completion<&DpoOrdering::acknowledged>(*this, *core));
  return true;
}

std::optional<CoreId> DpoOrdering::next_core() {
  std::optional<CoreId> next;
  const auto order = [this](CoreId core) {
    return buffers_[core].entries[buffers_[core].sent].order;
  };
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    const auto core = static_cast<CoreId>((turn_ + i) % buffers_.size());
    if (!can_send(buffers_[core])) continue;
    if (parameters_.turn == DpoTurn::kCores) return core;
    if (!next || order(core) < order(*next)) next = core;
  }
  return next;
}

// True if the oldest unsent entry may be sent. Barriers are skipped here: they need no write.
bool DpoOrdering::can_send(Buffer& buffer) const {
  const auto all_sent = [&] { return buffer.sent == buffer.entries.size(); };
  while (!all_sent() && buffer.entries[buffer.sent].bytes == 0) ++buffer.sent;
  if (all_sent()) return false;
  for (const EntryId& earlier : buffer.entries[buffer.sent].after) {
    if (buffers_[earlier.core].acknowledged < earlier.number) return false;
  }
  return true;
}

void DpoOrdering::accepted(std::uint64_t, Time) {
  if (parameters_.token_until == DpoToken::kAcknowledged) return;
  in_flight_ = false;
  context_->queue.schedule(
      context_->queue.now(), Phase::kController,
      {[](void* self, std::uint64_t, Time) { static_cast<DpoOrdering*>(self)->send_next(); }, this,
       0});
}

void DpoOrdering::acknowledged(std::uint64_t core, Time now) {
  if (parameters_.token_until == DpoToken::kAcknowledged) in_flight_ = false;
  free_entries(static_cast<CoreId>(core), now);
  send_next();
}

void DpoOrdering::free_entries(CoreId core, Time now) {
  Buffer& buffer = buffers_[core];
  const auto leave = [&] {
    const Entry& entry = buffer.entries.front();
    const EntryId* const youngest = youngest_.find(entry.line);
    ++buffer.acknowledged;
    if (buffer.sent > 0) --buffer.sent;
    if (entry.bytes != 0 && youngest != nullptr && youngest->core == core &&
        youngest->number <= buffer.acknowledged) {
      youngest_.erase(entry.line);
    }
    buffer.entries.pop_front();
  };
  leave();
  while (!buffer.entries.empty() && buffer.entries.front().bytes == 0) leave();
  log_occupancy(core);
  if (buffer.entries.empty()) buffer.barrier = false;
  while (!buffer.fences.empty() && buffer.fences.front().until <= buffer.acknowledged) {
    const Pending done = buffer.fences.front();
    buffer.fences.pop_front();
    context_->program_events.fence_fulfilled(core, done.fence);
    if (done.resume) done.resume(now);
  }
  if (buffer.waiting && has_free_entry(buffer)) std::exchange(buffer.waiting, {})(now);
}

// Rule 5 (dpo.hpp).
bool DpoOrdering::fetch(CoreId, Line line, Time when, Completion done) {
  if (youngest_.find(line) != nullptr && !parameters_.faults.snoop) {
    ++statistics_.buffer_reads;
    stale_.forget(line);
    if (holds_whole(line)) {
      context_->queue.schedule(when, Phase::kController, done);
    } else {
      context_->pm.read(line, done);
    }
    return true;
  }
  statistics_.stale_reads += stale_.read(line, context_->pm.newest(line));
  return false;
}

bool DpoOrdering::holds_whole(Line line) const {
  ByteMask bytes = 0;
  for (const Buffer& buffer : buffers_) {
    for (const Entry& entry : buffer.entries) {
      if (entry.line == line) bytes |= entry.bytes;
    }
  }
  return bytes == kWholeLine;
}

void DpoOrdering::statistics(StatisticsCollector& collector) const {
  collector.group("dpo", statistics_);
}

std::string DpoOrdering::pending() const {
  return sentences(buffers_.size(), [this](std::size_t core) {
    const std::size_t entries = buffers_[core].entries.size();
    return entries == 0 ? ""
                        : std::to_string(entries) + " entries in the persist buffer of core " +
                              std::to_string(core);
  });
}

Storage DpoOrdering::storage(const DpoParameters& parameters, const Chip& chip) {
  constexpr std::uint64_t kNumberBits = 32;
  return {{persist_buffer(parameters.buffer_entries, chip.cores * kNumberBits,
                          "entries of other cores", chip)}};
}

}  // namespace pmemsim
