// Records the effects of inline assembly on memory (assembly_effects.hpp determines them).
#pragma once

#include <llvm/IR/InstrTypes.h>

#include "recorder.hpp"

namespace pmemsim::pass {

// Records the assembly's effects, and warns of effects that can't be recorded.
void record_assembly(Recorder& recorder, llvm::CallBase& assembly);

}  // namespace pmemsim::pass
