// The threads that run on a machine's cores. Layers that speculate pause them and roll them back
// (designs/interface/thread_control.hpp).
#pragma once

#include <vector>

#include "pmemsim/designs/interface/thread_control.hpp"
#include "pmemsim/machine/cpu/core.hpp"

namespace pmemsim {

class RunningThreads final : public ThreadControl {
 public:
  // Adds a core. Cores are added in the order of their numbers.
  void add(Core& core) { cores_.push_back(&core); }

  std::uint32_t cores() const override { return static_cast<std::uint32_t>(cores_.size()); }
  void pause(CoreId core) override { cores_[core]->pause(); }
  void resume(CoreId core) override { cores_[core]->resume(); }
  bool in_region(CoreId core) const override { return cores_[core]->in_region(); }
  void rewind(CoreId core) override { cores_[core]->rewind(); }

 private:
  std::vector<Core*> cores_;
};

}  // namespace pmemsim
