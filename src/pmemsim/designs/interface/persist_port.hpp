// The way of a design's own writes: from a core's L1 down to the controller, past the caches, and
// of the acknowledgements back.
#pragma once

#include <optional>

#include "pmemsim/common/slab.hpp"
#include "pmemsim/designs/interface/layer_context.hpp"
#include "pmemsim/machine/memory/memory.hpp"

namespace pmemsim {

class PersistPort {
 public:
  void connect(const LayerContext& context) { context_.emplace(context); }

  // The write leaves the core now. Its `persisted` is called at the controller; `acknowledged`
  // when the core hears of that. A write must not be dropped before it is acknowledged.
  void send(CoreId core, const Write& write, Completion acknowledged);

 private:
  struct Sent {
    Write write;
    Completion acknowledged;
  };
  void arrive(std::uint64_t slot, Time now);
  void persisted(std::uint64_t slot, Time now);
  void acknowledge(std::uint64_t slot, Time now);

  std::optional<LayerContext> context_;
  Slab<Sent> sent_;
};

}  // namespace pmemsim
