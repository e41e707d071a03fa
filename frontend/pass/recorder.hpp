// Makes the sites of one function and inserts the calls that report them: the shared part of
// recording all kinds of instructions. Other files decide how each instruction is recorded
// (instrument.cpp, intrinsics.cpp, copies.cpp, assembly.cpp).
#pragma once

#include <llvm/IR/DataLayout.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "dependences.hpp"
#include "machine_counts.hpp"
#include "runtime_calls.hpp"
#include "site_table.hpp"

namespace pmemsim::pass {

// Data that all parts of the pass share for one module.
struct Context {
  llvm::Module& module;
  const MachineCounts& counts;
  const LoopPhis& loop_phis;
  const Dependences& dependences;
  SiteTable& table;
  RuntimeCalls& runtime;
  bool sends_data;     // library_functions.hpp
  bool opens_streams;  // there, too
};

void warn(const llvm::Module& module, const llvm::Twine& text);

// Warns that the code at the line can't be recorded, and inserts a call that notes this in the
// recording once the code is executed. If `address` isn't nullptr, it is only noted if persistent
// memory is there.
void warn_partial(RuntimeCalls& runtime, llvm::IRBuilder<>& builder, const llvm::Module& module,
                  unsigned line, const llvm::Twine& problem, llvm::Value* address = nullptr);

// Returns the line of the location; for code inlined from a header, the line in the module's own
// file. 0: unknown.
unsigned own_line(const llvm::DILocation* location, const llvm::Function& function);

inline bool is_ordinary_memory(const llvm::Value* pointer) {
  return pointer->getType()->getPointerAddressSpace() == 0;
}

// Calls `record(offset, bytes)` for each segment of an access that a trace can hold.
template <typename Record>
void in_segments(std::uint32_t size, Record record) {
  for (std::uint32_t offset = 0; offset < size; offset += trace::kMaxAccessBytes) {
    record(offset, std::min(size - offset, trace::kMaxAccessBytes));
  }
}

class Recorder {
 public:
  Recorder(llvm::Function& function, const Context& context);

  const Context& context() const { return context_; }
  llvm::IRBuilder<>& builder() { return builder_; }
  // Calls warn_partial() for the instruction, which is the current one.
  void warn_partial(llvm::Instruction& instruction, const llvm::Twine& problem,
                    llvm::Value* address = nullptr);

  // ---- Traversal of the function: block by block, instruction by instruction -------------------

  void enter(const std::vector<llvm::Instruction*>& block);
  // Counts the instruction towards the next site.
  void reach(const llvm::Instruction& instruction);
  // Adds instructions that the machine code has in addition, or (negative) that are recorded
  // otherwise.
  void count(double instructions) { pending_ = std::max(0.0, pending_ + instructions); }
  // Drops the count, since no further instruction of the block can be recorded.
  void forget_pending() { pending_ = 0; }

  // ---- Sites ---------------------------------------------------------------------------------

  // Returns a site with all instructions since the last one.
  Site site(trace::SiteKind kind);
  Site access(trace::SiteKind kind, llvm::Value* address, llvm::Value* data, std::uint32_t size);
  std::uint32_t add(Site site) { return context_.table.add(std::move(site)); }

  // ---- Positions -----------------------------------------------------------------------------

  // Returns the position for code that runs after the instruction when it has succeeded.
  llvm::Instruction* after(llvm::Instruction& instruction);
  void insert_at(llvm::Instruction* place, const llvm::Instruction& on_behalf_of);

  // ---- Calls of the runtime ------------------------------------------------------------------

  // Calls pmemsim_rt_<name>(site, arguments...) at the builder's position.
  llvm::CallInst* call(llvm::StringRef name, std::uint32_t site,
                       llvm::ArrayRef<llvm::Value*> arguments = {}, llvm::Type* result = nullptr);
  // Reports the instructions executed so far. Inserted before an instruction that makes a report of
  // its own.
  void flush_pending(llvm::Instruction& before);
  // Does the same before a hint, even if no instruction was executed. The hint then has its line.
  void record_place(llvm::CallBase& hint);
  // Reports an indirect call or jump to `target`, before it.
  void record_indirect_branch(llvm::Instruction& branch, llvm::Value* target);

  std::uint32_t size_of(llvm::Type* type) const;
  llvm::Value* offset_pointer(llvm::Value* address, std::int64_t offset);

  // Records behind the access, so that another thread may have its turn before the value is used.
  void record_loads(llvm::Instruction& load, llvm::Value* address, std::uint32_t size);
  void record_stores(llvm::Instruction& store, trace::SiteKind kind, llvm::Value* address,
                     llvm::Value* data, std::uint32_t size);
  void record_fence(llvm::Instruction& fence, trace::FenceKind kind);
  void record_flush(llvm::Instruction& flush, trace::FlushKind kind, llvm::Value* address,
                    std::int64_t displacement = 0);
  // Inserts calls around an instruction that executes the function of this name, which may not be
  // instrumented. Before a call that never returns, both are inserted.
  void record_external(llvm::Instruction& instruction, llvm::StringRef name);

 private:
  std::uint32_t take_pending();
  llvm::Value* as_number(llvm::Value* value);
  llvm::Value* number(std::uint32_t site);
  llvm::BasicBlock* own_successor(llvm::Instruction& terminator, llvm::BasicBlock* successor);

  llvm::Function& function_;
  const Context& context_;
  const llvm::DataLayout& layout_;
  llvm::IRBuilder<> builder_;
  llvm::Instruction* base_ = nullptr;
  // Machine instructions since the last site. A remainder of less than one half at the end of a
  // block is carried to the next block. So rounding errors cancel out over the function.
  double pending_ = 0;
  const llvm::DILocation* location_ = nullptr;
};

}  // namespace pmemsim::pass
