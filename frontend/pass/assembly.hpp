// Records what a piece of inline assembly does to memory (assembly_effects.hpp finds that out).
#pragma once

#include <llvm/IR/InstrTypes.h>

#include "recorder.hpp"

namespace pmemsim::pass {

// Warns of what can't be recorded.
void record_assembly(Recorder& recorder, llvm::CallBase& assembly);

}  // namespace pmemsim::pass
