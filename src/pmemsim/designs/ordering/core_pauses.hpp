// Pauses cores for several reasons at a time. A core continues when no reason is left: while a
// region rolls back, a speculation buffer may be full, too.
#pragma once

#include <cstdint>
#include <vector>

#include "pmemsim/designs/interface/thread_control.hpp"

namespace pmemsim {

class CorePauses {
 public:
  explicit CorePauses(std::uint32_t cores) : reasons_(cores) {}
  void connect(ThreadControl& threads) { threads_ = &threads; }

  void pause(CoreId core) {
    if (reasons_[core]++ == 0) threads_->pause(core);
  }
  void resume(CoreId core) {
    if (--reasons_[core] == 0) threads_->resume(core);
  }

 private:
  std::vector<std::uint32_t> reasons_;  // by core
  ThreadControl* threads_ = nullptr;
};

}  // namespace pmemsim
