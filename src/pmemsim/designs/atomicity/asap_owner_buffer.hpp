// ASAP's buffer in DRAM with the owners of lines that have left the shared cache, and the Bloom
// filter of each channel with these lines (ASAP, 5.3).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "pmemsim/common/bloom_filter.hpp"
#include "pmemsim/common/slab.hpp"
#include "pmemsim/designs/interface/layer_context.hpp"

namespace pmemsim {

class AsapOwnerBuffer {
 public:
  AsapOwnerBuffer(std::uint32_t channels, Bytes filter_size)
      : filters_(channels, BloomFilter(filter_size)) {}
  void connect(const LayerContext& context) { context_.emplace(context); }

  // Saves the owner of a line that leaves the shared cache.
  void save(Line line);
  // False if the buffer surely has no owner of the line.
  bool may_have(Line line) const;
  // Reads the buffer beside PM. Calls `done` when both have answered.
  void read_with_owner(Line line, Completion done);
  // Clears the filters, when no region is uncommitted.
  void clear();

 private:
  // A line that is read together with its owner.
  struct Fetch {
    Completion done;
    std::uint32_t unanswered;
  };

  void answered(std::uint64_t fetch, Time now);

  std::optional<LayerContext> context_;
  std::vector<BloomFilter> filters_;  // by channel
  Slab<Fetch> fetches_;
};

}  // namespace pmemsim
