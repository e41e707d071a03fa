// The text of inline assembly as statements: the first step of its analysis (assembly_effects.hpp).
#pragma once

#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringRef.h>

#include <cstdint>
#include <string>
#include <vector>

namespace pmemsim::pass {

// In the statements, an operand reference ($3, ${3:q}) is encoded as kOperandMark, number, the
// modifier's letter if it is a width, kOperandEnd.
constexpr char kOperandMark = '\1';
constexpr char kOperandEnd = '\2';

constexpr std::uint8_t kOperandSizePrefix = 0x66;

bool is_prefix_byte(std::uint8_t byte);

struct Statement {
  std::vector<std::string> labels;  // labels before the statement
  bool lock = false;
  bool repeat_prefix = false;
  llvm::SmallVector<std::uint8_t, 8> bytes;  // bytes of the .byte directives that belong to it
  std::string mnemonic;                      // lower case; empty: only bytes
  std::vector<std::string> operands;         // operands as the text has them
};

// Parses instructions in AT&T's or Intel's syntax, and the directives by which the assembler
// repeats text. Prefixes, whether spelled as separate words or as bytes, are merged into the
// instruction after them; comments are removed.
std::vector<Statement> parse_assembly(llvm::StringRef text);

// Returns the number of machine instructions in the text of an inline assembly.
unsigned count_assembly_instructions(llvm::StringRef text);

}  // namespace pmemsim::pass
