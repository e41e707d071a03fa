#include "assembly_operands.hpp"

#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringSwitch.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/Module.h>

#include <utility>

#include "assembly_text.hpp"

namespace pmemsim::pass {
namespace {

using llvm::StringRef;

unsigned register_number(StringRef name) {  // ModRM number; 16: not a general register
  name.consume_front("%");
  return llvm::StringSwitch<unsigned>(name)
      .Cases("a", "al", "ax", "eax", "rax", 0)
      .Cases("c", "cl", "cx", "ecx", "rcx", 1)
      .Cases("d", "dl", "dx", "edx", "rdx", 2)
      .Cases("b", "bl", "bx", "ebx", "rbx", 3)
      .Cases("sp", "esp", "rsp", 4)
      .Cases("bp", "ebp", "rbp", 5)
      .Cases("S", "sil", "si", "esi", "rsi", 6)
      .Cases("D", "dil", "di", "edi", "rdi", 7)
      .Cases("r8b", "r8w", "r8d", "r8", 8)
      .Cases("r9b", "r9w", "r9d", "r9", 9)
      .Cases("r10b", "r10w", "r10d", "r10", 10)
      .Cases("r11b", "r11w", "r11d", "r11", 11)
      .Cases("r12b", "r12w", "r12d", "r12", 12)
      .Cases("r13b", "r13w", "r13d", "r13", 13)
      .Cases("r14b", "r14w", "r14d", "r14", 14)
      .Cases("r15b", "r15w", "r15d", "r15", 15)
      .Default(16);
}

// Returns a displacement or scale, which is a number or a constant operand (`%c2`).
std::optional<std::int64_t> constant(StringRef text, const Operands& operands) {
  std::int64_t value = 0;
  if (!text.getAsInteger(0, value)) return value;
  const auto number = operand_number(text);
  llvm::Value* operand = number ? operands.value(*number) : nullptr;
  const auto* integer = llvm::dyn_cast_or_null<llvm::ConstantInt>(operand);
  if (integer == nullptr || integer->getBitWidth() > 64) return {};
  return integer->getSExtValue();
}

// Adds the `, index, scale` behind the base. False if its value is unknown.
bool add_index(Address& address, StringRef text, const Operands& operands) {
  const auto [index, scale] = text.split(',');
  address.index = operands.address_in(index.trim());
  if (address.index == nullptr) return false;
  const auto factor = scale.trim().empty() ? 1 : constant(scale.trim(), operands);
  if (factor != 1 && factor != 2 && factor != 4 && factor != 8) return false;
  address.scale = static_cast<std::uint32_t>(*factor);
  // The address is `(offset, pointer)`.
  if (address.scale == 1 && address.index->getType()->isPointerTy()) {
    std::swap(address.base, address.index);
  }
  return address.index->getType()->isIntegerTy(64);
}

}  // namespace

Operands::Operands(const llvm::CallBase& call) : call_(call) {
  const auto& assembly = *llvm::cast<llvm::InlineAsm>(call.getCalledOperand());
  is_intel_ = assembly.getDialect() == llvm::InlineAsm::AD_Intel ||
              StringRef(assembly.getAsmString()).contains(".intel_syntax");
  constraints_ = assembly.ParseConstraints();
  unsigned argument = 0;
  for (const auto& constraint : constraints_) {
    arguments_.push_back(constraint.hasArg() ? static_cast<int>(argument++) : -1);
  }
}

unsigned Operands::input(unsigned operand) const {
  const auto& constraint = constraints_[operand];
  const bool tied = is_output(operand) && constraint.hasMatchingInput() && !constraint.isIndirect;
  return tied ? static_cast<unsigned>(constraint.MatchingInput) : operand;
}

llvm::Value* Operands::value(unsigned operand) const {
  if (operand >= constraints_.size()) return nullptr;
  const int argument = arguments_[input(operand)];
  return argument < 0 ? nullptr : call_.getArgOperand(static_cast<unsigned>(argument));
}

llvm::Value* Operands::no_base() const {
  return llvm::ConstantInt::get(llvm::Type::getInt64Ty(call_.getContext()), 0);
}

bool Operands::is_also_input(unsigned operand) const {
  for (unsigned other = 0; other < constraints_.size(); ++other) {
    if (other != operand && is_memory(other) && !is_output(other) &&
        value(other) == value(operand)) {
      return true;
    }
  }
  return false;
}

std::uint32_t Operands::memory_size(unsigned operand) const {
  llvm::Type* type = call_.getParamElementType(static_cast<unsigned>(arguments_[operand]));
  if (type == nullptr || !type->isSized()) return 0;
  return static_cast<std::uint32_t>(
      call_.getModule()->getDataLayout().getTypeStoreSize(type).getKnownMinValue());
}

std::optional<unsigned> Operands::find(StringRef text) const {
  const auto number = operand_number(text);
  if (!number) return fixed(register_number(text));
  if (*number >= constraints_.size() || is_memory(*number)) return {};
  return number;
}

std::optional<unsigned> Operands::fixed(unsigned number) const {
  if (number > 15) return {};
  for (unsigned operand = 0; operand < constraints_.size(); ++operand) {
    if (constraints_[operand].Type == llvm::InlineAsm::isClobber) continue;
    for (StringRef code : constraints_[operand].Codes) {
      if (!code.consume_front("{") || !code.consume_back("}")) continue;
      if (register_number(code) == number && value(operand) != nullptr) return operand;
    }
  }
  return {};
}

llvm::Value* Operands::in_register(StringRef text) const {
  const auto operand = find(text);
  return operand ? value(*operand) : nullptr;
}

llvm::Value* Operands::held(std::optional<unsigned> operand) const {
  return operand && !forgotten_.contains(input(*operand)) ? value(*operand) : nullptr;
}

void Operands::forget(std::optional<unsigned> operand) {
  if (operand) forgotten_.insert(input(*operand));
}

std::optional<unsigned> operand_number(StringRef text) {
  unsigned number = 0;
  if (text.size() < 3 || text.front() != kOperandMark || text.back() != kOperandEnd) return {};
  if (text.drop_front().consumeInteger(10, number)) return {};
  return number;
}

std::uint32_t named_width(StringRef text) {
  if (operand_number(text)) {
    return llvm::StringSwitch<std::uint32_t>(text.drop_back().take_back())
        .Cases("b", "h", 1)
        .Case("w", 2)
        .Case("k", 4)
        .Case("q", 8)
        .Default(0);
  }
  if (!text.consume_front("%")) return 0;
  if (register_number(text) > 15) return text.ends_with("h") ? 1 : 0;  // %ah
  const char last = text.back();
  if (text.front() == 'e') return 4;
  if (text.front() == 'r') return last == 'b' ? 1 : last == 'w' ? 2 : last == 'd' ? 4 : 8;
  return last == 'l' ? 1 : 2;
}

bool is_memory_operand(StringRef text, const Operands& operands) {
  if (auto number = operand_number(text)) return operands.is_memory(*number);
  if (text.starts_with("%st(")) return false;
  const bool symbol = !operands.is_intel() && (llvm::isAlpha(text.front()) || text.front() == '_');
  return symbol || text.contains('(') || text.contains('[');
}

std::optional<Address> memory_address(StringRef text, const Operands& operands) {
  if (auto number = operand_number(text)) {
    if (!operands.is_memory(*number)) return {};
    return Address{.base = operands.value(*number), .size = operands.memory_size(*number)};
  }
  const std::size_t open = text.find_first_of("([");
  if (open == StringRef::npos || text.contains(':')) return {};
  Address address;
  const StringRef displacement = text.take_front(open).trim();
  if (text[open] == '(' && !displacement.empty()) {  // not `byte ptr [...]`
    const auto value = constant(displacement, operands);
    if (!value) return {};
    address.displacement = *value;
  }
  const StringRef inner =
      text.substr(open + 1).take_until([](char c) { return c == ')' || c == ']'; });
  const auto [base, index] = inner.split(',');
  if (register_number(base.trim()) == kStackPointer) {
    address.stack = true;
    return address;
  }
  address.base = base.trim().empty() ? operands.no_base() : operands.address_in(base.trim());
  if (address.base == nullptr) return {};
  if (!index.empty() && !add_index(address, index, operands)) return {};
  return address;
}

}  // namespace pmemsim::pass
