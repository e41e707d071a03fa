// Layers that take threads back at random (layers/thread_control.hpp), for tests of what that
// restores.
//
// The ordering layer's caches are persistent, so that what is taken back is seen at each crash.
// When it has taken a thread back it compares what PM holds with what it held before the region's
// stores, but for what others have stored since. The atomicity layer keeps an undo log of bytes in
// persistent registers.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "pmemsim/design/choices.hpp"
#include "pmemsim/design/design_configuration.hpp"
#include "pmemsim/ordering/none.hpp"

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

class SpeculatingOrdering final : public NoOrdering {
 public:
  SpeculatingOrdering(std::uint32_t cores, const SpeculationParameters& parameters)
      : cores_(cores),
        stores_per_alarm_(parameters.stores_per_alarm),
        random_(parameters.seed),
        announced_(cores),
        before_(cores) {}

  void connect(const LayerContext& context) override {
    NoOrdering::connect(context);
    context_.emplace(context);
  }
  std::uint32_t interests() const override { return kStores | kVisibleStores | kRewind; }

  bool fence(const Fence& fence, Picoseconds, Completion) override {
    context_->program_events.fence_fulfilled(fence.core, fence.number);
    return true;
  }
  bool store(const Store& store, Picoseconds, Completion resume) override {
    remember(store);
    announced_[store.core] = {store.address, store.size};
    if (stores_per_alarm_ > 0 && random_() % stores_per_alarm_ == 0) alarm();
    if (random_() % 16 != 0) return true;
    later(1 + random_() % 300'000, resume);
    return false;
  }
  void visible(CoreId core, Line line) override {
    persist(line);
    const Announced& stored = announced_[core];
    changed(core, stored.address, stored.bytes);
  }
  void restored(CoreId core, std::uint64_t address, std::uint32_t bytes) override {
    for (std::uint64_t line = address / kLineBytes; line <= (address + bytes - 1) / kLineBytes;
         ++line) {
      persist({line});
    }
    changed(core, address, bytes);
    ++restored_;
  }

  void statistics(StatisticsCollector& collector) const override {
    collector("speculating.rewinds", rewinds_, "regions", "Regions taken back");
    collector("speculating.pauses", pauses_, "pauses", "Cores paused");
    collector("speculating.wrong", wrong_, "bytes", "Bytes that weren't restored");
  }

 private:
  static constexpr std::uint64_t kMostAlarms = 100;

  struct Announced {
    std::uint64_t address = 0;
    std::uint32_t bytes = 0;
  };
  // What is to be there when the region has been taken back, of all bytes that it has stored to.
  struct Before {
    std::uint64_t region = 0;
    std::map<std::uint64_t, std::byte> bytes;
  };

  std::byte newest(std::uint64_t address) const {
    return context_->pm_space.newest().read(Line::of(address))[address % kLineBytes];
  }
  void remember(const Store& store) {
    Before& before = before_[store.core];
    if (before.region != store.region) before = {store.region, {}};
    if (store.region == 0) return;
    for (std::uint64_t at = store.address; at < store.address + store.size; ++at) {
      before.bytes.try_emplace(at, newest(at));
    }
  }
  // What others have stored stays.
  void changed(CoreId by, std::uint64_t address, std::uint32_t bytes) {
    for (CoreId core = 0; core < cores_; ++core) {
      if (core == by) continue;
      auto& before = before_[core].bytes;
      for (auto at = before.lower_bound(address); at != before.end() && at->first < address + bytes;
           ++at) {
        at->second = newest(at->first);
      }
    }
  }

  void persist(Line line) {
    context_->pm.persisted_in_caches(line, context_->pm_space.newest().read(line));
  }
  void later(std::uint64_t picoseconds, Completion completion) {
    context_->queue.schedule(
        context_->queue.now() + Picoseconds(static_cast<std::int64_t>(picoseconds)),
        Phase::kController, completion);
  }

  // Every way in which a thread may be taken back: at once, or after a pause of it or of all cores.
  void alarm() {
    if (++alarms_ > kMostAlarms) return;  // a long region would never come to its end
    const CoreId core = static_cast<CoreId>(random_() % context_->threads.cores());
    later(random_() % 400'000, completion<&SpeculatingOrdering::alarmed>(*this, core));
  }
  void alarmed(std::uint64_t core, Picoseconds) {
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
  void pause_over(std::uint64_t core, Picoseconds) {
    rewind(static_cast<CoreId>(core));
    for (CoreId other = paused_begin_; other < paused_end_; ++other) {
      context_->threads.resume(other);
    }
    paused_end_ = 0;
  }
  void rewind(CoreId core) {
    if (!context_->threads.in_region(core)) return;
    restored_ = 0;
    context_->threads.rewind(core);
    ++rewinds_;
    if (restored_ == 0) return;  // of a region without a store, so that `before_` is another's
    for (const auto& [address, byte] : before_[core].bytes) wrong_ += newest(address) != byte;
  }

  const std::uint32_t cores_;
  const std::uint64_t stores_per_alarm_;
  std::mt19937_64 random_;
  std::optional<LayerContext> context_;
  std::vector<Announced> announced_;
  std::vector<Before> before_;
  CoreId paused_begin_ = 0, paused_end_ = 0;
  std::uint64_t restored_ = 0, alarms_ = 0;
  std::uint64_t rewinds_ = 0, pauses_ = 0, wrong_ = 0;
};

// What must be restored if a crash comes: bytes before the stores of regions that aren't over. With
// `together`, regions that see each other's stores are over when no thread is in a region.
class UndoBytes final : public Atomicity {
 public:
  UndoBytes(std::uint32_t cores, bool together)
      : together_(together), open_(cores), ended_(cores) {}
  void connect(const LayerContext& context) override { program_events_ = &context.program_events; }
  Lowering lowering() const override {
    return Lowering::without({trace::Purpose::kLog, trace::Purpose::kCommit});
  }
  std::uint32_t interests() const override { return kStores | kRegions; }

  // Begins anew, perhaps: all that it had stored has been taken back.
  bool region_begin(CoreId core, std::uint64_t, Picoseconds, Completion) override {
    open_[core] = true;
    if (!together_) forget(core);
    return true;
  }
  bool region_end(CoreId core, std::uint64_t region, Picoseconds, Completion) override {
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
  bool store(const Store& store, Picoseconds, Completion) override {
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

// The choices "speculating" and "undo-bytes", or "undo-bytes-together".
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
