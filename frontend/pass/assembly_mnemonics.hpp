// What the name of an instruction in inline assembly says of its operands.
#pragma once

#include <llvm/ADT/StringRef.h>

#include <cstdint>

namespace pmemsim::pass {

// Bytes, by the last letter of AT&T's names, or by the number in cmpxchg16b; 0: the name has no
// size.
std::uint32_t suffix_size(llvm::StringRef mnemonic);

// Read-modify-write instructions that may be locked, without size suffix.
bool is_lockable(llvm::StringRef mnemonic);

// What is done to the operand that takes the result, if the instruction has a result.
enum class Destination : std::uint8_t { kRead, kWritten, kUpdated, kUnknown };
Destination destination(llvm::StringRef mnemonic);

// Sets flags by its operands, all of which stay as they are.
bool only_compares(llvm::StringRef mnemonic);

bool sets_bit(llvm::StringRef mnemonic);

bool is_jump(llvm::StringRef mnemonic);

// Changes general registers that the text doesn't name.
bool has_hidden_results(llvm::StringRef mnemonic);

}  // namespace pmemsim::pass
