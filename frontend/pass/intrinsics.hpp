// Intrinsics that touch memory: masked and vector accesses, non-temporal and direct stores, flushes
// and fences. memcpy() and similar ones are handled by copies.hpp; an intrinsic that becomes a
// library call is counted as one. An unknown intrinsic of the processor that may write causes a
// warning.
#pragma once

#include <llvm/IR/IntrinsicInst.h>

#include "recorder.hpp"

namespace pmemsim::pass {

// Records the intrinsic; does nothing if it is of none of the kinds in the head comment.
void record_intrinsic(Recorder& recorder, llvm::IntrinsicInst& intrinsic);

}  // namespace pmemsim::pass
