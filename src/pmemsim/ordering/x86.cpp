#include "pmemsim/ordering/x86.hpp"

#include <utility>

namespace pmemsim {

bool X86Ordering::flush(CoreId core, Line line, trace::FlushKind kind, bool dirty, Picoseconds when,
                        Completion resume) {
  PerCore& state = cores_[core];
  ++state.outstanding;
  hierarchy_->flush(core, line, kind != trace::FlushKind::kClwb, dirty, when,
                    completion<&X86Ordering::acknowledged>(*this, core));
  if (kind != trace::FlushKind::kClflush) return true;
  state.waiting = resume;  // rule 2
  return false;
}

bool X86Ordering::fence(CoreId core, trace::FenceMeaning, Picoseconds, Completion resume) {
  PerCore& state = cores_[core];
  if (state.outstanding == 0) return true;
  state.waiting = resume;  // rule 3
  return false;
}

void X86Ordering::acknowledged(std::uint64_t core, Picoseconds now) {
  PerCore& state = cores_[core];
  if (--state.outstanding > 0 || !state.waiting) return;
  std::exchange(state.waiting, {})(now);
}

std::string X86Ordering::pending() const {
  std::string text;
  for (std::size_t core = 0; core < cores_.size(); ++core) {
    if (cores_[core].outstanding == 0) continue;
    text += (text.empty() ? "" : "; ") + std::to_string(cores_[core].outstanding) +
            " flushes of core " + std::to_string(core) + " not acknowledged";
  }
  return text;
}

}  // namespace pmemsim
