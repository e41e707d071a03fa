// The coherent cache hierarchy: every core's private caches, and the inclusive shared cache with
// their directory.
//
// A request takes effect for all cores at once when it reaches the shared cache. This is the point
// of order of the protocol (MESI), which therefore has no transient states. Later parts of the
// request (a snoop, a miss) add to its latency, after which the line's data are usable.
//
// A fill that evicts a dirty line waits outside the cache while other writes wait in the channel of
// the evicted line. So a stream of evictions is no faster than its memory.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <unordered_map>
#include <vector>

#include "pmemsim/common/cache_array.hpp"
#include "pmemsim/common/clock.hpp"
#include "pmemsim/common/event_queue.hpp"
#include "pmemsim/common/relations.hpp"
#include "pmemsim/designs/design.hpp"
#include "pmemsim/designs/interface/cache_port.hpp"
#include "pmemsim/designs/interface/pm_space.hpp"
#include "pmemsim/machine/cache/cache_parameters.hpp"
#include "pmemsim/machine/cache/private_caches.hpp"
#include "pmemsim/machine/cache/write_combining.hpp"
#include "pmemsim/machine/memory/memory.hpp"

namespace pmemsim {

// The source of the line that a load or store requested.
enum class Source : std::uint8_t { kPrivate, kShared, kOtherCore, kDram, kPm };

struct HierarchyStatistics {
  std::uint64_t requests = 0, repeated_requests = 0, joined_misses = 0;
  std::uint64_t shared_hits = 0, dram_reads = 0, pm_reads = 0;
  std::uint64_t snoops = 0, invalidations = 0, pm_write_backs = 0, dram_write_backs = 0;
  std::uint64_t evictions_taken = 0, evictions_written = 0, delayed_fills = 0;
  std::uint64_t pm_lines_flushed = 0, dram_lines_flushed = 0;
  std::uint64_t flushes = 0, clean_flushes = 0;
  std::uint64_t lines_combined = 0, lines_combined_in_part = 0;

  template <class Visitor>
  void describe(Visitor& visit) const {
    visit("requests", requests, "requests",
          "Misses of private caches that reached the shared cache");
    visit.quantity("repeated_requests", repeated_requests, share_of("requests", "origin"));
    visit("shared_hits", shared_hits, "requests",
          "Misses of private caches that hit in the shared cache", share_of("requests"));
    visit.quantity("joined_misses", joined_misses, share_of("requests"));
    visit("dram_reads", dram_reads, "lines", "Lines read from DRAM", share_of("requests"),
          origin_of("dram.reads"));
    visit("pm_reads", pm_reads, "lines", "Lines read from persistent memory", share_of("requests"));
    visit("snoops", snoops, "requests", "Requests that snooped other cores' caches",
          part_of("requests"));
    visit("invalidations", invalidations, "lines", "Private copies invalidated for another core");
    visit("pm_write_backs", pm_write_backs, "lines",
          "Dirty PM lines that the shared cache evicted");
    visit("dram_write_backs", dram_write_backs, "lines",
          "Dirty DRAM lines that the shared cache evicted", origin_of("dram.writes"));
    visit("delayed_fills", delayed_fills, "waits",
          "Waits of a fill for other writes in the channel of the line that it evicts");
    visit.quantity("evictions_taken", evictions_taken, share_of("pm_write_backs"));
    visit.quantity("evictions_written", evictions_written, share_of("pm_write_backs"),
                   origin_of("received.data_writes"));
    visit("flushes", flushes, "lines", "Flushes that reached the shared cache",
          part_of("core.flushes", "lines_combined"));
    visit("clean_flushes", clean_flushes, "lines", "Flushes of lines that were clean in all caches",
          share_of("flushes"));
    visit.quantity("pm_lines_flushed", pm_lines_flushed, share_of("flushes"),
                   origin_of("received.data_writes"));
    visit.quantity("dram_lines_flushed", dram_lines_flushed, share_of("flushes"),
                   origin_of("dram.writes"));
    visit("lines_combined", lines_combined, "lines",
          "Lines of non-temporal stores sent by write-combining buffers", part_of("flushes"));
    visit("lines_combined_in_part", lines_combined_in_part, "lines",
          "Lines of non-temporal stores sent before all of their bytes were stored",
          part_of("lines_combined"));
  }
};

// The requester of a line: a core.
class CacheClient {
 public:
  virtual ~CacheClient() = default;
  // The line is in the private caches from now on; its data are usable at `when`.
  virtual void filled(Line line, LineState state, Time when, Source source) = 0;
};

class Hierarchy final : public CachePort {
 public:
  struct Parts {
    EventQueue& queue;
    PmSpace& pm_space;
    Memory& dram;
    Memory& pm;
    Design& design;
  };

  // The number of lines that a core may have in flight to memory without an acknowledgement.
  struct CoreBuffers {
    std::uint32_t write_combining;
    std::uint32_t flushes;
  };

  Hierarchy(const Parts& parts, const Clock& clock, std::uint32_t cores, const CacheParameters& l1,
            const CacheParameters& l2, const SharedCacheParameters& shared,
            const PathParameters& path, const CoreBuffers& buffers, PageFrames frames = {});

  void connect(CoreId core, CacheClient& client) { clients_[core] = &client; }
  PrivateCaches& private_caches(CoreId core) { return private_[core]; }

  // Sends a request that leaves the core at `when`: a private miss, or a store to a line that the
  // core may not write.
  void request(CoreId core, Line line, bool to_write, Time when);

  void flush(CoreId core, Line line, bool invalidate, bool dirty, Time when,
             Completion acknowledge) override;
  bool combine(CoreId core, Line line, ByteMask bytes, Time when, Completion acknowledge) override;
  // True if a non-temporal store of the core to the line may enter a write-combining buffer at
  // `when`. If all buffers are in use, it sends the oldest one, and `freed` is called later.
  bool has_buffer(CoreId core, Line line, Time when, Completion freed);
  // True if the core may send another flush. Otherwise `freed` is called later.
  bool may_send_flush(CoreId core, Completion freed);
  // True if a flush of the core is in flight. `acknowledged` is called once, when one has been
  // acknowledged.
  bool await_flush(CoreId core, Completion acknowledged);
  void mark_clean(Line line) override;
  bool drop(Line line) override;
  // Sends the contents of the core's write-combining buffers at `when`.
  void send_combined(CoreId core, Time when);

  struct Touch {
    CoreId core;
    Line line;
  };
  // Fills the caches before the run with the lines of the last accesses. The newest access is the
  // last element.
  void warm(std::span<const Touch> touches);

  Picoseconds shared_to_controller() const override {
    return shared_tag_latency_ + request_latency_;
  }
  Picoseconds core_to_controller(CoreId core) const override {
    return clock_.duration(private_[core].passing_latency()) + shared_to_controller();
  }
  Picoseconds controller_to_core() const override { return acknowledge_latency_; }

  const HierarchyStatistics& statistics() const { return statistics_; }
  std::size_t pending_misses() const { return misses_.size(); }

 private:
  static constexpr std::uint8_t kNoCore = 255;
  struct SharedLine {
    std::uint64_t sharers = 0;  // bit mask of the cores that may have a copy
    Time ready{};
    std::uint8_t owner = kNoCore;   // the core whose copy is exclusive or modified
    std::uint8_t writer = kNoCore;  // the core whose modified copy was written back here last
    bool dirty = false;

    void take(bool modified, CoreId from) {
      if (!modified) return;
      dirty = true;
      writer = static_cast<std::uint8_t>(from);
    }
  };
  struct Waiter {
    CoreId core;
    bool to_write;
  };
  struct Flush {
    Line line;
    CoreId core;
    bool invalidate, dirty, dirty_elsewhere;
    bool combined = false;  // the line of a write-combining buffer
    Completion acknowledge;
    LineData data;  // contents, with their order number, when the flush left the core
    std::uint64_t departure;
  };
  // The writes of a PM line that have left the caches and are not yet persistent. `flushes` are the
  // flushes that found the line clean and wait for these writes.
  struct UnderWay {
    std::uint32_t writes = 0;
    std::vector<std::uint32_t> flushes;
  };

  std::uint32_t new_flush(CoreId core, Line line, bool invalidate, bool dirty,
                          Completion acknowledge);
  void install_warm(CoreId core, Line line);
  void capture_contents(Flush& flush);
  void send_flush(std::uint32_t index, Time when);
  void send_combined(const CombinedLine& combined, Time when);
  void send_combined_of(Line line, Time when);
  void request_arrives(std::uint64_t packed, Time now);
  void begin_read(Line line, Time when);
  void end_read(Time now);
  void miss_leaves(std::uint64_t line, Time now);
  void memory_answers(std::uint64_t line, Time now);
  bool dirty_elsewhere(CoreId core, Line line) const;
  void flush_arrives(std::uint64_t index, Time now);
  void flush_persisted(std::uint64_t index, Time now);
  void flush_acknowledged(std::uint64_t index, Time now);
  static void resume(Completion& waiting, Time now);
  void acknowledge_later(std::uint32_t index, Time now);
  void line_persisted(std::uint64_t line, Time now);

  void serve(CoreId core, Line line, bool to_write, std::size_t way, Time when, Source source);
  bool snoop_others(CoreId core, Line line, bool to_write, SharedLine& shared);
  bool fill_waits(Line line);
  bool dirty(std::size_t way) const;
  std::size_t free_way(Line line);
  void evict(std::size_t way);
  void write_back(Line line, CoreId writer);
  void evicted_from_private(CoreId core, const Departure& departure);

  EventQueue& queue_;
  PmSpace& pm_space_;
  Memory& dram_;
  Memory& pm_;
  Design& design_;
  Clock clock_;
  Picoseconds shared_latency_, shared_tag_latency_, snoop_latency_, request_latency_,
      flush_latency_, nontemporal_latency_;
  // Latencies of responses: from memory to the shared cache's entrance, from there until the line
  // is usable in the shared cache, from there to a core, and of an acknowledgement to a core.
  Picoseconds path_response_, response_latency_, transfer_latency_, acknowledge_latency_;
  std::vector<PrivateCaches> private_;
  std::vector<CacheClient*> clients_;
  const bool fifo_;  // injected fault: a hit doesn't count as a use of the line
  CacheArray<SharedLine> shared_;
  PageFrames frames_;
  std::unordered_map<std::uint64_t, std::vector<Waiter>> misses_;  // lines in flight from memory
  const std::uint32_t most_reads_;                                 // 0: no limit
  std::uint32_t reads_ = 0;                                        // reads of memory under way
  struct Read {
    Line line;
    Time when;  // the time at which it could have left
  };
  std::deque<Read> waiting_reads_;
  std::unordered_map<std::uint64_t, UnderWay> under_way_;
  WriteCombiningBuffers combining_;
  const std::uint32_t most_flushes_;
  std::vector<std::uint32_t> flushes_under_way_;              // by core
  std::vector<Completion> awaiting_buffer_, awaiting_flush_;  // by core
  std::vector<Flush> flushes_;                                // flushes in flight; slots are reused
  std::vector<std::uint32_t> free_flushes_;
  HierarchyStatistics statistics_;
};

}  // namespace pmemsim
