// A cache on the chip for lines of the backend's metadata (Janus, Table 3: counter cache,
// Merkle-tree cache). It records which lines are cached, and which of them differ from PM. Their
// contents are kept by their operation.
//
// A line counts as cached from the look-up that misses, although the line has yet to be read. A
// second look-up before the read has completed therefore hits.
//
// Each area of metadata begins at a different set. Otherwise all areas at powers of two would begin
// at the first set, such as the levels of a tree, and the copies of a program (run.instances).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "pmemsim/common/cache_array.hpp"
#include "pmemsim/common/mix.hpp"
#include "pmemsim/common/parameters.hpp"
#include "pmemsim/common/relations.hpp"

namespace pmemsim {

struct MetadataCacheParameters {
  Bytes size_per_core{512u << 10};
  std::uint32_t ways = 16;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("size_per_core", size_per_core, {.least = 64, .most = 1ull << 40},
          "Capacity per core of the machine; the cores share the cache");
    visit("ways", ways, {.least = 1, .most = 64}, "Associativity");
  }
};

// Returns why a cache whose parameters begin with `prefix` can't be built, or an empty string.
inline std::string metadata_cache_problem(const std::string& prefix,
                                          const MetadataCacheParameters& parameters,
                                          std::uint32_t cores) {
  return cache_geometry_problem(prefix + ".size_per_core * core.count",
                                parameters.size_per_core.count * cores, prefix + ".ways",
                                parameters.ways);
}

struct MetadataCacheStatistics {
  std::uint64_t look_ups = 0;
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
  std::uint64_t write_backs = 0;

  template <class Visitor>
  void describe(Visitor& visit) const {
    visit.quantity("look_ups", look_ups);
    visit("hits", hits, "lines", "Look-ups that hit", share_of("look_ups"));
    visit("misses", misses, "lines", "Look-ups whose line was read from PM", share_of("look_ups"));
    visit("write_backs", write_backs, "lines", "Dirty lines that were evicted and written to PM",
          part_of("misses"));
  }
};

class MetadataCache {
 public:
  MetadataCache(const MetadataCacheParameters& parameters, std::uint32_t cores)
      : lines_(parameters.size_per_core.count * cores, parameters.ways) {}

  struct Found {
    bool hit;
    std::optional<Line> evicted{};  // line to write back, since PM has an older version
  };
  // Looks a line up, and inserts it if it isn't cached. `changes`: it will differ from PM.
  Found look_up(Line line, bool changes) {
    ++statistics_.look_ups;
    const std::size_t way = lines_.find(moved(line));
    if (way != kNoWay) {
      lines_.touch(way);
      lines_.meta(way).changed |= changes;
      ++statistics_.hits;
      return {.hit = true};
    }
    ++statistics_.misses;
    return {.hit = false, .evicted = install(line, changes)};
  }
  // Marks the line as equal to PM. Returns false if it was equal already, or isn't cached.
  bool mark_clean(Line line) {
    const std::size_t way = lines_.find(moved(line));
    return way != kNoWay && std::exchange(lines_.meta(way).changed, false);
  }
  bool contains(Line line) const { return lines_.find(moved(line)) != kNoWay; }
  const MetadataCacheStatistics& statistics() const { return statistics_; }

 private:
  struct State {
    bool changed = false;  // PM has an older version
  };

  static constexpr std::uint64_t kAreaLines = 4096;

  // Permutes lines within an area; applied twice, it returns the original line.
  static Line moved(Line line) {
    return {line.number ^ mix(line.number / kAreaLines) % kAreaLines};
  }

  std::optional<Line> install(Line line, bool changes) {
    const std::size_t way = lines_.victim(moved(line));
    const bool written = lines_.occupied(way) && lines_.meta(way).changed;
    const Line evicted = moved(lines_.line(way));
    lines_.install(way, moved(line), {changes});
    if (!written) return {};
    ++statistics_.write_backs;
    return evicted;
  }

  CacheArray<State> lines_;
  MetadataCacheStatistics statistics_;
};

}  // namespace pmemsim
