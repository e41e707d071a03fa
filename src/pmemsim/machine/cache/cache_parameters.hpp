// Parameters of the cache hierarchy. Latencies add up: a hit in the shared cache costs the core the
// latencies of its L1, its L2 and the shared cache. gem5 and ChampSim count in the same way; the
// papers that give these numbers were evaluated with them.
#pragma once

#include "pmemsim/common/parameters.hpp"

namespace pmemsim {

struct CacheParameters {
  Bytes size;
  std::uint32_t ways = 8;
  Delay latency = cycles(4);
  Delay tag_latency = cycles(4);
  Delay response_latency = cycles(0);

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("size", size, {.least = 0, .most = 1ull << 40},
          "Capacity; 0: the machine does not have this level");
    visit("ways", ways, {.least = 1, .most = 64}, "Associativity");
    visit("latency", latency, {.least = 0, .most = 1e9}, "Latency of a hit (tags and data)");
    visit("tag_latency", tag_latency, {.least = 0, .most = 1e9},
          "Latency that a miss or a passing flush adds (tags only)");
    visit("response_latency", response_latency, {.least = 0, .most = 1e9},
          "Latency that a response from an outer cache or memory adds");
  }
};

// Fault injection: errors that change times and counts, but no crash image.
struct SharedCacheFaults {
  bool one_core = false;
  bool fifo = false;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("one_core", one_core, "the shared cache has the size for one core instead of all cores");
    visit("fifo", fifo,
          "the shared cache evicts its oldest line instead of its least recently used one");
  }
};

struct SharedCacheParameters {
  Bytes size{0};
  Bytes size_per_core{2u << 20};
  std::uint32_t ways = 16;
  Delay latency = cycles(40);
  Delay tag_latency = cycles(40);
  Delay snoop_latency = cycles(18);
  Delay response_latency = cycles(0);
  SharedCacheFaults faults;

  // Returns the capacity in bytes of the shared cache of a machine with this number of cores.
  std::uint64_t bytes(std::uint32_t cores) const {
    return size.count + size_per_core.count * (faults.one_core ? 1 : cores);
  }

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("size", size, {.least = 0, .most = 1ull << 40},
          "Capacity that does not depend on the number of cores");
    visit("size_per_core", size_per_core, {.least = 0, .most = 1ull << 40},
          "Capacity per core of the machine");
    visit("ways", ways, {.least = 1, .most = 64}, "Associativity");
    visit("latency", latency, {.least = 0, .most = 1e9}, "Latency of a hit (tags and data)");
    visit("tag_latency", tag_latency, {.least = 0, .most = 1e9},
          "Latency that a miss or a passing flush adds (tags only)");
    visit("snoop_latency", snoop_latency, {.least = 0, .most = 1e9},
          "Additional latency if other cores' private caches must invalidate or send a line");
    visit("response_latency", response_latency, {.least = 0, .most = 1e9},
          "Latency that a response from memory adds");
  }
};

// The path between the shared cache and the memory controllers.
struct PathParameters {
  Delay request_latency = nanoseconds(0);
  Delay response_latency = nanoseconds(0);
  Delay flush_latency = nanoseconds(0);
  Delay nontemporal_latency = nanoseconds(0);
  std::uint32_t most_reads = 0;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("request_latency", request_latency, {.least = 0, .most = 1e9},
          "Latency from the shared cache to the memory controller, beyond the caches' own "
          "latencies");
    visit("response_latency", response_latency, {.least = 0, .most = 1e9},
          "Latency from the memory controller back to the core, for data and acknowledgements");
    visit("flush_latency", flush_latency, {.least = 0, .most = 1e9},
          "Latency of a flush before it leaves the caches, beyond the look-ups");
    visit("nontemporal_latency", nontemporal_latency, {.least = 0, .most = 1e9},
          "Latency of a line from a write-combining buffer before it leaves the core");
    visit("most_reads", most_reads, {.least = 0, .most = 65536},
          "Largest number of lines that the shared cache reads from memory at a time; 0: no limit");
  }
};

}  // namespace pmemsim
