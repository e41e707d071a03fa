// What a function writes back to PM: its flushes and fences, whichever way the program spells them,
// and what regions of pm.h flush when they end.
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/InstrTypes.h>

#include <vector>

namespace pmemsim::pass {

class KnownValues;

// A write-back of an object.
struct WriteBack {
  llvm::Instruction* named;  // where the program names the object: its flush, pm_log(), pm_alloc()
  llvm::Instruction* flushed;  // the flush, or the region's pm_end(); nullptr: one of several
  llvm::Value* address;        // a pointer
  llvm::Value* bytes;          // nullptr: the line that the address lies in
};

struct WriteBacks {
  std::vector<WriteBack> blocking;  // in the function's order
  std::vector<llvm::Instruction*> fences;
};

// Those that a fence follows in the same function, outside of loops (janus_hints.hpp, rules 1, 2).
WriteBacks find_write_backs(llvm::Function& function, KnownValues& values);

// Calls that are known to change nothing of what the program keeps in memory: flushes, sfences, and
// functions of pm.h. Regions' begins and ends aren't among them, for a load stays on its side.
bool leaves_memory(const llvm::CallBase& call);

}  // namespace pmemsim::pass
