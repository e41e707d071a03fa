// Copies: memcpy(), memset() and their like, whether the compiler's intrinsics or the C library's
// functions, are replaced by the runtime's own, which record each piece that they load and store.
#pragma once

#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/IntrinsicInst.h>

#include <cstdint>

#include "library_functions.hpp"
#include "recorder.hpp"

namespace pmemsim::pass {

// The three sites of a copy: what comes before, its loads, its stores. Returns the first; `from`
// is nullptr for what only stores, `data` for what only moves data.
std::uint32_t copy_sites(Recorder& recorder, llvm::Value* to, llvm::Value* from, llvm::Value* data);

void replace_memory_intrinsic(Recorder& recorder, llvm::MemIntrinsic& intrinsic);

// A call of one of the copying functions that LibraryCall lists.
void replace_library_copy(Recorder& recorder, llvm::CallBase& original, LibraryCall library);

}  // namespace pmemsim::pass
