// DPO: persist buffers in the coherence domain, which write stores to PM in their order, one at a
// time.
//
//   A. Kolli, J. Rosen, S. Diestelhorst, A. Saidi, S. Pelley, S. Liu, P. M. Chen, T. F. Wenisch:
//   Delegated Persist Ordering. MICRO 2016; as J. Jeong, C. Jung: PMEM-Spec (ASPLOS 2021), 2.2, 3.1
//   and 8.1 to 8.3.1, evaluate it.
//
// The program is that of x86, with its flushes and fences (PMEM-Spec, 8.1).
//
//   1  A store to PM that leaves the store queue goes to the L1 and into its core's persist buffer,
//      with its bytes. It joins the youngest entry if that is of the same line, hasn't been sent,
//      nobody depends on it, and the store brings no dependence of its own; and only where a write
//      persists as a whole, since stores that have joined would lose their order otherwise. It
//      waits while there is no room for an entry of its own.
//   2  Every fence is a barrier in the buffer: store fences, full fences, locked instructions, and
//      all that takes and gives locks (PMEM-Spec, 8.2.2: "not only SFENCE but other barriers"). It
//      takes an entry, together with the next store behind it; nothing waits for it.
//   3  Entries leave in their order. In the whole machine only one write is under way at a time
//      (8.2.2: "globally serializes PM stores and allows only a single flush to the persistent
//      memory controller at once"): the next leaves when it has been accepted, of the cores in
//      turn (open: `token_until`, `turn`). An entry is free when its write has been acknowledged.
//   4  A store to, or a load from, a line that another core's buffer holds makes the next entry of
//      its own core depend on the youngest such entry: it leaves when that is persistent.
//   5  Reads of PM that miss the caches ask all buffers, so that they are never stale. Bytes that
//      the buffers don't hold come from PM; if they hold all, PM isn't asked.
//   6  Dirty lines of PM that the shared cache evicts are dropped (2.2).
//   7  Each core whose buffer has to be asked takes `snoop_latency` of every line that comes to a
//      core's caches (8.3.1: the burden of the coherence bus grows with the cores).
//   8  A fence that makes durable waits until its core's buffer is empty, and so does one of
//      unknown meaning: the paper doesn't say how durability is known (`draining_fences`: all wait,
//      since an sfence doesn't say what it is for). Other fences are fulfilled when what was in the
//      buffer before them is persistent.
//
// Left out: that a store waits for stores before another core's loads of its line (DPO's barriers
// have Bloom filters of loads). No program finds that out from what it has read.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "pmemsim/common/chip_storage.hpp"
#include "pmemsim/common/line_table.hpp"
#include "pmemsim/designs/interface/stale_lines.hpp"
#include "pmemsim/designs/ordering/dpo_parameters.hpp"
#include "pmemsim/designs/ordering/ordering.hpp"
#include "pmemsim/designs/ordering/persist_path.hpp"

namespace pmemsim {

class DpoOrdering final : public Ordering {
 public:
  DpoOrdering(std::uint32_t cores, bool lines_whole, const DpoParameters& parameters);
  static Storage storage(const DpoParameters& parameters, const Chip& chip);
  void connect(const LayerContext& context) override;
  Lowering lowering() const override;
  std::uint32_t interests() const override {
    return kStores | kVisibleStores | kLoads | kEvictions | kFetches | kSynchronisation | kReleases;
  }
  Delay transfer_latency() const override;

  bool store(const Store& store, Time when, Completion resume) override;
  void visible(CoreId core, Line line) override;
  void load(const Load& load, Time when) override;
  bool flush(CoreId, Line, trace::FlushKind, bool, Time, Completion) override { return true; }
  bool fence(const Fence& fence, Time when, Completion resume) override;
  void synchronised(CoreId core, trace::SyncKind kind, Time when) override;
  bool release(CoreId core, Time when, Completion resume) override;
  Eviction evicted(Line, const LineData&, Time) override { return Eviction::kTaken; }
  bool may_leave(Line) const override { return false; }
  bool fetch(CoreId core, Line line, Time when, Completion done) override;
  void statistics(StatisticsCollector& collector) const override;
  std::string pending() const override;

 private:
  static constexpr CoreId kNobody = UINT32_MAX;

  // Of another core's buffer: entries have numbers, from 1.
  struct Place {
    CoreId core = kNobody;
    std::uint64_t number = 0;
  };
  struct Entry {
    Line line;
    ByteMask bytes = 0;  // none: a barrier
    LineData data{};
    bool depended_on = false;
    std::uint64_t order = 0;  // in which the stores of all cores came
    std::vector<Place> after{};
  };
  // That isn't fulfilled yet.
  struct Pending {
    std::uint64_t fence;
    std::uint64_t until;  // the last entry before it
    Completion resume;    // if the core waits for it
  };
  struct Buffer {
    std::deque<Entry> entries;
    std::size_t left = 0;            // so many of these are on their way to PM
    std::uint64_t acknowledged = 0;  // so many entries have left
    bool barrier = false;            // goes in before the next store
    std::vector<Place> after;        // what the next entry depends on
    LeavingStore leaving;
    Completion waiting;  // that store, for room
    std::deque<Pending> fences;
    std::uint64_t youngest() const { return acknowledged + entries.size(); }
  };
  struct Statistics {
    std::uint64_t stores = 0, coalesced = 0, barriers = 0, flushes = 0, dependences = 0;
    std::uint64_t full = 0, buffer_reads = 0, stale_reads = 0;
    template <class Visitor>
    void describe(Visitor& visit) const;
  };

  bool has_room(const Buffer& buffer) const;
  void enter(CoreId core, const LeavingStore& store);
  void depend_on_others(CoreId core, Line line);
  void close(CoreId core);
  bool joins(const Buffer& buffer, Line line) const;
  void send_next();
  bool send_one();
  std::optional<CoreId> next_core();
  bool holds_whole(Line line) const;
  bool can_leave(Buffer& buffer) const;
  void accepted(std::uint64_t core, Time now);
  void acknowledged(std::uint64_t core, Time now);
  void free_entries(CoreId core, Time now);

  const DpoParameters parameters_;
  const bool lines_whole_;  // writes persist so
  std::vector<Buffer> buffers_;
  PersistPath path_;
  std::optional<LayerContext> context_;
  LineTable<Place> youngest_;  // by line: the youngest entry of all buffers
  StaleLines stale_;
  bool under_way_ = false;
  CoreId turn_ = 0;
  std::uint64_t entered_ = 0;  // entries, of all cores
  Statistics statistics_;
};

}  // namespace pmemsim
