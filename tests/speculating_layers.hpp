// Layers that roll threads back at random (designs/interface/thread_control.hpp), for tests of what
// a rollback restores.
//
// The ordering layer's caches are persistent, so that every crash shows the effect of a rollback.
// The layer has a model of the program's stores, with which it compares memory:
//
//   - all lines after each rollback, when the expected contents don't depend on other threads
//   - a store's line when the store becomes visible, which also checks re-executed regions
//
// The atomicity layer keeps an undo log of bytes in persistent registers.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "pmemsim/designs/atomicity/atomicity.hpp"
#include "pmemsim/designs/choices.hpp"
#include "pmemsim/designs/interface/design_configuration.hpp"
#include "pmemsim/designs/interface/design_recovery.hpp"
#include "pmemsim/designs/interface/layer_context.hpp"
#include "pmemsim/designs/ordering/no_ordering.hpp"
#include "pmemsim/designs/ordering/ordering.hpp"

namespace pmemsim {

struct SpeculationParameters {
  std::uint32_t seed = 1;
  std::uint32_t stores_per_alarm = 0;
  template <class Visitor>
  void describe(Visitor& visit) {
    visit("seed", seed, {}, "Of what is random");
    visit("stores_per_alarm", stores_per_alarm, {}, "On average; 0: no alarms");
  }
};

// The contents of PM that the program's stores produce, where regions can roll back: rules 2 and 3
// of designs/interface/thread_control.hpp.
//
// The stores to a line are kept in the order in which they first became visible. Stores of a region
// that rolls back don't count until they are executed again, and then keep their old positions.
// (Only the last of a region's stores to one location is kept. So no store may overlap another one
// partly, or come before and after one of another thread.)
class RepeatedStores {
 public:
  explicit RepeatedStores(std::uint32_t cores) : latest_(cores) {}

  // Sets the initial contents of a line, before its first store.
  void begins_with(Line line, const LineData& data) {
    if (lines_.try_emplace(line, History{data, {}}).second) expected_.write(line, data);
  }
  // Adds a store. Stores of `region` 0 are outside regions and never roll back.
  void stored(CoreId core, std::uint64_t region, std::uint64_t address,
              const std::vector<std::byte>& value) {
    Latest& latest = latest_[core];
    if (latest.region != region || region == 0) latest = {region, {}};
    for (const Place place : latest.places) {
      Stored& known = stored_at(place);
      if (known.address != address) continue;
      known.value = value;
      known.there = true;
      return rebuild(place.line);
    }
    const Line line = Line::of(address);
    std::vector<Stored>& stores = lines_.at(line).stores;
    latest.places.push_back({line, stores.size()});
    stores.push_back({address, value, true});
    expected_.write(address, value.data(), value.size());
  }
  // Removes the stores of the core's latest region, if it is this one.
  void rolled_back(CoreId core, std::uint64_t region) {
    if (latest_[core].region != region) return;
    for (const Place place : latest_[core].places) {
      stored_at(place).there = false;
      rebuild(place.line);
    }
  }

  bool is_as_expected(const Image& pm, Line line) const {
    return pm.read(line) == expected_.read(line);
  }
  // Number of lines that differ from the expected contents, among all lines that have been stored
  // to.
  std::uint64_t wrong_lines(const Image& pm) const {
    std::uint64_t wrong = 0;
    for (const auto& [line, _] : lines_) wrong += !is_as_expected(pm, line);
    return wrong;
  }

 private:
  struct Stored {
    std::uint64_t address;
    std::vector<std::byte> value;
    bool there;
  };
  struct History {
    LineData before;
    std::vector<Stored> stores;
  };
  struct Place {
    Line line;
    std::size_t number;  // position among the line's stores
  };
  struct Latest {
    std::uint64_t region = 0;
    std::vector<Place> places{};
  };

  Stored& stored_at(Place place) { return lines_.at(place.line).stores[place.number]; }
  void rebuild(Line line) {
    const History& history = lines_.at(line);
    expected_.write(line, history.before);
    for (const Stored& stored : history.stores) {
      if (stored.there) expected_.write(stored.address, stored.value.data(), stored.value.size());
    }
  }

  std::map<Line, History> lines_;
  std::vector<Latest> latest_;  // by core: its latest region
  Image expected_;
};

class SpeculatingOrdering final : public NoOrdering {
 public:
  SpeculatingOrdering(std::uint32_t cores, const SpeculationParameters& parameters)
      : stores_per_alarm_(parameters.stores_per_alarm),
        random_(parameters.seed),
        announced_(cores),
        history_(cores) {}

  void connect(const LayerContext& context) override {
    NoOrdering::connect(context);
    context_.emplace(context);
  }
  std::uint32_t interests() const override { return kStores | kVisibleStores | kRewind; }

  bool fence(const Fence& fence, Time, Completion) override {
    context_->program_events.fence_fulfilled(fence.core, fence.number);
    return true;
  }
  bool store(const Store& store, Time, Completion resume) override {
    announced_[store.core] = {store.region, store.address, {store.value, store.value + store.size}};
    history_.begins_with(store.line(), store.before());
    if (stores_per_alarm_ > 0 && random_() % stores_per_alarm_ == 0) alarm();
    if (random_() % 16 != 0) return true;
    later(1 + random_() % 300'000, resume);
    return false;
  }
  void visible(CoreId core, Line line) override {
    persist(line);
    const Announced& stored = announced_[core];
    history_.stored(core, stored.region, stored.address, stored.value);
    wrong_ += !history_.is_as_expected(context_->pm_space.newest(), line);
  }
  void restored(CoreId, std::uint64_t address, std::uint32_t bytes) override {
    for (std::uint64_t line = address / kLineBytes; line <= (address + bytes - 1) / kLineBytes;
         ++line) {
      persist({line});
    }
    ++restored_;
  }
  // rewinding(): true while a thread rolls back. rewinds(): number of rollbacks, including the
  // current one.
  bool rewinding() const { return rewinding_; }
  std::uint64_t rewinds() const { return rewinds_; }

  void statistics(StatisticsCollector& collector) const override {
    collector("speculating.rewinds", rewinds_, "regions", "Regions taken back");
    collector("speculating.pauses", pauses_, "pauses", "Cores paused");
    collector("speculating.wrong", wrong_, "lines", "Lines that weren't as they had to be");
  }

 private:
  static constexpr std::uint64_t kMostAlarms = 100;

  struct Announced {
    std::uint64_t region = 0;
    std::uint64_t address = 0;
    std::vector<std::byte> value;
  };

  void persist(Line line) {
    context_->pm.persisted_in_caches(line, context_->pm_space.newest().read(line));
  }
  void later(std::uint64_t picoseconds, Completion completion) {
    context_->queue.schedule(
        context_->queue.now() + Picoseconds(static_cast<std::int64_t>(picoseconds)),
        Phase::kController, completion);
  }

  // Schedules a rollback of a random thread.
  void alarm() {
    if (++alarms_ > kMostAlarms) return;  // otherwise a long region would never end
    const CoreId core = static_cast<CoreId>(random_() % context_->threads.cores());
    later(random_() % 400'000, completion<&SpeculatingOrdering::alarmed>(*this, core));
  }
  // Rolls the core back at once, or after a pause of this core or of all cores.
  void alarmed(std::uint64_t core, Time) {
    const auto first = static_cast<CoreId>(core);
    switch (random_() % 3) {
      case 0:
        return rewind(first);
      case 1:
        return pause_until_rewound(first, first, first + 1);
      default:
        return pause_until_rewound(first, 0, context_->threads.cores());
    }
  }
  void pause_until_rewound(CoreId core, CoreId begin, CoreId end) {
    if (paused_end_ != 0) return;
    paused_begin_ = begin;
    paused_end_ = end;
    for (CoreId other = begin; other < end; ++other, ++pauses_) context_->threads.pause(other);
    later(random_() % 2'000'000, completion<&SpeculatingOrdering::pause_over>(*this, core));
  }
  void pause_over(std::uint64_t core, Time) {
    rewind(static_cast<CoreId>(core));
    for (CoreId other = paused_begin_; other < paused_end_; ++other) {
      context_->threads.resume(other);
    }
    paused_end_ = 0;
  }
  void rewind(CoreId core) {
    if (!context_->threads.in_region(core)) return;
    ++rewinds_;
    restored_ = 0;
    rewinding_ = true;
    context_->threads.rewind(core);
    rewinding_ = false;
    // Without a restored store, the announced region is an earlier one.
    if (restored_ > 0) history_.rolled_back(core, announced_[core].region);
    wrong_ += history_.wrong_lines(context_->pm_space.newest());
  }

  const std::uint64_t stores_per_alarm_;
  std::mt19937_64 random_;
  std::optional<LayerContext> context_;
  std::vector<Announced> announced_;
  RepeatedStores history_;
  CoreId paused_begin_ = 0, paused_end_ = 0;
  std::uint64_t restored_ = 0, alarms_ = 0;
  std::uint64_t rewinds_ = 0, pauses_ = 0, wrong_ = 0;
  bool rewinding_ = false;
};

// Keeps the bytes that a crash must restore: the old values of stores of unfinished regions. With
// `together`, all regions finish at once, when no thread is in a region, because regions may read
// each other's stores.
class UndoBytes final : public Atomicity {
 public:
  UndoBytes(std::uint32_t cores, bool together)
      : together_(together), open_(cores), ended_(cores) {}
  void connect(const LayerContext& context) override { program_events_ = &context.program_events; }
  Lowering lowering() const override {
    return Lowering::without({trace::Purpose::kLog, trace::Purpose::kCommit});
  }
  std::uint32_t interests() const override { return kStores | kRegions; }

  // Begins a region, possibly again after its stores were rolled back.
  bool region_begin(CoreId core, std::uint64_t, Time, Completion) override {
    open_[core] = true;
    if (!together_) forget(core);
    return true;
  }
  bool region_end(CoreId core, std::uint64_t region, Time, Completion) override {
    open_[core] = false;
    ended_[core] = region;
    if (!together_) {
      forget(core);
      program_events_->region_durable(core, region);
    } else if (std::find(open_.begin(), open_.end(), true) == open_.end()) {
      log_.clear();
      for (CoreId each = 0; each < ended_.size(); ++each) {
        if (ended_[each] != 0) program_events_->region_durable(each, ended_[each]);
      }
    }
    return true;
  }
  bool store(const Store& store, Time, Completion) override {
    if (store.region == 0) return true;
    const LineData before = store.before();
    const auto first = before.begin() + static_cast<std::ptrdiff_t>(store.address % kLineBytes);
    log_.push_back({store.core, store.address, {first, first + store.size}});
    return true;
  }

  void undo(RecoveryView pm) const {
    for (auto entry = log_.rbegin(); entry != log_.rend(); ++entry) {
      LineData data = pm.read(Line::of(entry->address));
      std::copy(entry->before.begin(), entry->before.end(),
                data.begin() + static_cast<std::ptrdiff_t>(entry->address % kLineBytes));
      pm.write(Line::of(entry->address), data);
    }
  }

 private:
  struct Entry {
    CoreId core;
    std::uint64_t address;
    std::vector<std::byte> before;
  };

  void forget(CoreId core) {
    std::erase_if(log_, [core](const Entry& entry) { return entry.core == core; });
  }

  const bool together_;
  const ProgramEvents* program_events_ = nullptr;
  std::vector<bool> open_;            // by core
  std::vector<std::uint64_t> ended_;  // by core: the latest region
  std::vector<Entry> log_;
};

class UndoBytesRecovery final : public Recovery {
 public:
  explicit UndoBytesRecovery(const UndoBytes& design) : design_(design) {}
  void run(RecoveryView pm) override { design_.undo(pm); }

 private:
  const UndoBytes& design_;
};

// Returns the table of all implementations, with "speculating", "undo-bytes" and
// "undo-bytes-together" added.
inline const ChoiceTable& with_speculation() {
  static const ChoiceTable kTable = [] {
    ChoiceTable table = choices();
    table.push_back({.name = "speculating",
                     .summary = "Takes threads back at random",
                     .needs = {kRegionsAgain},
                     .promises = {.stores_in_order = true,
                                  .caches_persist = true,
                                  .fences = FencePromise::kStores},
                     .parameters = {ParameterGroup::of<SpeculationParameters>("speculating")},
                     .make = [](const Blueprint& blueprint) -> std::unique_ptr<Ordering> {
                       return std::make_unique<SpeculatingOrdering>(
                           blueprint.cores, blueprint.parameters<SpeculationParameters>());
                     }});
    Choice undo{
        .name = "undo-bytes",
        .summary = "Undo log in registers",
        .gives = {kRegionsAgain},
        .promises = {.whole_regions = true, .regions = RegionPromise::kWhenDeclared},
        .make = [](const Blueprint& blueprint) -> std::unique_ptr<Atomicity> {
          return std::make_unique<UndoBytes>(blueprint.cores, false);
        },
        .recovery = [](const Atomicity& design,
                       const trace::TraceFile&) -> std::unique_ptr<Recovery> {
          return std::make_unique<UndoBytesRecovery>(dynamic_cast<const UndoBytes&>(design));
        }};
    table.push_back(undo);
    undo.name = "undo-bytes-together";
    undo.make = [](const Blueprint& blueprint) -> std::unique_ptr<Atomicity> {
      return std::make_unique<UndoBytes>(blueprint.cores, true);
    };
    table.push_back(undo);
    return table;
  }();
  return kTable;
}

}  // namespace pmemsim
