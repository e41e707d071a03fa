// Intrinsics that touch memory: masked and vector accesses, non-temporal and direct stores, flushes
// and fences; memcpy() and its like go to copies.hpp, what becomes a library call is counted as
// one. One of the processor's that may write and isn't known here is named in a warning.
#pragma once

#include <llvm/IR/IntrinsicInst.h>

#include "recorder.hpp"

namespace pmemsim::pass {

// Does nothing about an intrinsic that is neither.
void record_intrinsic(Recorder& recorder, llvm::IntrinsicInst& intrinsic);

}  // namespace pmemsim::pass
