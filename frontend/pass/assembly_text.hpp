// The text of inline assembly as statements: the first step to what it does (assembly_effects.hpp).
#pragma once

#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringRef.h>

#include <cstdint>
#include <string>
#include <vector>

namespace pmemsim::pass {

// In the statements an operand reference ($3, ${3:q}) stands as kOperandMark, number, the
// modifier's letter if it is a width, kOperandEnd.
constexpr char kOperandMark = '\1';
constexpr char kOperandEnd = '\2';

constexpr std::uint8_t kOperandSizePrefix = 0x66;

bool is_prefix_byte(std::uint8_t byte);

struct Statement {
  std::vector<std::string> labels;  // that stand before it
  bool lock = false;
  bool repeat = false;
  llvm::SmallVector<std::uint8_t, 8> bytes;  // of the .byte directives that belong to it
  std::string mnemonic;                      // lower case; empty: only bytes
  std::vector<std::string> operands;         // as written
};

// Instructions in AT&T's or Intel's syntax, and the directives by which the assembler repeats text.
// Prefixes, whether spelled as words of their own statement or as bytes, have joined the
// instruction after them; comments are gone.
std::vector<Statement> parse_assembly(llvm::StringRef text);

// Machine instructions in the text of an inline assembly.
unsigned count_assembly_instructions(llvm::StringRef text);

}  // namespace pmemsim::pass
