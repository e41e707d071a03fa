// What can be told of a function's values at compile time: where pointers point to, what memory
// holds, and from where on a value can be computed. (What the optimiser will find out later; at -O0
// every variable still is in memory.)
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/Analysis/AliasAnalysis.h>
#include <llvm/Analysis/MemorySSA.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>

#include <cstdint>
#include <memory>

namespace pmemsim::pass {

// A place in memory: so many bytes behind a pointer.
struct Place {
  llvm::Value* base;
  std::int64_t offset;
};

class KnownValues {
 public:
  // Of the function as it is now.
  explicit KnownValues(llvm::Function& function);
  ~KnownValues();
  KnownValues(const KnownValues&) = delete;
  KnownValues& operator=(const KnownValues&) = delete;

  const llvm::DominatorTree& tree() const { return tree_; }
  bool is_in_loop(const llvm::BasicBlock& block) const { return in_loops_.contains(&block); }

  // ---- Equal values --------------------------------------------------------------------------

  Place place_of(llvm::Value* pointer);
  bool same_value(llvm::Value* a, llvm::Value* b, unsigned depth = 0);
  bool same_place(const Place& a, const Place& b);
  llvm::Align alignment(const Place& place) const;
  // What a store has put there before `instruction`; nullptr: that can't be told.
  llvm::Value* stored_at(llvm::Value* pointer, std::int64_t offset, llvm::Type* type,
                         llvm::Instruction& instruction);

  // ---- Memory --------------------------------------------------------------------------------

  // What has changed memory last before the instruction.
  llvm::MemoryAccess* state_before(const llvm::Instruction& instruction) const;
  // From there backwards, the first that may change what is at the location. Like the other one, it
  // may be the phi of several, or the function's beginning.
  llvm::MemoryAccess* last_writer(llvm::MemoryAccess* from, const llvm::MemoryLocation& location);
  llvm::MemoryAccess* writer_before(llvm::MemoryAccess& writer) const;

  // ---- Positions -----------------------------------------------------------------------------
  //
  // A position is the instruction that it stands before. Those compared dominate one instruction.

  bool is_before(const llvm::Instruction* a, const llvm::Instruction* b) const;
  llvm::Instruction* later(llvm::Instruction* a, llvm::Instruction* b) const;
  // Where an instruction has taken place, a block has begun; nullptr: nowhere.
  static llvm::Instruction* behind(llvm::Instruction& instruction);
  static llvm::Instruction* beginning_of(llvm::BasicBlock& block);
  // The first position from `from` on where the writer's effect is there, for what comes later.
  llvm::Instruction* behind_writer(llvm::MemoryAccess& writer, llvm::Instruction* from,
                                   llvm::Instruction& reader) const;
  // The first one from `from` on where `access`, to this pointer, can be made earlier without
  // faulting where the program wouldn't.
  llvm::Instruction* safe_from(llvm::Instruction& access, llvm::Value* pointer, std::uint64_t bytes,
                               llvm::Instruction* from);
  // The first one from `from` on where the value can be computed; nullptr: nowhere.
  llvm::Instruction* computable_from(llvm::Value* value, llvm::Instruction* from);
  // Computes it there: moves loads, repeats everything else.
  llvm::Value* compute(llvm::Value* value, llvm::Instruction* position);

 private:
  struct Analyses;

  llvm::Value* forwarded(llvm::LoadInst& load);
  llvm::Instruction* load_from(llvm::LoadInst& load, llvm::Instruction* from);
  bool same_load(llvm::LoadInst& a, llvm::LoadInst& b);

  llvm::Function& function_;
  llvm::DominatorTree tree_;
  llvm::DenseSet<const llvm::BasicBlock*> in_loops_;
  std::unique_ptr<Analyses> analyses_;
  llvm::DenseMap<llvm::Value*, llvm::Instruction*> computable_;
  llvm::Instruction* computable_for_ = nullptr;  // `from` of those
};

}  // namespace pmemsim::pass
