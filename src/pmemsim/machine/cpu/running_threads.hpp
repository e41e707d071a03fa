// The interface to a machine's cores for layers that speculate.
#pragma once

#include <vector>

#include "pmemsim/designs/interface/thread_control.hpp"
#include "pmemsim/machine/cpu/core.hpp"

namespace pmemsim {

class Threads final : public ThreadControl {
 public:
  // Adds the next core, in the order of their numbers.
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
