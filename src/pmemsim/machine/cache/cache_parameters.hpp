// Parameters of the cache hierarchy. Latencies add up: a hit in the shared cache costs the core the
// latencies of its L1, its L2 and the shared cache. gem5 and ChampSim, with which the papers that
// give these numbers were evaluated, count in the same way.
#pragma once

#include "pmemsim/common/parameters.hpp"

namespace pmemsim {

struct CacheParameters {
  Bytes size;
  std::uint32_t ways = 8;
  Delay latency = cycles(4);
  Delay tag_latency = cycles(4);

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("size", size, {.least = 0, .most = 1ull << 40}, "Capacity; 0 leaves this level out");
    visit("ways", ways, {.least = 1, .most = 64}, "Associativity");
    visit("latency", latency, {.least = 0, .most = 1e9}, "Time that a hit adds: tags and data");
    visit("tag_latency", tag_latency, {.least = 0, .most = 1e9},
          "Time that a miss or a passing flush adds: tags alone");
  }
};

struct SharedCacheParameters {
  Bytes size{0};
  Bytes size_per_core{2u << 20};
  std::uint32_t ways = 16;
  Delay latency = cycles(40);
  Delay tag_latency = cycles(40);
  Delay snoop_latency = cycles(18);

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("size", size, {.least = 0, .most = 1ull << 40},
          "Capacity that doesn't depend on the cores");
    visit("size_per_core", size_per_core, {.least = 0, .most = 1ull << 40},
          "Capacity added for each core of the machine");
    visit("ways", ways, {.least = 1, .most = 64}, "Associativity");
    visit("latency", latency, {.least = 0, .most = 1e9}, "Time that a hit adds: tags and data");
    visit("tag_latency", tag_latency, {.least = 0, .most = 1e9},
          "Time that a miss or a passing flush adds: tags alone");
    visit("snoop_latency", snoop_latency, {.least = 0, .most = 1e9},
          "Time added when other cores' private caches must give up or send a line");
  }
};

// The path between the shared cache and the memory controllers.
struct PathParameters {
  Delay request_latency = nanoseconds(0);
  Delay response_latency = nanoseconds(0);
  Delay flush_latency = nanoseconds(0);

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("request_latency", request_latency, {.least = 0, .most = 1e9},
          "From the shared cache to the memory controller, beyond the caches' own latencies");
    visit("response_latency", response_latency, {.least = 0, .most = 1e9},
          "From the memory controller back to the core, for data and for acknowledgements");
    visit("flush_latency", flush_latency, {.least = 0, .most = 1e9},
          "Time that a flush takes before it leaves the caches, beyond their look-ups");
  }
};

}  // namespace pmemsim
