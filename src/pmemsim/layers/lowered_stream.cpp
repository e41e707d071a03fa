#include "pmemsim/layers/lowered_stream.hpp"

namespace pmemsim {

using trace::MarkKind;

bool LoweredStream::keep_mark(trace::Operation& operation) {
  switch (static_cast<MarkKind>(operation.detail)) {
    case MarkKind::kPurpose:
      purpose_ = static_cast<trace::Purpose>(operation.address);
      kept_in_part_ = dropping() || !lowering_.keeps_the_rest[purpose_index()];
      return false;
    case MarkKind::kNextFence:
      next_meaning_ = static_cast<trace::FenceMeaning>(operation.address);
      return false;
    case MarkKind::kRegionBegin:
    case MarkKind::kRegionEnd:
      return operation.address == 1;  // nested regions are flattened
    case MarkKind::kFenceRegions:
      return wanted_.region_fences;
    case MarkKind::kHint:
      if (std::exchange(hint_given_, true)) hint_data_.clear();  // this one announces none
      operation.address += operation.address != 0 ? copy_.address_offset : 0;
      return wanted_.hints;
    case MarkKind::kHintData:
      if (!wanted_.hints) return false;
      if (std::exchange(hint_given_, false)) hint_data_.clear();
      for (const std::uint64_t word : {operation.address, operation.second}) {
        const auto bytes = std::as_bytes(std::span(&word, 1));
        hint_data_.insert(hint_data_.end(), bytes.begin(), bytes.end());
      }
      return false;
    case MarkKind::kAllocate:
      operation.address += copy_.address_offset;
      return wanted_.allocations;
    default:
      return false;
  }
}

}  // namespace pmemsim
