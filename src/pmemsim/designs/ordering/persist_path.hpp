// The path of writes from the cores to the PM controllers, past the caches, and of the
// acknowledgements back. DPO and HOPS flush their persist buffers through this path.
//
// A write arrives `latency` after its departure, whatever else is in flight. The path doesn't order
// writes: a caller that needs an order sends a write when the previous one has been accepted or
// acknowledged. An acknowledgement takes CachePort::controller_to_core().
#pragma once

#include <cassert>
#include <optional>

#include "pmemsim/common/slab.hpp"
#include "pmemsim/designs/interface/layer_context.hpp"

namespace pmemsim {

class PersistPath {
 public:
  explicit PersistPath(Picoseconds latency) : latency_(latency) {}
  void connect(const LayerContext& context) { context_.emplace(context); }

  // Sends a write that leaves its core at `departs`. Calls `write.persisting` when it is
  // persistent, and `acknowledged` when the acknowledgement reaches the core.
  void send(const Write& write, Time departs, Completion acknowledged) {
    assert(departs >= context_->queue.now());
    const std::uint32_t slot = sent_.take();
    sent_[slot] = {write, acknowledged};
    sent_[slot].write.persisted = completion<&PersistPath::persisted>(*this, slot);
    context_->queue.schedule(departs + latency_, Phase::kController,
                             completion<&PersistPath::arrive>(*this, slot));
    ++under_way_;
  }
  Picoseconds latency() const { return latency_; }
  // Returns the number of writes that haven't been acknowledged.
  std::uint64_t under_way() const { return under_way_; }

 private:
  struct Sent {
    Write write;
    Completion acknowledged;
  };

  void arrive(std::uint64_t slot, Time) {
    context_->pm.write(sent_[static_cast<std::uint32_t>(slot)].write);
  }
  void persisted(std::uint64_t slot, Time now) {
    context_->queue.schedule(now + context_->caches.controller_to_core(), Phase::kCore,
                             completion<&PersistPath::acknowledge>(*this, slot));
  }
  void acknowledge(std::uint64_t slot, Time now) {
    const Completion acknowledged = sent_[static_cast<std::uint32_t>(slot)].acknowledged;
    sent_.release(static_cast<std::uint32_t>(slot));
    --under_way_;
    acknowledged(now);
  }

  const Picoseconds latency_;
  std::optional<LayerContext> context_;
  Slab<Sent> sent_;
  std::uint64_t under_way_ = 0;
};

}  // namespace pmemsim
