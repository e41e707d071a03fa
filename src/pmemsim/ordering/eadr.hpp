// eADR: the caches belong to the persistence domain, so a store is persistent when it becomes
// visible. Flushes and store fences aren't part of the program; a software log still is, for
// atomicity needs one (Intel, "eADR: new opportunities for persistent memory applications", 2021).
#pragma once

#include "pmemsim/mem/memory.hpp"
#include "pmemsim/ordering/none.hpp"
#include "pmemsim/ordering/ordering_parameters.hpp"

namespace pmemsim {

class EadrOrdering final : public NoOrdering {
 public:
  explicit EadrOrdering(const EadrParameters& parameters) : defects_(parameters.defects) {}
  void connect(const LayerContext& context) override {
    NoOrdering::connect(context);
    pm_ = &context.pm;
  }
  std::uint32_t interests() const override { return defects_.caches ? 0u : kStores; }
  bool store(const Store& store, Picoseconds, Completion) override {
    pm_->persisted_in_caches(store.line(), store.after());
    return true;
  }

 private:
  const EadrDefects defects_;
  Memory* pm_ = nullptr;
};

}  // namespace pmemsim
