// A path from the cores to the PM controllers past the caches, and of the acknowledgements back:
// what DPO and HOPS flush their persist buffers by, and PMEM-Spec sends every store by.
//
// A write arrives `latency` after it has left, whatever else is under way; who wants an order sends
// one after the other. Its acknowledgement takes the controller's time and the way that every
// answer takes.
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

  // The write leaves its core at `departs`. `write.persisting` is called when it is persistent,
  // `acknowledged` when the core hears of that.
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
  // Writes that haven't been acknowledged.
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
    context_->queue.schedule(now + context_->caches.way_back(), Phase::kCore,
                             completion<&PersistPath::acknowledge>(*this, slot));
  }
  void acknowledge(std::uint64_t slot, Time now) {
    const Completion acknowledged = sent_[static_cast<std::uint32_t>(slot)].acknowledged;
    sent_.give_back(static_cast<std::uint32_t>(slot));
    --under_way_;
    acknowledged(now);
  }

  const Picoseconds latency_;
  std::optional<LayerContext> context_;
  Slab<Sent> sent_;
  std::uint64_t under_way_ = 0;
};

}  // namespace pmemsim
