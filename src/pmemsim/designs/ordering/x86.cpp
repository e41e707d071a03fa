#include "pmemsim/designs/ordering/x86.hpp"

#include <utility>

#include "pmemsim/common/sentences.hpp"

namespace pmemsim {

bool X86Ordering::flush(CoreId core, Line line, trace::FlushKind kind, bool dirty, Time when,
                        Completion resume) {
  if (faults_.flush || (faults_.snoop && !dirty)) return true;
  PerCore& state = cores_[core];
  ++state.outstanding;
  caches_->flush(core, line, kind != trace::FlushKind::kClwb, dirty, when,
                 completion<&X86Ordering::acknowledged>(*this, core));
  if (kind != trace::FlushKind::kClflush) return true;
  state.waiting = resume;  // rule 2 (x86.hpp)
  return false;
}

void X86Ordering::non_temporal(CoreId core, Line line, ByteMask bytes, Time when) {
  if (faults_.flush) return;
  const Completion acknowledged = completion<&X86Ordering::acknowledged>(*this, core);
  cores_[core].outstanding += caches_->combine(core, line, bytes, when, acknowledged);
}

bool X86Ordering::fence(const Fence& fence, Time, Completion resume) {
  PerCore& state = cores_[fence.core];
  if (state.outstanding == 0 || faults_.fence) {
    program_events_->fence_fulfilled(fence.core, fence.number);
    return true;
  }
  state.waiting = resume;  // rule 3 (x86.hpp)
  state.fence = fence.number;
  return false;
}

void X86Ordering::acknowledged(std::uint64_t core, Time now) {
  PerCore& state = cores_[core];
  if (--state.outstanding > 0 || !state.waiting) return;
  if (const std::uint64_t fence = std::exchange(state.fence, 0); fence > 0) {
    program_events_->fence_fulfilled(static_cast<CoreId>(core), fence);
  }
  std::exchange(state.waiting, {})(now);
}

std::string X86Ordering::pending() const {
  return sentences(cores_.size(), [this](std::size_t core) {
    const std::uint32_t flushes = cores_[core].outstanding;
    return flushes == 0 ? ""
                        : std::to_string(flushes) + " flushes of core " + std::to_string(core) +
                              " not acknowledged";
  });
}

}  // namespace pmemsim
