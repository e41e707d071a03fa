#include "pmemsim/designs/interface/lowered_stream.hpp"

namespace pmemsim {

using trace::MarkKind;

bool LoweredStream::keep_mark(trace::Operation& operation) {
  switch (static_cast<MarkKind>(operation.detail)) {
    case MarkKind::kPurpose:
      state_.purpose = static_cast<trace::Purpose>(operation.address);
      state_.kept_in_part = dropping() || !lowering_.keeps_the_rest[purpose_index()];
      return false;
    case MarkKind::kNextFence:
      state_.next_meaning = static_cast<trace::FenceMeaning>(operation.address);
      return false;
    case MarkKind::kRegionBegin:
    case MarkKind::kRegionEnd:
      return operation.address == 1;  // nested regions are flattened
    case MarkKind::kFenceRegions:
      return wanted_.region_fences;
    case MarkKind::kHint:
      // A hint directly after another hint has no data of its own.
      if (std::exchange(state_.hint_given, true)) state_.hint_data.clear();
      ++state_.hints;
      operation.address += operation.address != 0 ? copy_.address_offset : 0;
      return wanted_.hints;
    case MarkKind::kHintData:
      if (!wanted_.hints) return false;
      if (std::exchange(state_.hint_given, false)) state_.hint_data.clear();
      for (const std::uint64_t word : {operation.address, operation.second}) {
        const auto bytes = std::as_bytes(std::span(&word, 1));
        state_.hint_data.insert(state_.hint_data.end(), bytes.begin(), bytes.end());
      }
      return false;
    case MarkKind::kAllocate:
    case MarkKind::kFree:
      operation.address += copy_.address_offset;
      return wanted_.allocations;
    case MarkKind::kReadFirst:
      operation.address += copy_.address_offset;
      return wanted_.read_first;
    default:
      return false;
  }
}

}  // namespace pmemsim
