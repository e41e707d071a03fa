// The path of a layer's own writes from a core's L1 to the controller, past the caches, and of
// their acknowledgements to the core.
#pragma once

#include <optional>

#include "pmemsim/common/slab.hpp"
#include "pmemsim/designs/interface/layer_context.hpp"
#include "pmemsim/machine/memory/memory.hpp"

namespace pmemsim {

class PersistPort {
 public:
  void connect(const LayerContext& context) { context_.emplace(context); }

  // Sends a write that leaves the core now. Calls the write's `persisted` at the controller, and
  // `acknowledged` when the acknowledgement reaches the core. A write must not be dropped before it
  // is acknowledged.
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
