// The coherent cache hierarchy: every core's private caches and the shared cache that includes
// them and keeps their directory.
//
// A request takes effect, for all cores at once, when it reaches the shared cache: that is the
// point of order of the protocol (MESI), so there are no transient states. What a request finds
// out there (a snoop, a miss) adds to its latency; the line's data are usable from then on.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "pmemsim/atomicity/atomicity.hpp"
#include "pmemsim/backend/backend.hpp"
#include "pmemsim/cache/cache_array.hpp"
#include "pmemsim/cache/cache_parameters.hpp"
#include "pmemsim/cache/private_caches.hpp"
#include "pmemsim/core/event_queue.hpp"
#include "pmemsim/core/statistics.hpp"
#include "pmemsim/cpu/clock.hpp"
#include "pmemsim/mem/memory.hpp"
#include "pmemsim/sim/pm_space.hpp"

namespace pmemsim {

// Where a load's or store's line came from.
enum class Source : std::uint8_t { kPrivate, kShared, kOtherCore, kDram, kPm };

// The way between the shared cache and the memory controllers.
struct PathParameters {
  Delay request_latency = nanoseconds(0);
  Delay response_latency = nanoseconds(0);

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("request_latency", request_latency, {.least = 0, .most = 1e9},
          "From the shared cache to the memory controller, beyond the caches' own latencies");
    visit("response_latency", response_latency, {.least = 0, .most = 1e9},
          "From the memory controller back to the core, for data and for acknowledgements");
  }
};

struct HierarchyStatistics {
  std::uint64_t requests = 0, shared_hits = 0, dram_reads = 0, pm_reads = 0;
  std::uint64_t snoops = 0, invalidations = 0, pm_write_backs = 0, dram_write_backs = 0;
  std::uint64_t flushes = 0, clean_flushes = 0;

  template <class Visitor>
  void describe(Visitor& visit) const {
    visit("requests", requests, "requests",
          "Misses of private caches that reached the shared cache");
    visit("shared_hits", shared_hits, "requests", "Of these, found in the shared cache");
    visit("dram_reads", dram_reads, "lines", "Lines read from DRAM");
    visit("pm_reads", pm_reads, "lines", "Lines read from persistent memory");
    visit("snoops", snoops, "requests", "Requests for which other cores' caches were asked");
    visit("invalidations", invalidations, "lines", "Private copies given up for another core");
    visit("pm_write_backs", pm_write_backs, "lines",
          "Dirty PM lines that the shared cache evicted");
    visit("dram_write_backs", dram_write_backs, "lines", "Dirty DRAM lines that it evicted");
    visit("flushes", flushes, "lines", "Flushes that reached the shared cache");
    visit("clean_flushes", clean_flushes, "lines", "Of these, of lines that were clean everywhere");
  }
};

// Whoever asked for a line: a core.
class CacheClient {
 public:
  virtual ~CacheClient() = default;
  // The line stands in the private caches from now on; its data are usable at `when`.
  virtual void filled(Line line, LineState state, Picoseconds when, Source source) = 0;
};

class Hierarchy {
 public:
  struct Parts {
    EventQueue& queue;
    PmSpace& pm_space;
    Backend& pm;
    Memory& dram;
    Ordering& ordering;
    Atomicity& atomicity;
  };

  Hierarchy(const Parts& parts, const Clock& clock, std::uint32_t cores, const CacheParameters& l1,
            const CacheParameters& l2, const SharedCacheParameters& shared,
            const PathParameters& path);

  void connect(CoreId core, CacheClient& client) { clients_[core] = &client; }
  PrivateCaches& private_caches(CoreId core) { return private_[core]; }

  // A private miss, or a store to a line that the core may not write, leaves the core at `when`.
  void request(CoreId core, Line line, bool to_write, Picoseconds when);

  // A flush leaves the core at `when`. `dirty`: the core's own copy was modified. What is written
  // is the line's newest value when the flush arrives: what others have stored to it meanwhile must
  // not be undone. `acknowledge` is called at the core once all that was stored to the line before
  // is persistent: if it is clean everywhere, after the writes of it that are under way.
  void flush(CoreId core, Line line, bool invalidate, bool dirty, Picoseconds when,
             Completion acknowledge);

  // A design has sent the line's newest value to memory by itself: all copies are clean.
  void mark_clean(Line line);

  // Before the run: the line was touched by that core.
  void warm(CoreId core, Line line);

  // How long a write that passes the caches takes from a core to the controller, and an
  // acknowledgement back.
  Picoseconds way_down(CoreId core) const {
    return clock_.time(private_[core].passing_latency()) + shared_tag_latency_ + request_latency_;
  }
  Picoseconds way_back() const { return response_latency_; }

  const HierarchyStatistics& statistics() const { return statistics_; }
  std::size_t pending_misses() const { return misses_.size(); }

 private:
  static constexpr std::uint8_t kNobody = 255;
  struct SharedLine {
    std::uint64_t sharers = 0;  // a bit for each core that may have a copy
    Picoseconds ready{0};
    std::uint8_t owner = kNobody;  // the core whose copy is exclusive or modified
    bool dirty = false;
  };
  struct Waiter {
    CoreId core;
    bool to_write;
  };
  struct Flush {
    Line line;
    CoreId core;
    bool invalidate, dirty;
    Completion acknowledge;
  };
  // The writes of a PM line that have left the caches and aren't persistent yet, and the flushes
  // that found it clean and wait for them.
  struct UnderWay {
    std::uint32_t writes = 0;
    std::vector<std::uint32_t> flushes;
  };

  void request_arrives(std::uint64_t packed, Picoseconds now);
  void miss_leaves(std::uint64_t line, Picoseconds now);
  void memory_answers(std::uint64_t line, Picoseconds now);
  void flush_arrives(std::uint64_t index, Picoseconds now);
  void flush_persisted(std::uint64_t index, Picoseconds now);
  void flush_acknowledged(std::uint64_t index, Picoseconds now);
  void acknowledge_later(std::uint32_t index, Picoseconds now);
  void line_persisted(std::uint64_t line, Picoseconds now);

  void serve(CoreId core, Line line, bool to_write, std::size_t way, Picoseconds when,
             Source source);
  bool take_from_others(CoreId core, Line line, bool to_write, SharedLine& shared);
  std::size_t make_room(Line line);
  void evict(std::size_t way);
  void write_back(Line line);
  void left_private(CoreId core, const Departure& departure);

  EventQueue& queue_;
  PmSpace& pm_space_;
  Backend& pm_;
  Memory& dram_;
  Ordering& ordering_;
  Atomicity& atomicity_;
  Clock clock_;
  Picoseconds shared_latency_, shared_tag_latency_, snoop_latency_, request_latency_,
      response_latency_;
  std::vector<PrivateCaches> private_;
  std::vector<CacheClient*> clients_;
  CacheArray<SharedLine> shared_;
  std::unordered_map<std::uint64_t, std::vector<Waiter>> misses_;  // lines on their way from memory
  std::unordered_map<std::uint64_t, UnderWay> under_way_;
  std::vector<Flush> flushes_;  // under way; slots are reused
  std::vector<std::uint32_t> free_flushes_;
  HierarchyStatistics statistics_;
};

}  // namespace pmemsim
