// Latency of an instruction in cycles, from its operands to its result.
//
// The core is Skylake, whose queue sizes the papers' machines use. Sources: "Fog" is Agner Fog's
// "Instruction tables" (2022), section "Intel Skylake"; "LLVM" is the scheduling model
// X86SchedSkylakeClient.td of LLVM 19, for instructions that Fog doesn't list.
#pragma once

#include <llvm/IR/Instruction.h>

namespace pmemsim::pass {

// Returns the latency of an instruction, an intrinsic or inline assembly; not of a call.
unsigned latency(const llvm::Instruction& instruction);

// True if the latency is that of an integer division.
bool divides(const llvm::Instruction& instruction);

}  // namespace pmemsim::pass
