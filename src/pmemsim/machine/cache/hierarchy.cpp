#include "pmemsim/machine/cache/hierarchy.hpp"

#include <bit>
#include <cassert>
#include <ranges>
#include <utility>
#include <variant>

namespace pmemsim {
namespace {

constexpr std::uint64_t kWriteBit = 1;
constexpr unsigned kCoreBits = 6;  // packed with any line number of a trace: 63 bits in all

constexpr std::uint64_t bit(CoreId core) { return std::uint64_t{1} << core; }

PrivateCaches::Level level(const CacheParameters& cache, PageFrames frames, const Clock& clock) {
  return {cache.size.count, cache.ways, clock.slots(cache.latency), clock.slots(cache.tag_latency),
          frames};
}

// Returns the L2, whose hits pass the L1 on their way to the core.
PrivateCaches::Level second_level(const CacheParameters& l1, const CacheParameters& l2,
                                  PageFrames frames, const Clock& clock) {
  PrivateCaches::Level second = level(l2, frames, clock);
  second.latency += clock.slots(l1.response_latency);
  return second;
}

// Returns the latency of a response through a core's private caches.
Picoseconds private_response(const CacheParameters& l1, const CacheParameters& l2,
                             const Clock& clock) {
  const Picoseconds second =
      l2.size.count > 0 ? clock.duration(l2.response_latency) : Picoseconds{};
  return clock.duration(l1.response_latency) + second;
}

}  // namespace

Hierarchy::Hierarchy(const Parts& parts, const Clock& clock, std::uint32_t cores,
                     const CacheParameters& l1, const CacheParameters& l2,
                     const SharedCacheParameters& shared, const PathParameters& path,
                     const CoreBuffers& buffers, PageFrames frames)
    : queue_(parts.queue),
      pm_space_(parts.pm_space),
      dram_(parts.dram),
      pm_(parts.pm),
      design_(parts.design),
      clock_(clock),
      shared_latency_(clock.duration(shared.latency)),
      shared_tag_latency_(clock.duration(shared.tag_latency)),
      snoop_latency_(clock.duration(shared.snoop_latency)),
      request_latency_(clock.duration(path.request_latency)),
      flush_latency_(clock.duration(path.flush_latency)),
      nontemporal_latency_(clock.duration(path.nontemporal_latency)),
      path_response_(clock.duration(path.response_latency)),
      response_latency_(path_response_ + clock.duration(shared.response_latency)),
      transfer_latency_(clock.duration(design_.transfer_latency()) +
                        private_response(l1, l2, clock)),
      acknowledge_latency_(response_latency_ + private_response(l1, l2, clock)),
      clients_(cores, nullptr),
      fifo_(shared.faults.fifo),
      shared_(shared.bytes(cores), shared.ways, frames),
      frames_(frames),
      most_reads_(path.most_reads),
      combining_(cores, buffers.write_combining),
      most_flushes_(buffers.flushes),
      flushes_under_way_(cores, 0),
      awaiting_buffer_(cores),
      awaiting_flush_(cores) {
  private_.reserve(cores);
  for (CoreId core = 0; core < cores; ++core) {
    private_.emplace_back(level(l1, PageFrames(), clock), second_level(l1, l2, frames, clock));
  }
}

void Hierarchy::request(CoreId core, Line line, bool to_write, Time when) {
  const std::uint64_t packed =
      (line.number << (kCoreBits + 1)) | (std::uint64_t{core} << 1) | (to_write ? kWriteBit : 0);
  queue_.schedule(queue_.now_or_later(when), Phase::kCache,
                  completion<&Hierarchy::request_arrives>(*this, packed));
}

void Hierarchy::request_arrives(std::uint64_t packed, Time now) {
  const bool to_write = (packed & kWriteBit) != 0;
  const CoreId core = (packed >> 1) & ((1u << kCoreBits) - 1);
  const Line line{packed >> (kCoreBits + 1)};
  ++statistics_.requests;
  send_combined_of(line, now);
  if (const auto miss = misses_.find(line.number); miss != misses_.end()) {
    ++statistics_.joined_misses;
    miss->second.push_back({core, to_write});
    return;
  }
  const std::size_t way = shared_.find(line);
  if (way != kNoWay) {
    ++statistics_.shared_hits;
    if (!fifo_) shared_.touch(way);
    serve(core, line, to_write, way, now + shared_latency_, Source::kShared);
    return;
  }
  misses_[line.number].push_back({core, to_write});
  begin_read(line, now + shared_tag_latency_);
}

// Sends a read to memory at `when`, or as soon as there are fewer than `most_reads`.
void Hierarchy::begin_read(Line line, Time when) {
  if (most_reads_ > 0 && reads_ == most_reads_) {
    waiting_reads_.push_back({line, when});
    return;
  }
  ++reads_;
  queue_.schedule(when + request_latency_, Phase::kController,
                  completion<&Hierarchy::miss_leaves>(*this, line.number));
}

void Hierarchy::end_read(Time now) {
  --reads_;
  if (waiting_reads_.empty()) return;
  const Read next = waiting_reads_.front();
  waiting_reads_.pop_front();
  begin_read(next.line, max(next.when, now + path_response_));
}

void Hierarchy::miss_leaves(std::uint64_t number, Time now) {
  const Line line{number};
  const Completion answer = completion<&Hierarchy::memory_answers>(*this, number);
  if (!pm_space_.contains(line)) {
    ++statistics_.dram_reads;
    dram_.read(line, answer);
    return;
  }
  ++statistics_.pm_reads;
  design_.fetch(misses_.at(number).front().core, line, now, answer);
}

void Hierarchy::memory_answers(std::uint64_t number, Time now) {
  const Line line{number};
  if (fill_waits(line)) return;
  end_read(now);
  const auto miss = misses_.find(number);
  const std::vector<Waiter> waiters = std::move(miss->second);
  misses_.erase(miss);
  const std::size_t way = free_way(line);
  const Time ready = now + response_latency_;
  shared_.install(way, line, {.sharers = 0, .ready = ready, .owner = kNoCore, .dirty = false});
  const Source source = pm_space_.contains(line) ? Source::kPm : Source::kDram;
  for (const Waiter& waiter : waiters) {
    // If the set is tiny, serving one waiter may evict the line again. The other waiters then miss
    // again.
    const std::size_t found = shared_.find(line);
    if (found == kNoWay) {
      ++statistics_.repeated_requests;
      request(waiter.core, line, waiter.to_write, now);
    } else {
      serve(waiter.core, line, waiter.to_write, found, ready, source);
    }
  }
}

void Hierarchy::serve(CoreId core, Line line, bool to_write, std::size_t way, Time when,
                      Source source) {
  SharedLine& shared = shared_.meta(way);
  when = max(when, shared.ready) + transfer_latency_;
  if (snoop_others(core, line, to_write, shared)) {
    when += snoop_latency_;
    source = Source::kOtherCore;
    ++statistics_.snoops;
  }
  const bool alone = (shared.sharers & ~bit(core)) == 0;
  shared.sharers |= bit(core);
  if (alone) shared.owner = static_cast<std::uint8_t>(core);
  const LineState state = alone ? LineState::kExclusive : LineState::kShared;
  evicted_from_private(core, private_[core].fill(line, state, clock_.slot(when)));
  clients_[core]->filled(line, state, when, source);
}

// Takes the line from other cores as far as the request needs. True if another core's caches were
// snooped.
bool Hierarchy::snoop_others(CoreId core, Line line, bool to_write, SharedLine& shared) {
  const std::uint64_t others = shared.sharers & ~bit(core);
  if (others == 0) return false;
  if (to_write) {
    for (std::uint64_t left = others; left != 0; left &= left - 1) {
      const CoreId other = static_cast<CoreId>(std::countr_zero(left));
      shared.take(private_[other].invalidate(line), other);
      ++statistics_.invalidations;
    }
    shared.sharers &= bit(core);
    shared.owner = kNoCore;
    return true;
  }
  if (shared.owner == kNoCore) return false;
  shared.take(private_[shared.owner].downgrade(line), shared.owner);
  shared.owner = kNoCore;
  return true;
}

void Hierarchy::evicted_from_private(CoreId core, const Departure& departure) {
  if (!departure.happened) return;
  const std::size_t way = shared_.find(departure.line);
  if (way == kNoWay) return;
  SharedLine& shared = shared_.meta(way);
  shared.take(departure.dirty, core);
  shared.sharers &= ~bit(core);
  if (shared.owner == core) shared.owner = kNoCore;
}

// True if the line's victim can't be written back yet. The fill is repeated later, and the set may
// have another victim then.
bool Hierarchy::fill_waits(Line line) {
  const std::size_t way = shared_.victim(line);
  if (!shared_.occupied(way) || !dirty(way)) return false;
  const Line victim = shared_.line(way);
  Memory& memory = pm_space_.contains(victim) ? pm_ : dram_;
  if (!memory.writes_wait(victim)) return false;
  ++statistics_.delayed_fills;
  memory.await_admission(victim, completion<&Hierarchy::memory_answers>(*this, line.number));
  return true;
}

bool Hierarchy::dirty(std::size_t way) const {
  const SharedLine& shared = shared_.meta(way);
  return shared.dirty ||
         (shared.owner != kNoCore && private_[shared.owner].modified(shared_.line(way)));
}

std::size_t Hierarchy::free_way(Line line) {
  const std::size_t way = shared_.victim(line);
  if (shared_.occupied(way)) evict(way);
  return way;
}

void Hierarchy::evict(std::size_t way) {
  const Line line = shared_.line(way);
  SharedLine& shared = shared_.meta(way);
  for (std::uint64_t left = shared.sharers; left != 0; left &= left - 1) {
    const auto core = static_cast<CoreId>(std::countr_zero(left));
    shared.take(private_[core].invalidate(line), core);
  }
  const bool dirty = shared.dirty;
  const CoreId writer = shared.writer;
  shared_.remove(way);
  if (dirty) {
    write_back(line, writer);
  } else if (design_.wants(kCleanEvictions) && pm_space_.contains(line)) {
    design_.evicted_clean(line, queue_.now());
  }
}

void Hierarchy::write_back(Line line, CoreId writer) {
  if (!pm_space_.contains(line)) {
    ++statistics_.dram_write_backs;
    dram_.write({.line = line, .data = {}, .persisted = {}, .written = {}});
    return;
  }
  ++statistics_.pm_write_backs;
  const LineData data = pm_space_.newest().read(line);
  design_.written_back(writer, line, data, WriteBack::kEviction, queue_.now());
  if (design_.evicted(line, data, queue_.now()) == Eviction::kTaken) {
    ++statistics_.evictions_taken;
    return;
  }
  ++under_way_[line.number].writes;
  ++statistics_.evictions_written;
  design_.write({.line = line,
                 .data = data,
                 .persisted = completion<&Hierarchy::line_persisted>(*this, line.number),
                 .written = {}});
}

void Hierarchy::flush(CoreId core, Line line, bool invalidate, bool dirty, Time when,
                      Completion acknowledge) {
  send_combined_of(line, when);
  ++flushes_under_way_[core];
  if (dirty && pm_space_.contains(line)) ++under_way_[line.number].writes;
  send_flush(new_flush(core, line, invalidate, dirty, acknowledge), when + flush_latency_);
}

bool Hierarchy::may_send_flush(CoreId core, Completion freed) {
  if (flushes_under_way_[core] < most_flushes_) return true;
  awaiting_flush_[core] = freed;
  return false;
}

bool Hierarchy::await_flush(CoreId core, Completion acknowledged) {
  if (flushes_under_way_[core] == 0) return false;
  awaiting_flush_[core] = acknowledged;
  return true;
}

std::uint32_t Hierarchy::new_flush(CoreId core, Line line, bool invalidate, bool dirty,
                                   Completion acknowledge) {
  if (free_flushes_.empty()) {
    free_flushes_.push_back(static_cast<std::uint32_t>(flushes_.size()));
    flushes_.emplace_back();
  }
  const std::uint32_t index = free_flushes_.back();
  free_flushes_.pop_back();
  flushes_[index] = {.line = line,
                     .core = core,
                     .invalidate = invalidate,
                     .dirty = dirty,
                     .dirty_elsewhere = dirty_elsewhere(core, line),
                     .acknowledge = acknowledge,
                     .data = {},
                     .departure = 0};
  capture_contents(flushes_[index]);
  return index;
}

// Copies the contents that the line has when the flush leaves the core.
void Hierarchy::capture_contents(Flush& flush) {
  if (!pm_space_.contains(flush.line)) return;
  flush.data = pm_space_.newest().read(flush.line);
  flush.departure = design_.next_departure();
}

void Hierarchy::send_flush(std::uint32_t index, Time when) {
  // The look-ups on the path down precede the path to the controller.
  queue_.schedule(queue_.now_or_later(when + shared_to_controller()), Phase::kCache,
                  completion<&Hierarchy::flush_arrives>(*this, index));
}

bool Hierarchy::has_buffer(CoreId core, Line line, Time when, Completion freed) {
  if (!combining_.all_in_use(core) || combining_.find(core, line) != nullptr) return true;
  if (const auto oldest = combining_.take_oldest(core)) send_combined(*oldest, when);
  awaiting_buffer_[core] = freed;
  return false;
}

bool Hierarchy::combine(CoreId core, Line line, ByteMask bytes, Time when, Completion acknowledge) {
  CombinedLine* combined = combining_.find(core, line);
  const bool opens = combined == nullptr;
  if (opens) {
    assert(!combining_.all_in_use(core));
    send_combined_of(line, when);
    const std::uint32_t flush = new_flush(core, line, true, true, acknowledge);
    flushes_[flush].combined = true;
    combining_.open(core, {line, 0, flush, when});
    combined = combining_.find(core, line);
  } else {
    capture_contents(flushes_[combined->flush]);
  }
  combined->bytes |= bytes;
  combined->latest = when;
  if (combined->bytes == kWholeLine) send_combined(*combining_.take(core, line), when);
  return opens;
}

void Hierarchy::send_combined(CoreId core, Time when) {
  while (const auto combined = combining_.take_oldest(core)) send_combined(*combined, when);
}

void Hierarchy::send_combined(const CombinedLine& combined, Time when) {
  ++statistics_.lines_combined;
  statistics_.lines_combined_in_part += combined.bytes != kWholeLine;
  // A flush of the line waits for this write from now on, but not for a buffer that is still open:
  // the buffer's core may be waiting for that flush.
  if (pm_space_.contains(combined.line)) ++under_way_[combined.line.number].writes;
  send_flush(combined.flush, max(combined.latest, when) + nontemporal_latency_);
}

// Sends the line's write-combining buffer of any core.
void Hierarchy::send_combined_of(Line line, Time when) {
  if (!combining_.any()) return;
  for (CoreId core = 0; core < private_.size(); ++core) {
    if (const auto combined = combining_.take(core, line)) send_combined(*combined, when);
  }
}

// True if the shared cache or another core's private caches hold dirty data of the line.
bool Hierarchy::dirty_elsewhere(CoreId core, Line line) const {
  const std::size_t way = shared_.find(line);
  if (way == kNoWay) return false;
  const SharedLine& shared = shared_.meta(way);
  if (shared.dirty) return true;
  return shared.owner != kNoCore && shared.owner != core && private_[shared.owner].modified(line);
}

void Hierarchy::mark_clean(Line line) {
  const std::size_t way = shared_.find(line);
  if (way == kNoWay) return;
  SharedLine& shared = shared_.meta(way);
  if (shared.owner != kNoCore) shared.take(private_[shared.owner].mark_clean(line), shared.owner);
  if (!std::exchange(shared.dirty, false) || !design_.wants(kWriteBacks)) return;
  design_.written_back(shared.writer, line, pm_space_.newest().read(line), WriteBack::kSent,
                       queue_.now());
}

bool Hierarchy::drop(Line line) {
  if (misses_.contains(line.number)) return false;
  if (const std::size_t way = shared_.find(line); way != kNoWay) evict(way);
  return true;
}

void Hierarchy::flush_arrives(std::uint64_t index, Time now) {
  ++statistics_.flushes;
  Flush& flush = flushes_[index];
  const bool persistent = pm_space_.contains(flush.line);
  // A region may have stored to the line after the flush left its core, and the design may not
  // allow these stores to leave yet. Then they stay in the caches, and only the contents at the
  // time of the flush are written.
  const bool overtaken = persistent && !design_.may_leave(flush.line);
  bool dirty = flush.dirty || (overtaken && flush.dirty_elsewhere);
  const std::size_t way = shared_.find(flush.line);
  if (way != kNoWay && !overtaken) {
    SharedLine& shared = shared_.meta(way);
    dirty |= shared.dirty;
    shared.dirty = false;
    if (flush.invalidate) {
      for (std::uint64_t left = shared.sharers; left != 0; left &= left - 1) {
        dirty |= private_[std::countr_zero(left)].invalidate(flush.line);
      }
      shared_.remove(way);
    } else if (shared.owner != kNoCore && shared.owner != flush.core) {
      dirty |= private_[shared.owner].mark_clean(flush.line);
    }
  }
  if (!dirty) {
    ++statistics_.clean_flushes;
    send_combined_of(flush.line, now);  // a buffer may have opened after the flush left its core
    const auto under_way = under_way_.find(flush.line.number);
    if (under_way != under_way_.end()) {
      under_way->second.flushes.push_back(static_cast<std::uint32_t>(index));
    } else {
      acknowledge_later(static_cast<std::uint32_t>(index), now);
    }
  } else if (persistent) {
    if (!flush.dirty) ++under_way_[flush.line.number].writes;
    const LineData data = overtaken ? flush.data : pm_space_.newest().read(flush.line);
    design_.written_back(flush.core, flush.line, data, WriteBack::kFlush, now);
    ++statistics_.pm_lines_flushed;
    design_.write({.line = flush.line,
                   .data = data,
                   .persisted = completion<&Hierarchy::flush_persisted>(*this, index),
                   .written = {},
                   .departure = overtaken ? flush.departure : 0});
  } else {
    ++statistics_.dram_lines_flushed;
    dram_.write({.line = flush.line,
                 .data = {},
                 .persisted = completion<&Hierarchy::flush_persisted>(*this, index),
                 .written = {}});
  }
}

void Hierarchy::flush_persisted(std::uint64_t index, Time now) {
  acknowledge_later(static_cast<std::uint32_t>(index), now);
  const Line line = flushes_[index].line;
  if (pm_space_.contains(line)) line_persisted(line.number, now);
}

void Hierarchy::line_persisted(std::uint64_t line, Time now) {
  const auto found = under_way_.find(line);
  if (--found->second.writes > 0) return;
  for (const std::uint32_t index : found->second.flushes) acknowledge_later(index, now);
  under_way_.erase(found);
}

void Hierarchy::acknowledge_later(std::uint32_t index, Time now) {
  queue_.schedule(now + acknowledge_latency_, Phase::kCore,
                  completion<&Hierarchy::flush_acknowledged>(*this, index));
}

void Hierarchy::flush_acknowledged(std::uint64_t index, Time now) {
  const Flush& flush = flushes_[index];
  const Completion acknowledge = flush.acknowledge;
  const CoreId core = flush.core;
  const bool combined = flush.combined;
  free_flushes_.push_back(static_cast<std::uint32_t>(index));
  if (combined) {
    combining_.acknowledged(core);
  } else {
    --flushes_under_way_[core];
  }
  acknowledge(now);
  resume(combined ? awaiting_buffer_[core] : awaiting_flush_[core], now);
}

void Hierarchy::resume(Completion& waiting, Time now) {
  if (waiting) std::exchange(waiting, {})(now);
}

void Hierarchy::warm(std::span<const Touch> touches) {
  // Each set of the shared cache ends up with the lines that were touched last, one for each way.
  // All other lines have left all caches, so that they need not be installed. Once all sets are
  // full, every older touch is of a line that was evicted or touched again later.
  CacheArray<std::monostate> kept(shared_.bytes(), shared_.ways(), frames_);
  std::uint64_t free_ways = kept.sets() * kept.ways();
  std::vector<Touch> newest_first;
  for (const Touch& touch : std::views::reverse(touches)) {
    if (free_ways == 0) break;
    if (kept.find(touch.line) == kNoWay) {
      const std::size_t way = kept.victim(touch.line);
      if (kept.occupied(way)) continue;
      kept.install(way, touch.line, {});
      --free_ways;
    }
    newest_first.push_back(touch);
  }
  for (const auto& [core, line] : std::views::reverse(newest_first)) install_warm(core, line);
}

void Hierarchy::install_warm(CoreId core, Line line) {
  std::size_t way = shared_.find(line);
  if (way == kNoWay) {
    way = shared_.victim(line);
    if (shared_.occupied(way)) {
      for (std::uint64_t left = shared_.meta(way).sharers; left != 0; left &= left - 1) {
        private_[std::countr_zero(left)].invalidate(shared_.line(way));
      }
    }
    shared_.install(way, line, {});
  }
  shared_.touch(way);
  SharedLine& shared = shared_.meta(way);
  snoop_others(core, line, true, shared);
  shared.sharers = bit(core);
  shared.owner = static_cast<std::uint8_t>(core);
  evicted_from_private(core, private_[core].fill(line, LineState::kExclusive, 0));
}

}  // namespace pmemsim
