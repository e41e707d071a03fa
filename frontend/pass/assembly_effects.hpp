// The effects of inline assembly on memory, as far as its text and operands show them.
//
// PM programs flush and fence in assembly, in several spellings:
// - `clwb %0`
// - `.byte 0x66; clflush %0` (clflushopt for assemblers without it)
// - `.byte 0x66; xsaveopt %0` (clwb)
// - the instruction's bytes with the address in a fixed register
// - `lock; addl $0,(%rsp)` as full fence
#pragma once

#include <llvm/IR/InstrTypes.h>

#include <cstdint>
#include <string>
#include <vector>

#include "pmemsim/trace/format.hpp"

namespace pmemsim::pass {

struct AssemblyEffect {
  // kFlush, kFence, kLoad, kStore, kNonTemporal, kAtomicUpdate or, for string instructions,
  // kCopyStore.
  trace::SiteKind kind;
  std::uint8_t detail = 0;         // FlushKind, FenceKind or LockRole
  llvm::Value* address = nullptr;  // a pointer, or an integer that holds one
  std::int64_t displacement = 0;   // added to the address
  llvm::Value* index = nullptr;    // also added, `scale` times; a 64-bit integer, or nullptr
  std::uint32_t scale = 1;
  std::uint32_t size = 0;
  bool may_fail = false;  // cmpxchg: it may leave memory unchanged
  // For a kCopyStore: the source (nullptr: stos), and the number of elements of `size` bytes
  // (nullptr: one). `downwards`: the addresses are those of the last element, not of the first one.
  llvm::Value* source = nullptr;
  llvm::Value* count = nullptr;
  bool downwards = false;
};

struct AssemblySummary {
  std::vector<AssemblyEffect> effects;
  // Descriptions of statements that touch memory in a way that can't be analysed.
  std::vector<std::string> problems;
};

AssemblySummary summarize_assembly(const llvm::CallBase& call);

}  // namespace pmemsim::pass
