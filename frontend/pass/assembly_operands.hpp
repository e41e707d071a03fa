// The operands of inline assembly as LLVM values: the register, constant or memory location that a
// statement's operand is.
#pragma once

#include <llvm/ADT/SmallSet.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstrTypes.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace pmemsim::pass {

struct Address {
  llvm::Value* base = nullptr;
  llvm::Value* index = nullptr;
  std::uint32_t scale = 1;
  std::int64_t displacement = 0;
  bool stack = false;      // relative to the stack pointer
  std::uint32_t size = 0;  // size of the memory operand's type; 0: unknown
};

// General registers, as in ModRM bytes.
constexpr unsigned kCounter = 1;
constexpr unsigned kStackPointer = 4;
constexpr unsigned kSourceIndex = 6;
constexpr unsigned kDestinationIndex = 7;

// The operands of one inline assembly: constraint N of the text and its value.
class Operands {
 public:
  explicit Operands(const llvm::CallBase& call);

  bool is_intel() const { return is_intel_; }

  bool is_memory(unsigned operand) const {
    return operand < constraints_.size() && constraints_[operand].isIndirect;
  }
  bool is_output(unsigned operand) const {
    return constraints_[operand].Type == llvm::InlineAsm::isOutput;
  }
  // True for an output that is also an input, such as a `+m` operand, where both are the same
  // pointer.
  bool is_also_input(unsigned operand) const;

  // Returns the operand's input value: for a read-write register that of its tied input.
  llvm::Value* value(unsigned operand) const;
  // Returns the value of a register that the text names: `%2` or `%rdi`.
  llvm::Value* in_register(llvm::StringRef text) const;

  // Returns the value of a register at the current statement, if it is still the input value;
  // nullptr after forget().
  llvm::Value* address_in(unsigned number) const { return held(fixed(number)); }
  llvm::Value* address_in(llvm::StringRef text) const { return held(find(text)); }
  void forget(unsigned number) { forget(fixed(number)); }
  void forget(llvm::StringRef text) { forget(find(text)); }

  // Returns the zero base of `(, index, scale)`.
  llvm::Value* no_base() const;
  std::uint32_t memory_size(unsigned operand) const;

 private:
  unsigned input(unsigned operand) const;
  std::optional<unsigned> find(llvm::StringRef text) const;
  std::optional<unsigned> fixed(unsigned number) const;
  llvm::Value* held(std::optional<unsigned> operand) const;
  void forget(std::optional<unsigned> operand);

  const llvm::CallBase& call_;
  llvm::InlineAsm::ConstraintInfoVector constraints_;
  std::vector<int> arguments_;
  bool is_intel_;
  llvm::SmallSet<unsigned, 4> forgotten_;
};

// Returns the number of an operand reference that is the whole text.
std::optional<unsigned> operand_number(llvm::StringRef text);

// Returns the number of bytes of the register part that the text names: %1 with a modifier, or
// %eax; 0: it doesn't name one.
std::uint32_t named_width(llvm::StringRef text);

// True if the operand is a memory location (not a register or a constant).
bool is_memory_operand(llvm::StringRef text, const Operands& operands);

// Returns the address that a memory operand names; nothing if it is unknown.
std::optional<Address> memory_address(llvm::StringRef text, const Operands& operands);

}  // namespace pmemsim::pass
