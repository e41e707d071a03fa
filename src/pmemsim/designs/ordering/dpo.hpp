// DPO: persist buffers in the coherence domain, which write stores to PM in their order, one at a
// time.
//
//   A. Kolli, J. Rosen, S. Diestelhorst, A. Saidi, S. Pelley, S. Liu, P. M. Chen, T. F. Wenisch:
//   Delegated Persist Ordering. MICRO 2016; in the version that J. Jeong, C. Jung: PMEM-Spec
//   (ASPLOS 2021), 2.2, 3.1 and 8.1 to 8.3.1, evaluate.
//
// The program is the x86 program, with its flushes and fences (PMEM-Spec, 8.1).
//
//   1  When a store to PM leaves the store queue, the L1 and its core's persist buffer receive it.
//      The store stalls while the buffer has no free entry. It coalesces with the buffer's youngest
//      entry if all of these hold:
//        - the entry is of the same line, and hasn't been sent;
//        - no entry depends on it, and the store adds no dependence;
//        - the write of a line persists as a whole. Otherwise coalesced stores would lose their
//          order.
//   2  Every fence is a barrier in the buffer: store fences, full fences, locked instructions, and
//      all lock operations (PMEM-Spec, 8.2.2: "not only SFENCE but other barriers"). A barrier
//      takes an entry when the next store after it enters; the core doesn't stall for it.
//   3  The entries of a buffer are sent in their order. In the whole machine only one write is in
//      flight at a time (8.2.2: "globally serializes PM stores and allows only a single flush to
//      the persistent memory controller at once"). The next write is sent when the controller has
//      accepted that write (open: `token_until`). The cores take turns (open: `turn`). An entry is
//      freed when its write has been acknowledged.
//   4  A core may store to, or load from, a line that another core's buffer contains. The core's
//      next entry then depends on the youngest entry of that line. It is sent when that entry is
//      persistent.
//   5  Reads of PM that miss the caches snoop all buffers, and are therefore never stale. Bytes
//      that the buffers don't contain are read from PM. If the buffers contain the whole line, PM
//      isn't read.
//   6  Dirty lines of PM that the shared cache evicts are dropped (2.2).
//   7  Each line fill of a core's caches takes `snoop_latency` longer for each core whose buffer is
//      snooped (8.3.1: the burden of the coherence bus grows with the cores).
//   8  A fence that makes durable, or whose meaning is unknown, stalls until its core's buffer is
//      empty. The paper doesn't say how a core learns that its stores are durable (open:
//      `draining_fences`; with `all`, all fences stall, because an sfence doesn't say what it is
//      for). Other fences are fulfilled when all earlier entries of the buffer are persistent.
//
// Not modelled: the order between a store and earlier loads of its line by other cores (DPO's
// barriers have Bloom filters of loads). No program can detect that order from the values that it
// has read.
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
  DpoOrdering(std::uint32_t cores, bool writes_are_atomic, const DpoParameters& parameters);
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

  // Identifies an entry of any core's buffer. The entries of a core are numbered from 1.
  struct EntryId {
    CoreId core = kNoCore;
    std::uint64_t number = 0;
  };
  struct Entry {
    Line line;
    ByteMask bytes = 0;  // written bytes; 0: the entry is a barrier
    LineData data{};
    bool depended_on = false;      // true if an entry of another core depends on this one
    std::uint64_t order = 0;       // position among the stores of all cores
    std::vector<EntryId> after{};  // entries that this one depends on (rule 4)
  };
  // A fence that isn't fulfilled yet.
  struct Pending {
    std::uint64_t fence;
    std::uint64_t until;  // number of the last entry before the fence
    Completion resume;    // resumes the core if it stalls at the fence
  };
  struct Buffer {
    std::deque<Entry> entries;
    std::size_t sent = 0;            // number of entries in flight, at the front
    std::uint64_t acknowledged = 0;  // number of entries that have left the buffer
    bool barrier = false;            // true if a barrier enters before the next store
    std::vector<EntryId> after;      // entries that the next entry depends on
    LeavingStore leaving;            // the store that leaves the store queue
    Completion waiting;              // resumes that store, if it stalls for a free entry
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
  void log_occupancy(CoreId core) const;
  void depend_on_others(CoreId core, Line line);
  void add_barrier(CoreId core);
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
  const bool writes_are_atomic_;  // true if the write of a line persists as a whole (rule 1)
  std::vector<Buffer> buffers_;
  PersistPath path_;
  std::optional<LayerContext> context_;
  LineTable<EntryId> youngest_;  // by line: the youngest entry in all buffers
  StaleLines stale_;
  bool in_flight_ = false;     // true while a write is in flight (rule 3)
  CoreId turn_ = 0;            // the core whose turn is next
  std::uint64_t entered_ = 0;  // number of entries so far, of all cores
  Statistics statistics_;
};

}  // namespace pmemsim
