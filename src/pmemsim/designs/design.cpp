#include "pmemsim/designs/design.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "pmemsim/common/sentences.hpp"
#include "pmemsim/designs/atomicity/atomicity.hpp"
#include "pmemsim/designs/backend/backend.hpp"
#include "pmemsim/designs/backend/backend_parts.hpp"
#include "pmemsim/designs/interface/design_recovery.hpp"
#include "pmemsim/designs/ordering/ordering.hpp"
#include "pmemsim/designs/precompute/janus_parameters.hpp"
#include "pmemsim/designs/precompute/precompute.hpp"

namespace pmemsim {
namespace {

// True if metadata entries of lines may persist later than the lines' data.
bool entries_may_be_deferred(const Blueprint& blueprint, const Atomicity& atomicity) {
  const auto* const parameters = blueprint.design.find_parameters<BackendParameters>();
  return parameters != nullptr && parameters->metadata_atomicity == MetadataAtomicity::kSelective &&
         !blueprint.design.operations().empty() && atomicity.restores_lines();
}

// Returns the factor for the number of units: only Janus scales them (section 5.2.6).
std::uint32_t unit_scale(const DesignConfiguration& design) {
  for (const ParameterGroup& group : design.precompute().parameters) {
    if (group.get<JanusParameters>() != nullptr) return design.parameters<JanusParameters>().scale;
  }
  return 1;
}

BackendParts make_parts(const Blueprint& blueprint, bool entries_may_be_deferred) {
  BackendParts parts;
  for (const Choice* const choice : blueprint.design.operations()) {
    parts.operations.push_back(std::get<Choice::MakeOperation>(choice->make)(blueprint));
  }
  const auto* const parameters = blueprint.design.find_parameters<BackendParameters>();
  const auto* const cache = blueprint.design.find_parameters<MetadataCacheParameters>();
  if (parameters != nullptr && cache != nullptr) {
    parts.add_shared(*parameters, *cache, blueprint.cores, unit_scale(blueprint.design),
                     entries_may_be_deferred);
  }
  return parts;
}

// Returns the backend's injected faults; there are some only if the table has operations.
BackendFaults backend_faults(const Blueprint& blueprint) {
  const auto* const parameters = blueprint.design.find_parameters<BackendParameters>();
  return parameters == nullptr ? BackendFaults{} : parameters->faults;
}

// Checks that a layer which rolls threads back excludes hardware logs: its row must need
// kRegionsAgain.
void check_rewinds(const Blueprint& blueprint) {
  for (const Choice* const part : blueprint.design.chosen()) {
    if (std::ranges::count(part->needs, kRegionsAgain) > 0) return;
  }
  throw Error("a layer re-executes regions, but no layer's implementation needs " +
              std::string(kRegionsAgain));
}

// Rule 2 (design.hpp).
Lowering lowering(const Blueprint& blueprint, const Ordering& ordering,
                  const Atomicity& atomicity) {
  Lowering lowering = ordering.lowering() & atomicity.lowering();
  if (blueprint.hand_placed_flushes) {
    lowering.keeps_the_rest[static_cast<std::size_t>(trace::Purpose::kDataFlush)] = false;
  }
  return lowering;
}

}  // namespace

Design::Design(const Blueprint& blueprint, EventQueue& queue, Memory& pm)
    : make_recovery_(blueprint.design.atomicity().recovery),
      promises_(blueprint.design.promises()),
      ordering_(std::get<Choice::MakeOrdering>(blueprint.design.ordering().make)(blueprint)),
      atomicity_(std::get<Choice::MakeAtomicity>(blueprint.design.atomicity().make)(blueprint)),
      may_leave_unreadable_(entries_may_be_deferred(blueprint, *atomicity_)),
      backend_(std::make_unique<Backend>(queue, pm, make_parts(blueprint, may_leave_unreadable_),
                                         blueprint.pm.front_latency, backend_faults(blueprint))),
      precompute_(std::get<Choice::MakePrecompute>(blueprint.design.precompute().make)(blueprint)),
      ordering_interests_(ordering_->interests()),
      atomicity_interests_(atomicity_->interests()),
      interests_(ordering_->interests() | atomicity_->interests() | precompute_->interests() |
                 (may_leave_unreadable_ ? std::uint32_t{kStores} : 0)),
      commits_synchronously_(atomicity_->commits_synchronously()),
      lowering_(pmemsim::lowering(blueprint, *ordering_, *atomicity_)),
      fences_(blueprint.cores),
      fences_before_region_(blueprint.cores) {
  if (wants(kRewind)) check_rewinds(blueprint);
}

Design::~Design() = default;

void Design::connect(EventQueue& queue, const Clock& clock, CachePort& caches, Memory& dram,
                     PmSpace& pm_space, const ProgramEvents& program_events,
                     ThreadControl& threads) {
  const LayerContext context{queue, clock,    caches,         *backend_,
                             dram,  pm_space, program_events, threads};
  ordering_->connect(context);
  atomicity_->connect(context);
  precompute_->connect(context);
  backend_->predictions().configure(precompute_->result_buffer(), *precompute_,
                                    precompute_->validator());
}

void Design::drain() {
  backend_->predictions().discard_all();
  atomicity_->drain();
}

namespace {

// Returns when the metadata entry of the store's line has to persist.
EntryNeed entry_need(const Store& store) {
  if (store.purpose == trace::Purpose::kCommit) return EntryNeed::kCommit;
  const bool undone = store.region != 0 && store.purpose == trace::Purpose::kProgram;
  return undone ? EntryNeed::kLater : EntryNeed::kTogether;
}

}  // namespace

// Rule 1 (design.hpp). A layer that has stalled the store isn't called for it again.
bool Design::store(LayerAsked& asked, const Store& store, Time when, Completion resume) {
  if (asked == LayerAsked::kNone) {
    asked = LayerAsked::kAtomicity;
    if (may_leave_unreadable_) backend_->parts().stored(store.line(), entry_need(store));
    if (atomicity_interests_.include(kStores) && !atomicity_->store(store, when, resume))
      return false;
  }
  if (asked == LayerAsked::kAtomicity) {
    asked = LayerAsked::kOrdering;
    if (ordering_interests_.include(kStores) && !ordering_->store(store, when, resume))
      return false;
  }
  return true;
}

bool Design::region_end(LayerAsked& asked, CoreId core, std::uint64_t region, Time when,
                        Completion resume) {
  if (asked == LayerAsked::kNone) {
    asked = LayerAsked::kAtomicity;
    if (atomicity_interests_.include(kRegions) &&
        !atomicity_->region_end(core, region, when, resume)) {
      return false;
    }
  }
  if (asked == LayerAsked::kAtomicity) {
    asked = LayerAsked::kOrdering;
    if (ordering_interests_.include(kRegions) &&
        !ordering_->region_end(core, region, when, resume)) {
      return false;
    }
  }
  return true;
}

void Design::load(const Load& load, Time when) {
  if (atomicity_interests_.include(kLoads)) atomicity_->load(load, when);
  if (ordering_interests_.include(kLoads)) ordering_->load(load, when);
}

Eviction Design::evicted(Line line, const LineData& data, Time when) {
  if (atomicity_interests_.include(kEvictions) &&
      atomicity_->evicted(line, data, when) == Eviction::kTaken) {
    return Eviction::kTaken;
  }
  return ordering_interests_.include(kEvictions) ? ordering_->evicted(line, data, when)
                                                 : Eviction::kWrite;
}

void Design::fetch(CoreId core, Line line, Time when, Completion done) {
  if (atomicity_interests_.include(kFetches) && atomicity_->fetch(core, line, when, done)) return;
  if (ordering_interests_.include(kFetches) && ordering_->fetch(core, line, when, done)) return;
  backend_->read(line, done);
}

std::string Design::pending() const {
  const std::string layers[] = {ordering_->pending(), atomicity_->pending(), backend_->pending()};
  return sentences(std::size(layers), [&](std::size_t layer) { return layers[layer]; });
}

void Design::statistics(StatisticsCollector& collector) const {
  ordering_->statistics(collector);
  atomicity_->statistics(collector);
  backend_->statistics(collector);
  precompute_->statistics(collector);
}

std::unique_ptr<Recovery> Design::recovery(const trace::TraceFile& trace) const {
  if (make_recovery_ == nullptr) return std::make_unique<NoRecovery>();
  return make_recovery_(*atomicity_, trace);
}

void Design::observe(HintObserver* hints, WriteObserver* writes) {
  precompute_->observe(hints);
  backend_->observe(writes);
}

void Design::require_readable(Line line) { backend_->parts().stored(line, EntryNeed::kTogether); }

void Design::visible(CoreId core, Line line) {
  if (ordering_interests_.include(kVisibleStores)) ordering_->visible(core, line);
}

bool Design::may_flush(CoreId core, Line line, Time when, Completion resume) {
  return !atomicity_interests_.include(kFlushes) || atomicity_->flush(core, line, when, resume);
}

bool Design::flush(CoreId core, Line line, trace::FlushKind kind, bool dirty, Time when,
                   Completion resume) {
  if (atomicity_interests_.include(kFlushes) && atomicity_->flushed(line) == Eviction::kTaken)
    return true;
  return ordering_->flush(core, line, kind, dirty, when, resume);
}

void Design::non_temporal(CoreId core, Line line, ByteMask bytes, Time when) {
  if (atomicity_interests_.include(kFlushes) && atomicity_->flushed(line) == Eviction::kTaken)
    return;
  ordering_->non_temporal(core, line, bytes, when);
}

bool Design::fence(CoreId core, trace::FenceMeaning meaning, Time when, Completion resume) {
  return ordering_->fence({core, ++fences_[core], meaning}, when, resume);
}

bool Design::region_begin(CoreId core, std::uint64_t region, Time when, Completion resume) {
  fences_before_region_[core] = fences_[core];
  if (ordering_interests_.include(kRegions)) ordering_->region_begin(core, region);
  return !atomicity_interests_.include(kRegions) ||
         atomicity_->region_begin(core, region, when, resume);
}

bool Design::fence_regions(CoreId core, Time when, Completion resume) {
  return !atomicity_interests_.include(kRegions) || atomicity_->fence_regions(core, when, resume);
}

bool Design::context_switch(CoreId core, Time when, Completion resume) {
  return atomicity_->context_switch(core, when, resume);
}

bool Design::release(CoreId core, Time when, Completion resume) {
  return ordering_->release(core, when, resume);
}

void Design::synchronised(CoreId core, trace::SyncKind kind, Time when) {
  if (ordering_interests_.include(kSynchronisation)) ordering_->synchronised(core, kind, when);
}

// The rollback ends the region's log, so recovery no longer restores a line that can't be read.
void Design::restored(CoreId core, std::uint64_t address, std::uint32_t bytes) {
  if (may_leave_unreadable_) {
    const Line last = Line::of(address + bytes - 1);
    for (Line line = Line::of(address); line.number <= last.number; ++line.number) {
      require_readable(line);
    }
  }
  if (ordering_interests_.include(kRewind)) ordering_->restored(core, address, bytes);
}

void Design::rewound(CoreId core) {
  fences_[core] = fences_before_region_[core];
  thread_ended(core);
}

void Design::thread_ended(CoreId core) {
  precompute_->thread_ended(core);
  backend_->predictions().discard_thread(core);
}

void Design::stored(const RetiredStore& store, Time when) { precompute_->stored(store, when); }

std::uint32_t Design::hint_instructions() const { return precompute_->hint_instructions(); }

void Design::hint(CoreId core, const Hint& hint, Time when) { precompute_->hint(core, hint, when); }

void Design::evicted_clean(Line line, Time when) {
  if (atomicity_interests_.include(kCleanEvictions)) atomicity_->evicted_clean(line, when);
}

void Design::written_back(CoreId core, Line line, const LineData& data, WriteBack how, Time when) {
  if (wants(kWriteBacks)) precompute_->written_back(core, line, data, how, when);
}

std::uint64_t Design::next_departure() { return backend_->next_departure(); }

void Design::write(const Write& write) { backend_->write(write); }

Delay Design::transfer_latency() const { return ordering_->transfer_latency(); }

Delay Design::lock_latency() const { return ordering_->lock_latency(); }

bool Design::may_leave(Line line) const {
  return atomicity_->may_leave(line) && ordering_->may_leave(line);
}

std::string Design::remedy() const { return atomicity_->remedy(); }

}  // namespace pmemsim
