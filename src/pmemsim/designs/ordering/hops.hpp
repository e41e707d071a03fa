// HOPS: persist buffers that write the epochs of a program to PM in their order.
//
//   S. Nalli, S. Haria, M. D. Hill, M. M. Swift, H. Volos, K. Keeton: An Analysis of Persistent
//   Memory Use with WHISPER. ASPLOS 2017; in the version that J. Jeong, C. Jung: PMEM-Spec (ASPLOS
//   2021), 2.2, 3.1 and 8.1 to 8.3.1, evaluate. Where both papers leave something open, this model
//   follows multifacet's re-implementation for gem5 (github.com/multifacet/ASAP, branch hops;
//   written MA below).
//
// The program has no flushes. Fences that order become ofences. Fences that make durable
// (PMEM-Spec, figure 2), and fences of unknown meaning, become dfences.
//
//   1  When a store to PM leaves the store queue, the L1 and its core's persist buffer receive it.
//      The store coalesces with an unsent entry of the same line and epoch. Without such an entry,
//      it stalls while the buffer is full. (MA)
//   2  An ofence ends the core's epoch without a stall. The buffer then begins to flush (PMEM-Spec,
//      8.1: "flushes the persist-buffer asynchronously"; in MA it doesn't: `ofence`).
//      A dfence also ends the epoch, and flushes the buffer. Until the buffer is empty, the core's
//      next store to PM and its releases to other threads stall, and nothing else (8.2.1: dfence
//      doesn't block volatile operations; in MA it does: `dfence_stops`).
//   3  A buffer that has begun to flush continues until it is empty. It begins as rule 2 says, when
//      it has `flush_threshold` entries, `flush_interval` after a store has entered the empty
//      buffer (MA), and when a read stalls (rule 6). One entry is sent per cycle, only from the
//      oldest epoch. When all entries of that epoch have been acknowledged, those of the next epoch
//      are sent.
//   4  A core may store to, or load from, a line whose last store is in another core's buffer. This
//      ends the other core's epoch and its own. The core's new epoch is sent when the other core's
//      epoch has persisted (the sticky-M state identifies that core; PMEM-Spec, 3.1). A core checks
//      every `poll_interval` whether that epoch has persisted (MA).
//   5  Dirty lines of PM that the shared cache evicts are dropped (2.2).
//   6  The controllers have a Bloom filter of the lines in persist buffers. Every read of PM looks
//      its line up in this filter. While the filter contains the line, or reports it falsely, the
//      read stalls (5.1.1, 8.2.2).
//   7  Each line fill of a core's caches takes longer, because of its sticky bit (8.2.2).
//   8  A region is durable when the dfence before its end is fulfilled.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "pmemsim/common/bloom_filter.hpp"
#include "pmemsim/common/chip_storage.hpp"
#include "pmemsim/common/line_table.hpp"
#include "pmemsim/common/slab.hpp"
#include "pmemsim/designs/interface/stale_lines.hpp"
#include "pmemsim/designs/ordering/hops_parameters.hpp"
#include "pmemsim/designs/ordering/ordering.hpp"
#include "pmemsim/designs/ordering/persist_path.hpp"

namespace pmemsim {

class HopsOrdering final : public Ordering {
 public:
  HopsOrdering(std::uint32_t cores, const HopsParameters& parameters);
  static Storage storage(const HopsParameters& parameters, const Chip& chip);
  void connect(const LayerContext& context) override;
  Lowering lowering() const override;
  std::uint32_t interests() const override {
    return kStores | kVisibleStores | kLoads | kEvictions | kFetches | kReleases | kRegions;
  }
  Delay transfer_latency() const override { return parameters_.sticky_latency; }

  bool store(const Store& store, Time when, Completion resume) override;
  void visible(CoreId core, Line line) override;
  void load(const Load& load, Time when) override;
  bool flush(CoreId, Line, trace::FlushKind, bool, Time, Completion) override { return true; }
  bool fence(const Fence& fence, Time when, Completion resume) override;
  bool region_end(CoreId core, std::uint64_t region, Time when, Completion resume) override;
  bool release(CoreId core, Time when, Completion resume) override;
  Eviction evicted(Line, const LineData&, Time) override { return Eviction::kTaken; }
  bool may_leave(Line) const override { return false; }
  bool fetch(CoreId core, Line line, Time when, Completion done) override;
  void statistics(StatisticsCollector& collector) const override;
  std::string pending() const override;

 private:
  // An acknowledgement's argument contains the core and the number of its entry.
  static constexpr unsigned kCoreShift = 56;

  using EpochNumber = std::uint64_t;  // a core's epochs count from 1

  struct EpochId {
    CoreId core = 0;
    EpochNumber epoch = 0;
  };
  struct Entry {
    Line line;
    ByteMask bytes = 0;
    LineData data{};
    EpochNumber epoch = 0;
    bool sent = false;
    bool acknowledged = false;
  };
  struct Epoch {
    std::uint32_t entries = 0;     // number of entries in the buffer, sent or not
    std::vector<EpochId> after{};  // other cores' epochs that must persist before it
  };
  struct PendingFence {
    EpochNumber until;  // the fence is fulfilled when all epochs up to this one have persisted
    std::uint64_t number;
  };
  struct Published {
    EpochNumber epoch;
    Time when;
  };
  struct PerCore {
    std::deque<Entry> entries;  // entries are removed from the front once they are acknowledged
    std::uint64_t freed = 0;    // number of entries that have left the buffer
    std::uint64_t unsent = 0;   // number of the first unsent entry, including freed ones
    std::deque<Epoch> epochs = std::deque<Epoch>(1);  // the last one is the current epoch
    EpochNumber persisted = 0;                        // this epoch and all before it have persisted
    // Epochs that persisted since about the last poll, the latest one last (rule 4).
    std::deque<Published> published{};
    std::uint32_t in_use = 0;  // number of unacknowledged entries
    bool flushing = false;
    bool durable = false;  // true if a dfence needs the buffer to become empty
    Time departs{};        // earliest time at which the next entry may be sent
    Time flushes_at{-1};   // end of the flush interval; -1: none runs
    // True if the oldest epoch waits for another core's epoch, and if a poll is scheduled.
    bool awaits_epoch = false, poll_scheduled = false;
    std::deque<PendingFence> fences;
    std::vector<std::uint64_t> ended;  // regions that have ended while a dfence was pending
    LeavingStore leaving;
    Completion waiting;  // resumes that store, or a stalled dfence or release

    EpochNumber present() const { return persisted + epochs.size(); }
    Epoch& epoch(EpochNumber number) { return epochs[number - persisted - 1]; }
  };
  struct WaitingRead {
    Line line;
    Completion done;
  };
  struct Statistics {
    std::uint64_t stores = 0, coalesced = 0, flushes = 0, epochs = 0, dependences = 0;
    std::uint64_t full = 0, dfences = 0, filtered_reads = 0, falsely_filtered_reads = 0,
                  stale_reads = 0;
    template <class Visitor>
    void describe(Visitor& visit) const;
  };

  bool may_store(const PerCore& core) const;
  void enter(CoreId number, const LeavingStore& store);
  void log_occupancy(CoreId core) const;
  void depend_on_last_writer(CoreId core, Line line);
  void end_epoch(CoreId core);
  void begin_flushing(CoreId core);
  void begin_interval(CoreId core);
  void interval_elapsed(std::uint64_t core, Time now);
  void flush_oldest_epoch(CoreId core);
  void send(CoreId core, std::size_t index);
  bool may_send(CoreId core, Epoch& epoch);
  void schedule_poll(CoreId core);
  void poll(std::uint64_t core, Time now);
  void acknowledged(std::uint64_t core_and_entry, Time now);
  static bool in_buffer(const PerCore& core, Line line);
  bool epochs_persist(CoreId core);
  void dfence_completed(CoreId core);
  void wake(CoreId core);
  void look_up(std::uint64_t slot, Time now);
  void read_if_not_filtered(std::uint32_t slot);

  const HopsParameters parameters_;
  std::vector<PerCore> cores_;
  PersistPath path_;
  std::optional<LayerContext> context_;
  Picoseconds cycle_{}, filter_latency_{}, flush_interval_{};
  LineTable<EpochId> last_writers_;
  CountingBloomFilter filter_;
  Slab<WaitingRead> reads_;
  std::vector<std::uint32_t> filtered_;  // slots of stalled reads, in the order of their arrival
  StaleLines stale_;
  Statistics statistics_;
};

}  // namespace pmemsim
