// DPO: persist buffers in the coherence domain, which write stores to PM in their order, one at a
// time.
//
//   A. Kolli, J. Rosen, S. Diestelhorst, A. Saidi, S. Pelley, S. Liu, P. M. Chen, T. F. Wenisch:
//   Delegated Persist Ordering. MICRO 2016; in the version that J. Jeong, C. Jung: PMEM-Spec
//   (ASPLOS 2021), 2.2, 3.1 and 8.1 to 8.3.1, evaluate.
//
// The program is the x86 program, with its flushes and fences (PMEM-Spec, 8.1).
//
//   1  A store to PM that leaves the store queue goes to the L1, and its bytes into its core's
//      persist buffer. It stalls while the buffer has no room for another entry. It coalesces with
//      the youngest entry if that is of the same line and unsent, if no entry depends on it, and if
//      the store adds no dependence. Stores coalesce only where a write persists as a whole:
//      otherwise coalesced stores would lose their order.
//   2  Every fence is a barrier in the buffer: store fences, full fences, locked instructions, and
//      all lock operations (PMEM-Spec, 8.2.2: "not only SFENCE but other barriers"). A barrier
//      takes an entry, together with the next store after it; the core doesn't stall for it.
//   3  Entries leave in their order. In the whole machine only one write is in flight at a time
//      (8.2.2: "globally serializes PM stores and allows only a single flush to the persistent
//      memory controller at once"). The next write leaves when that one has been accepted, with the
//      cores taking turns (open: `token_until`, `turn`). An entry is free when its write has been
//      acknowledged.
//   4  A core may store to, or load from, a line that another core's buffer holds. Then the core's
//      own next entry depends on the youngest such entry. The dependent entry leaves when that
//      entry is persistent.
//   5  Reads of PM that miss the caches snoop all buffers, so that they are never stale. Bytes that
//      the buffers don't hold are read from PM; if the buffers hold the whole line, PM isn't read.
//   6  Dirty lines of PM that the shared cache evicts are dropped (2.2).
//   7  Every line that a core's caches receive takes `snoop_latency` longer for each core whose
//      buffer is snooped (8.3.1: the burden of the coherence bus grows with the cores).
//   8  A fence that makes durable, or whose meaning is unknown, stalls until its core's buffer is
//      empty. The paper doesn't say how durability is known (`draining_fences`: all fences stall,
//      since an sfence doesn't say what it is for). Other fences are fulfilled when all earlier
//      entries of the buffer are persistent.
//
// Left out: the order between a store and earlier loads of its line by other cores (DPO's barriers
// have Bloom filters of loads). No program can detect that order from the values that it has read.
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
  static constexpr CoreId kNoCore = UINT32_MAX;

  // An entry of another core's buffer. A core's entries have numbers, from 1.
  struct Place {
    CoreId core = kNoCore;
    std::uint64_t number = 0;
  };
  struct Entry {
    Line line;
    ByteMask bytes = 0;  // written bytes; none: a barrier
    LineData data{};
    bool depended_on = false;
    std::uint64_t order = 0;  // position among the stores of all cores
    std::vector<Place> after{};
  };
  // A fence that isn't fulfilled yet.
  struct Pending {
    std::uint64_t fence;
    std::uint64_t until;  // the last entry before the fence
    Completion resume;    // resumes the core if it stalls at the fence
  };
  struct Buffer {
    std::deque<Entry> entries;
    std::size_t sent = 0;            // number of entries in flight, at the front
    std::uint64_t acknowledged = 0;  // number of entries that have left the buffer
    bool barrier = false;            // true if a barrier enters before the next store
    std::vector<Place> after;        // dependences of the next entry
    LeavingStore leaving;
    Completion waiting;  // resumes that store, which stalls for room
    std::deque<Pending> fences;
    std::uint64_t youngest() const { return acknowledged + entries.size(); }
  };
  struct Statistics {
    std::uint64_t stores = 0, coalesced = 0, barriers = 0, flushes = 0, dependences = 0;
    std::uint64_t full = 0, buffer_reads = 0, stale_reads = 0;
    template <class Visitor>
    void describe(Visitor& visit) const;
  };

  bool has_free_entry(const Buffer& buffer) const;
  void enter(CoreId core, const LeavingStore& store);
  void depend_on_others(CoreId core, Line line);
  void close(CoreId core);
  bool coalesces_with(const Buffer& buffer, Line line) const;
  void send_next();
  bool send_one();
  std::optional<CoreId> next_core();
  bool holds_whole(Line line) const;
  bool can_send(Buffer& buffer) const;
  void accepted(std::uint64_t core, Time now);
  void acknowledged(std::uint64_t core, Time now);
  void free_entries(CoreId core, Time now);

  const DpoParameters parameters_;
  const bool lines_whole_;  // true if a line's write persists as a whole
  std::vector<Buffer> buffers_;
  PersistPath path_;
  std::optional<LayerContext> context_;
  LineTable<Place> youngest_;  // by line: the youngest entry in all buffers
  StaleLines stale_;
  bool under_way_ = false;
  CoreId turn_ = 0;
  std::uint64_t entered_ = 0;  // number of entries so far, of all cores
  Statistics statistics_;
};

}  // namespace pmemsim
