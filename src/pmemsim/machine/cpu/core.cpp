#include "pmemsim/machine/cpu/core.hpp"

#include <bit>

namespace pmemsim {

Core::Core(const Parts& parts, const Clock& clock, const CoreParameters& parameters,
           const TlbParameters& tlb, const PrefetchParameters& prefetch, CoreId id,
           LockOrder lock_order)
    : queue_(parts.queue),
      hierarchy_(parts.hierarchy),
      pm_space_(parts.pm_space),
      synchronisation_(parts.synchronisation),
      design_(parts.design),
      program_events_(parts.program_events),
      caches_(parts.hierarchy.private_caches(id)),
      clock_(clock),
      id_(id),
      lock_order_(lock_order),
      rob_entries_(parameters.rob_entries),
      full_fences_(parameters.full_fences && !parts.design.lowering().own_fences),
      arm_locks_(parameters.lock_order == LockBarrier::kArm),
      loads_pass_locks_(parameters.loads_pass_locks && !parts.design.wants(kLoads | kRewind)),
      cycle_(clock.cycle()),
      forward_latency_(clock.slots(parameters.forward_latency)),
      locked_latency_(clock.slots(parameters.locked_latency)),
      branch_penalty_(clock.slots(parameters.branch_penalty)),
      time_slice_(clock.slots(parameters.time_slice)),
      run_ahead_(clock.duration(parameters.run_ahead)),
      ends_are_durable_(parts.design.promises().regions == RegionPromise::kAtEnd ||
                        parts.design.commits_synchronously()),
      rewinds_(parts.design.wants(kRewind)),
      hint_instructions_(parts.design.hint_instructions()),
      locks_(lock_order, statistics_),
      races_(parts.queue, parts.synchronisation, completion<&Core::race_over>(*this)),
      reports_(parts.design, parts.pm_space, parts.program_events, clock, id),
      branches_(parameters, statistics_),
      window_(parameters),
      misses_(parts.hierarchy, clock, id, parameters.mshrs, prefetch, statistics_),
      port_(parameters.one_access_at_a_time),
      store_head_(parts, *this, clock, parameters, id, lock_order, misses_, port_, statistics_),
      stores_(store_head_.stores()),
      loads_({window_, stores_, caches_, misses_, port_, statistics_}, clock, parameters, tlb),
      time_(store_head_.waits(), locked_latency_) {
  parts.hierarchy.connect(id, *this);
}

void Core::run(const trace::TraceFile& file, const DecodedSites& decoded, const trace::Races& races,
               std::uint32_t thread, const ProgramCopy& copy, std::uint32_t first_race_object) {
  const LoweredStream::WantedMarks wanted{.region_fences = design_.wants(kRegions),
                                          .hints = design_.wants(kHints),
                                          .read_first = design_.may_leave_unreadable()};
  stream_ = std::make_unique<LoweredStream>(file, thread, design_.lowering(), wanted, copy);
  sites_ = &file.sites();
  decoded_ = &decoded;
  address_offset_ = copy.address_offset;
  window_.begin(sites_->sites().size());
  if (lock_order_ == LockOrder::kRecorded) races_.follow(races, thread, first_race_object);
  dispatch_ = retire_ = clock_.slot(queue_.now());
  half_ = file.operations(thread) / 2;
  store_head_.begin(dispatch_);
  slice_ends_ = time_slice_ > 0 ? dispatch_ + time_slice_ : kUnknownSlot;
  queue_.schedule(queue_.now(), Phase::kCore, completion<&Core::wake>(*this));
}

void Core::profile(TimeProfile& profile, const CoreParameters& parameters, bool alone) {
  profile_ = std::make_unique<CoreProfile>(profile, stores_, clock_, parameters, retire_, alone);
  store_head_.profile(profile_.get());
  time_.profile(profile_.get());
}

void Core::filled(Line line, LineState, Time when, Source source) {
  const Slot slot = clock_.slot(when);
  if (port_.held_for(line)) port_.release(slot);
  constexpr std::array<Cause, 5> kCauses{Cause::kPrivateCache, Cause::kSharedCache,
                                         Cause::kOtherCore, Cause::kDram, Cause::kPm};
  std::uint32_t index = misses_.filled(line, slot);
  while (index != kNoEntry) {
    const std::uint32_t next = window_[index].next_in_line;
    Entry& waiting = window_[index];
    waiting.cause = kCauses[static_cast<std::size_t>(source)];
    if (profile_ != nullptr) profile_->filled(index, line, waiting.cause);
    if (line == Line::of(waiting.address + waiting.size - 1)) {
      // A load that was issued ahead of time may be served by a request that ends before the load
      // begins.
      complete(index, std::max(slot, waiting.ready + caches_.l1_latency()));
    } else {  // crosses into the next line, which may still be in flight
      waiting.ready = std::max(waiting.ready, slot - caches_.l1_latency());
      load(index);
    }
    index = next;
  }
  retry(loads_.take_without_register());
  if (acquiring_ == Acquiring::kLine) write_lock();
  store_head_.drain();
  retry_loads_at_port();
  store_head_.request_lines_ahead();
  advance();
}

std::string Core::waiting_for() const {
  if (finished_) return {};
  std::string text =
      "core " + std::to_string(id_) + " after " + std::to_string(operations_read()) + " operations";
  if (paused_) text += ", paused by the design";
  if (races_.waiting()) {
    text += ", before an access that races with one of thread " +
            std::to_string(races_.awaited_thread());
  }
  if (!window_.empty()) {
    const Entry& oldest = window_[window_.head()];
    const trace::SiteRecord& site = sites_->sites()[oldest.site];
    text +=
        ": the oldest of " + std::to_string(window_.tail() - window_.head()) + " in flight is at " +
        (site.line == 0 ? "an unknown line"
                        : std::string(sites_->string(site.file)) + ":" + std::to_string(site.line));
    if (acquiring_ == Acquiring::kLock) {
      const Entry& oldest_entry = window_[window_.head()];
      text += ", which waits for version " + std::to_string(oldest_entry.version) + " of object " +
              std::to_string(oldest_entry.object) + ", which is at " +
              std::to_string(synchronisation_.version(oldest_entry.object));
    }
  }
  if (!stores_.empty()) {
    const StoreEntry& store = stores_.front();
    text += "; its store queue's head, " + StoreQueueHead::waiting_for(store);
    if (store.kind == StoreKind::kAcquire) {
      text += " waits for version " + std::to_string(store.version) + " of object " +
              std::to_string(store.object) + ", which is at " +
              std::to_string(synchronisation_.version(store.object));
    }
  }
  return text;
}

}  // namespace pmemsim
