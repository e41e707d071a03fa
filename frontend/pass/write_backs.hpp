// The write-backs of a function to PM: its flushes and fences, in all spellings, and the data that
// regions of pm.h flush when they end.
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/InstrTypes.h>

#include <vector>

namespace pmemsim::pass {

class KnownValues;

// A write-back of an object.
struct WriteBack {
  llvm::Instruction* named;  // where the program names the object: its flush, pm_log(), pm_alloc()
  llvm::Instruction*
      flushed;           // the flush, or the region's pm_end(); nullptr: the region has several
  llvm::Value* address;  // a pointer
  llvm::Value* bytes;    // nullptr: the line that contains the address
};

struct WriteBacks {
  std::vector<WriteBack> blocking;  // each is followed by a fence; in the function's order
  std::vector<llvm::Instruction*> fences;
};

// Finds the write-backs outside of loops behind which the same function has a fence
// (janus_hints.hpp, rules 1, 2).
WriteBacks find_write_backs(llvm::Function& function, KnownValues& values);

// True for calls that are known to leave the program's data in memory unchanged: flushes, sfences,
// and functions of pm.h. pm_begin() and pm_end() are excluded, since a load must not move across
// them.
bool writes_no_memory(const llvm::CallBase& call);

}  // namespace pmemsim::pass
