// Replaces calls of memcpy(), memset() and similar functions, both intrinsics and the C library's,
// by the runtime's own functions. These record each segment that they load and store.
#pragma once

#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/IntrinsicInst.h>

#include <cstdint>

#include "library_functions.hpp"
#include "recorder.hpp"

namespace pmemsim::pass {

// Adds the three sites of a copy: the instructions before it, its loads, its stores. Returns the
// first; `from` is nullptr if it only stores, `data` if it only moves data.
std::uint32_t copy_sites(Recorder& recorder, llvm::Value* to, llvm::Value* from, llvm::Value* data);

void replace_memory_intrinsic(Recorder& recorder, llvm::MemIntrinsic& intrinsic);

// Replaces a call of one of the copying functions that LibraryCall lists.
void replace_library_copy(Recorder& recorder, llvm::CallBase& original, LibraryCall library);

}  // namespace pmemsim::pass
