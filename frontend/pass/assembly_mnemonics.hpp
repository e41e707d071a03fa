// Properties of an instruction's operands that its name in inline assembly shows.
#pragma once

#include <llvm/ADT/StringRef.h>

#include <cstdint>

namespace pmemsim::pass {

// Returns the size in bytes, by the last letter of AT&T's names, or by the number in cmpxchg16b; 0:
// the name has no size.
std::uint32_t suffix_size(llvm::StringRef mnemonic);

// True for read-modify-write instructions that may be locked; the name is without size suffix.
bool is_lockable(llvm::StringRef mnemonic);

// The effect on the operand that takes the result, if the instruction has a result.
enum class Destination : std::uint8_t { kRead, kWritten, kUpdated, kUnknown };
Destination destination(llvm::StringRef mnemonic);

// True if the instruction only sets flags by its operands, which all remain unchanged.
bool only_compares(llvm::StringRef mnemonic);

bool sets_bit(llvm::StringRef mnemonic);

bool is_jump(llvm::StringRef mnemonic);

// True if the instruction changes general registers that the text doesn't name.
bool has_hidden_results(llvm::StringRef mnemonic);

}  // namespace pmemsim::pass
