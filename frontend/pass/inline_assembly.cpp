#include "inline_assembly.hpp"

#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringSet.h>
#include <llvm/ADT/StringSwitch.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Module.h>

#include <optional>

namespace pmemsim::pass {
namespace {

using llvm::StringRef;
using trace::FenceKind;
using trace::FlushKind;
using trace::SiteKind;

// ---- Text to statements ----------------------------------------------------------------------

// In the plain text an operand reference ($3, ${3:q}) stands as kOperandMark, number, kOperandEnd.
constexpr char kOperandMark = '\1';
constexpr char kOperandEnd = '\2';

// Resolves LLVM's escapes: operands, $$, and the first (AT&T) one of the dialect's alternatives.
std::string plain_text(StringRef text) {
  std::string plain;
  bool skipping = false;  // inside the second alternative
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$' || i + 1 == text.size()) {
      if (!skipping) plain += text[i];
      continue;
    }
    const char next = text[++i];
    if (next == '(') continue;
    if (next == '|' || next == ')') {
      skipping = next == '|';
      continue;
    }
    std::string piece;
    if (next == '{') {
      const std::size_t close = text.find('}', i);
      if (close == StringRef::npos) return plain;
      const StringRef reference = text.slice(i + 1, close);
      piece = kOperandMark + reference.take_while(llvm::isDigit).str() + kOperandEnd;
      if (reference.ends_with(":a")) piece = "(" + piece + ")";  // the operand is an address
      i = close;
    } else if (llvm::isDigit(next)) {
      const StringRef number = text.substr(i).take_while(llvm::isDigit);
      piece = kOperandMark + number.str() + kOperandEnd;
      i += number.size() - 1;
    } else {
      piece = next;
    }
    if (!skipping) plain += piece;
  }
  return plain;
}

std::string without_comments(StringRef text) {
  std::string result;
  while (!text.empty()) {
    if (text.consume_front("/*")) {
      text = text.drop_front(std::min(text.find("*/"), text.size()));
      text.consume_front("*/");
    } else if (text.front() == '#') {
      text = text.drop_while([](char c) { return c != '\n'; });
    } else {
      result += text.front();
      text = text.drop_front();
    }
  }
  return result;
}

struct Statement {
  bool lock = false;
  bool repeat = false;
  llvm::SmallVector<std::uint8_t, 8> bytes;  // of the .byte directives that belong to it
  std::string mnemonic;                      // lower case; empty: only bytes
  std::vector<std::string> operands;         // as written
};

constexpr std::uint8_t kOperandSizePrefix = 0x66;
constexpr std::uint8_t kLockPrefix = 0xf0;
constexpr std::uint8_t kRepeatPrefix = 0xf3;

bool is_prefix_byte(std::uint8_t byte) {
  switch (byte) {
    case kOperandSizePrefix:
    case kLockPrefix:
    case kRepeatPrefix:
    case 0xf2:  // repne
    case 0x2e:
    case 0x36:
    case 0x3e:
    case 0x26:
    case 0x64:
    case 0x65:  // segments
      return true;
    default:
      return false;
  }
}

bool is_prefix_word(StringRef word) {
  return llvm::StringSwitch<bool>(word)
      .Cases("lock", "rep", "repe", "repz", "repne", "repnz", "data16", "rex64", true)
      .Cases("ds", "cs", "es", "ss", "xacquire", "xrelease", "notrack", true)
      .Default(false);
}

// Operands are separated by commas outside of parentheses.
std::vector<std::string> split_operands(StringRef text) {
  std::vector<std::string> operands;
  std::string current;
  int depth = 0;
  for (char c : text) {
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    if (c == ',' && depth == 0) {
      operands.push_back(StringRef(current).trim().str());
      current.clear();
    } else {
      current += c;
    }
  }
  if (!StringRef(current).trim().empty()) operands.push_back(StringRef(current).trim().str());
  return operands;
}

// Parses the text into instructions. Prefixes, whether spelled as words of their own statement or
// as bytes, join the instruction after them.
class StatementParser {
 public:
  std::vector<Statement> parse(StringRef text) {
    const std::string plain = without_comments(plain_text(text));
    llvm::SmallVector<StringRef, 8> lines;
    llvm::SplitString(plain, lines, "\n;");
    for (StringRef line : lines) statement(line.trim());
    if (has_instruction_bytes()) finish();
    return std::move(statements_);
  }

 private:
  void statement(StringRef text) {
    while (true) {  // labels: `1:`, `retry:`
      const StringRef name = text.take_while(
          [](char c) { return llvm::isAlnum(c) || c == '_' || c == '.' || c == '$'; });
      if (name.empty() || !text.substr(name.size()).starts_with(":")) break;
      text = text.drop_front(name.size() + 1).ltrim();
    }
    if (text.empty()) return;
    if (text.front() == '.') {
      directive(text);
      return;
    }
    if (has_instruction_bytes()) finish();
    StringRef word = text.take_until(llvm::isSpace);
    while (is_prefix_word(word.lower())) {
      if (word.equals_insensitive("lock")) current_.lock = true;
      if (word.lower().starts_with("rep")) current_.repeat = true;
      if (word.equals_insensitive("data16")) current_.bytes.push_back(kOperandSizePrefix);
      text = text.drop_front(word.size()).ltrim();
      word = text.take_until(llvm::isSpace);
    }
    if (word.empty()) return;  // the prefixes of the next statement
    current_.mnemonic = word.lower();
    current_.operands = split_operands(text.drop_front(word.size()));
    finish();
  }

  void directive(StringRef text) {
    const StringRef name = text.take_until(llvm::isSpace);
    const auto width = llvm::StringSwitch<unsigned>(name)
                           .Case(".byte", 1)
                           .Cases(".short", ".word", ".value", ".hword", ".2byte", 2)
                           .Cases(".long", ".int", ".4byte", 4)
                           .Cases(".quad", ".8byte", 8)
                           .Default(0);
    if (width == 0) return;
    llvm::SmallVector<StringRef, 8> numbers;
    text.drop_front(name.size()).split(numbers, ',');
    for (StringRef number : numbers) {
      std::uint64_t value = 0;
      if (number.trim().getAsInteger(0, value)) return;
      for (unsigned i = 0; i < width; ++i) byte(static_cast<std::uint8_t>(value >> 8 * i));
    }
  }

  void byte(std::uint8_t value) {
    if (value == kLockPrefix) current_.lock = true;
    if (value == kRepeatPrefix) current_.repeat = true;
    current_.bytes.push_back(value);
  }

  bool has_instruction_bytes() const {
    return llvm::any_of(current_.bytes, [](std::uint8_t byte) { return !is_prefix_byte(byte); });
  }

  void finish() {
    statements_.push_back(std::move(current_));
    current_ = {};
  }

  Statement current_;
  std::vector<Statement> statements_;
};

// ---- Operands to values ----------------------------------------------------------------------

struct Address {
  llvm::Value* base = nullptr;
  llvm::Value* index = nullptr;
  std::uint32_t scale = 1;
  std::int64_t displacement = 0;
  bool stack = false;      // relative to the stack pointer
  std::uint32_t size = 0;  // of the memory operand's type; 0: unknown
};

unsigned register_number(StringRef name) {  // as in ModRM bytes; 16: not a general register
  name.consume_front("%");
  return llvm::StringSwitch<unsigned>(name)
      .Cases("a", "al", "ax", "eax", "rax", 0)
      .Cases("c", "cl", "cx", "ecx", "rcx", 1)
      .Cases("d", "dl", "dx", "edx", "rdx", 2)
      .Cases("b", "bl", "bx", "ebx", "rbx", 3)
      .Cases("sp", "esp", "rsp", 4)
      .Cases("bp", "ebp", "rbp", 5)
      .Cases("S", "si", "esi", "rsi", 6)
      .Cases("D", "di", "edi", "rdi", 7)
      .Case("r8", 8)
      .Case("r9", 9)
      .Case("r10", 10)
      .Case("r11", 11)
      .Case("r12", 12)
      .Case("r13", 13)
      .Case("r14", 14)
      .Case("r15", 15)
      .Default(16);
}
constexpr unsigned kCounter = 1;
constexpr unsigned kStackPointer = 4;
constexpr unsigned kSourceIndex = 6;
constexpr unsigned kDestinationIndex = 7;

// The operands of one inline assembly: constraint N of the text and the value it stands for.
class Operands {
 public:
  explicit Operands(const llvm::CallBase& call) : call_(call) {
    const auto& assembly = *llvm::cast<llvm::InlineAsm>(call.getCalledOperand());
    constraints_ = assembly.ParseConstraints();
    unsigned argument = 0;
    for (const auto& constraint : constraints_) {
      arguments_.push_back(constraint.hasArg() ? static_cast<int>(argument++) : -1);
    }
  }

  bool is_memory(unsigned operand) const {
    return operand < constraints_.size() && constraints_[operand].isIndirect;
  }
  bool is_output(unsigned operand) const {
    return constraints_[operand].Type == llvm::InlineAsm::isOutput;
  }

  // The value that goes into the operand: for a read-write register that of its tied input.
  llvm::Value* value(unsigned operand) const {
    if (operand >= constraints_.size()) return nullptr;
    if (constraints_[operand].hasMatchingInput() && !constraints_[operand].isIndirect &&
        is_output(operand)) {
      operand = static_cast<unsigned>(constraints_[operand].MatchingInput);
    }
    const int argument = arguments_[operand];
    return argument < 0 ? nullptr : call_.getArgOperand(static_cast<unsigned>(argument));
  }

  // Of `(, index, scale)`.
  llvm::Value* no_base() const {
    return llvm::ConstantInt::get(llvm::Type::getInt64Ty(call_.getContext()), 0);
  }

  // A `+m` operand is an output and an input with the same pointer.
  bool is_also_input(unsigned operand) const {
    for (unsigned other = 0; other < constraints_.size(); ++other) {
      if (other != operand && is_memory(other) && !is_output(other) &&
          value(other) == value(operand)) {
        return true;
      }
    }
    return false;
  }

  std::uint32_t memory_size(unsigned operand) const {
    llvm::Type* type = call_.getParamElementType(static_cast<unsigned>(arguments_[operand]));
    if (type == nullptr || !type->isSized()) return 0;
    return static_cast<std::uint32_t>(
        call_.getModule()->getDataLayout().getTypeStoreSize(type).getKnownMinValue());
  }

  llvm::Value* in_register(unsigned number) const {
    for (unsigned operand = 0; operand < constraints_.size(); ++operand) {
      if (constraints_[operand].Type == llvm::InlineAsm::isClobber) continue;
      for (StringRef code : constraints_[operand].Codes) {
        if (!code.consume_front("{") || !code.consume_back("}")) continue;
        if (register_number(code) != number || number > 15) continue;
        if (llvm::Value* found = value(operand)) return found;
      }
    }
    return nullptr;
  }

 private:
  const llvm::CallBase& call_;
  llvm::InlineAsm::ConstraintInfoVector constraints_;
  std::vector<int> arguments_;
};

// The number of an operand reference that is the whole text.
std::optional<unsigned> operand_number(StringRef text) {
  unsigned number = 0;
  if (text.size() < 3 || text.front() != kOperandMark || text.back() != kOperandEnd) return {};
  if (text.drop_front().drop_back().getAsInteger(10, number)) return {};
  return number;
}

llvm::Value* register_value(StringRef text, const Operands& operands) {
  if (auto number = operand_number(text)) {
    return operands.is_memory(*number) ? nullptr : operands.value(*number);
  }
  return operands.in_register(register_number(text));
}

// Is the operand a place in memory (rather than a register or a constant)?
bool is_memory_operand(StringRef text, const Operands& operands) {
  if (auto number = operand_number(text)) return operands.is_memory(*number);
  return text.contains('(') || text.contains('[');
}

// A displacement or scale: written as a number, or a constant operand (`%c2`).
std::optional<std::int64_t> constant(StringRef text, const Operands& operands) {
  std::int64_t value = 0;
  if (!text.getAsInteger(0, value)) return value;
  const auto number = operand_number(text);
  llvm::Value* operand = number ? operands.value(*number) : nullptr;
  const auto* integer = llvm::dyn_cast_or_null<llvm::ConstantInt>(operand);
  if (integer == nullptr || integer->getBitWidth() > 64) return {};
  return integer->getSExtValue();
}

// The `, index, scale` behind the base. False if it can't be told.
bool add_index(Address& address, StringRef text, const Operands& operands) {
  const auto [index, scale] = text.split(',');
  address.index = register_value(index.trim(), operands);
  if (address.index == nullptr) return false;
  const auto factor = scale.trim().empty() ? 1 : constant(scale.trim(), operands);
  if (factor != 1 && factor != 2 && factor != 4 && factor != 8) return false;
  address.scale = static_cast<std::uint32_t>(*factor);
  // `(offset, pointer)`
  if (address.scale == 1 && address.index->getType()->isPointerTy()) {
    std::swap(address.base, address.index);
  }
  return address.index->getType()->isIntegerTy(64);
}

// The address that a memory operand names; nothing if it can't be told.
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
  address.base = base.trim().empty() ? operands.no_base() : register_value(base.trim(), operands);
  if (address.base == nullptr) return {};
  if (!index.empty() && !add_index(address, index, operands)) return {};
  return address;
}

// ---- Statements to effects -------------------------------------------------------------------

std::uint32_t suffix_size(char suffix) {
  return llvm::StringSwitch<std::uint32_t>(StringRef(&suffix, 1))
      .Case("b", 1)
      .Case("w", 2)
      .Case("l", 4)
      .Case("q", 8)
      .Default(0);
}

// Read-modify-write instructions that may be locked, without size suffix.
bool is_update(StringRef mnemonic) {
  return llvm::StringSwitch<bool>(mnemonic)
      .Cases("add", "adc", "and", "or", "xor", "sub", "sbb", "inc", "dec", "neg", true)
      .Cases("not", "xadd", "xchg", "cmpxchg", "bts", "btr", "btc", true)
      .Default(false);
}

class Summarizer {
 public:
  explicit Summarizer(const llvm::CallBase& call)
      : operands_(call),
        layout_(call.getModule()->getDataLayout()),
        is_intel_(llvm::cast<llvm::InlineAsm>(call.getCalledOperand())->getDialect() ==
                  llvm::InlineAsm::AD_Intel) {}

  AssemblySummary summarize(StringRef text) {
    for (const Statement& statement : StatementParser().parse(text)) {
      if (statement.mnemonic.empty()) {
        encoded(statement);
      } else if (!flush_or_fence(statement) && !locked(statement) &&
                 !string_instruction(statement)) {
        ordinary(statement);
      }
    }
    return std::move(summary_);
  }

 private:
  void fence(FenceKind kind) {
    summary_.effects.push_back({SiteKind::kFence, static_cast<std::uint8_t>(kind)});
  }

  void flush(FlushKind kind, const std::optional<Address>& address, StringRef spelling) {
    if (!address || address->base == nullptr) {
      problem(spelling, "flushes");
      return;
    }
    effect(SiteKind::kFlush, *address, 0).detail = static_cast<std::uint8_t>(kind);
  }

  AssemblyEffect& effect(SiteKind kind, const Address& address, std::uint32_t size) {
    return summary_.effects.emplace_back(AssemblyEffect{.kind = kind,
                                                        .address = address.base,
                                                        .displacement = address.displacement,
                                                        .index = address.index,
                                                        .scale = address.scale,
                                                        .size = size});
  }

  void problem(StringRef spelling, StringRef verb) {
    summary_.problems.push_back(("inline assembly '" + spelling + "' " + verb +
                                 " an address that isn't one of its operands; it is not recorded")
                                    .str());
  }

  // Flushes and fences are 0f ae /r: the register field of the second byte tells which, and the
  // prefix 66 turns clflush into clflushopt and xsaveopt into clwb. One list of bytes may hold
  // several of them.
  void encoded(const Statement& statement) {
    llvm::ArrayRef<std::uint8_t> bytes = statement.bytes;
    while (!bytes.empty()) bytes = bytes.drop_front(encoded_instruction(bytes));
  }

  // Returns how long it is; if it is something else, all that is left.
  std::size_t encoded_instruction(llvm::ArrayRef<std::uint8_t> all) {
    llvm::ArrayRef<std::uint8_t> bytes = all;
    bool operand_size = false;
    unsigned extension = 0;  // REX.B
    while (!bytes.empty() && is_prefix_byte(bytes.front())) {
      operand_size |= bytes.front() == kOperandSizePrefix;
      bytes = bytes.drop_front();
    }
    if (!bytes.empty() && (bytes.front() & 0xf0) == 0x40) {
      extension = (bytes.front() & 1) * 8;
      bytes = bytes.drop_front();
    }
    if (bytes.size() < 3 || bytes[0] != 0x0f || bytes[1] != 0xae) return all.size();
    const unsigned mode = bytes[2] >> 6, which = bytes[2] >> 3 & 7, base = bytes[2] & 7;
    const std::size_t length = all.size() - bytes.size() + 3;
    if (mode == 3) {
      if (which == 5) fence(FenceKind::kLfence);
      if (which == 6) fence(FenceKind::kMfence);
      if (which == 7) fence(FenceKind::kSfence);
      return length;
    }
    if (which != 7 && !(which == 6 && operand_size)) return all.size();
    const FlushKind kind = which == 6     ? FlushKind::kClwb
                           : operand_size ? FlushKind::kClflushopt
                                          : FlushKind::kClflush;
    std::optional<Address> address;
    const bool has_index = base == 4;
    if (llvm::Value* value = has_index ? nullptr : operands_.in_register(base + extension)) {
      address = Address{.base = value};
      if (mode == 1 && bytes.size() > 3) address->displacement = static_cast<std::int8_t>(bytes[3]);
      if (mode == 2 && bytes.size() > 6) {
        address->displacement =
            static_cast<std::int32_t>(bytes[3] | bytes[4] << 8 | bytes[5] << 16 | bytes[6] << 24);
      }
    }
    flush(kind, address, ".byte ...");
    const std::size_t displacement_bytes = mode == 1 ? 1 : mode == 2 ? 4 : 0;
    return has_index ? all.size() : std::min(length + displacement_bytes, all.size());
  }

  bool flush_or_fence(const Statement& statement) {
    const bool operand_size = llvm::is_contained(statement.bytes, kOperandSizePrefix);
    const StringRef mnemonic = statement.mnemonic;
    if (mnemonic == "sfence") return fence(FenceKind::kSfence), true;
    if (mnemonic == "mfence") return fence(FenceKind::kMfence), true;
    if (mnemonic == "lfence") return fence(FenceKind::kLfence), true;
    std::optional<FlushKind> kind;
    if (mnemonic == "clwb") kind = FlushKind::kClwb;
    if (mnemonic == "clflushopt") kind = FlushKind::kClflushopt;
    if (mnemonic == "clflush") kind = operand_size ? FlushKind::kClflushopt : FlushKind::kClflush;
    if (operand_size && (mnemonic == "xsaveopt" || mnemonic == "xsaveopt64")) {
      kind = FlushKind::kClwb;
    }
    if (!kind || statement.operands.size() != 1) return false;
    flush(*kind, memory_address(statement.operands[0], operands_), mnemonic);
    return true;
  }

  // A locked instruction, or xchg with memory, which locks by itself.
  bool locked(const Statement& statement) {
    StringRef mnemonic = statement.mnemonic;
    std::uint32_t size = 0;
    if (mnemonic == "cmpxchg16b" || mnemonic == "cmpxchg8b") {
      size = mnemonic == "cmpxchg16b" ? 16 : 8;
      mnemonic = "cmpxchg";
    } else if (!is_update(mnemonic)) {
      size = suffix_size(mnemonic.back());
      mnemonic = mnemonic.drop_back();
    }
    if (!is_update(mnemonic) || !(statement.lock || mnemonic == "xchg")) return false;
    const std::string* memory = nullptr;
    for (const std::string& operand : statement.operands) {
      if (is_memory_operand(operand, operands_)) memory = &operand;
    }
    if (memory == nullptr) return !statement.lock ? true : (fence(FenceKind::kMfence), true);
    const std::optional<Address> address = memory_address(*memory, operands_);
    if (!address || address->stack) {
      if (!address) problem(statement.mnemonic, "updates");
      fence(FenceKind::kMfence);
      return true;
    }
    if (size == 0) size = operand_size(statement, *address);
    effect(SiteKind::kAtomicUpdate, *address, size).may_fail = mnemonic == "cmpxchg";
    return true;
  }

  // movs copies from (%rsi) to (%rdi), stos stores to (%rdi); both %rcx times if repeated.
  bool string_instruction(const Statement& statement) {
    const StringRef mnemonic = statement.mnemonic;
    if (mnemonic.size() != 5) return false;
    const StringRef name = mnemonic.drop_back();
    const std::uint32_t size = mnemonic.back() == 'd' ? 4 : suffix_size(mnemonic.back());
    if ((name != "movs" && name != "stos") || size == 0) return false;
    const auto names = [&](StringRef part) {
      return llvm::any_of(statement.operands,
                          [&](StringRef operand) { return operand.contains(part); });
    };
    // movsd is an SSE instruction, too.
    if (!statement.operands.empty() && (!names("di)") || names("xmm"))) return false;
    llvm::Value* to = operands_.in_register(kDestinationIndex);
    llvm::Value* from = name == "movs" ? operands_.in_register(kSourceIndex) : nullptr;
    llvm::Value* count = statement.repeat ? operands_.in_register(kCounter) : nullptr;
    if (to == nullptr || (name == "movs" && from == nullptr) ||
        (statement.repeat && count == nullptr)) {
      problem(mnemonic, "writes to");
      return true;
    }
    AssemblyEffect& copy = effect(SiteKind::kCopyStore, Address{.base = to}, size);
    copy.source = from;
    copy.count = count;
    return true;
  }

  void ordinary(const Statement& statement) {
    const StringRef mnemonic = statement.mnemonic;
    if (mnemonic.starts_with("movnt") || mnemonic.starts_with("vmovnt") || mnemonic == "movdiri") {
      non_temporal(statement);
      return;
    }
    // Their addresses are in registers that aren't written as addresses.
    if (mnemonic.contains("maskmovdqu") || mnemonic == "maskmovq" || mnemonic == "movdir64b") {
      problem(mnemonic, "writes to");
      return;
    }
    if (mnemonic.starts_with("lea") || mnemonic.starts_with("prefetch") ||
        mnemonic.starts_with("nop") || mnemonic == "cldemote") {
      return;
    }
    for (const std::string& text : statement.operands) {
      const auto number = operand_number(text);
      if (!number) {
        written_out(statement, text);
        continue;
      }
      if (!operands_.is_memory(*number)) continue;
      const Address address = *memory_address(text, operands_);
      if (address.size == 0) continue;
      const bool output = operands_.is_output(*number);
      access(address, !output || operands_.is_also_input(*number), output, address.size);
    }
  }

  void access(const Address& address, bool reads, bool writes, std::uint32_t size) {
    if (reads) effect(SiteKind::kLoad, address, size);
    if (writes) effect(SiteKind::kStore, address, size);
  }

  // An address that the text names itself, as in `movq %0, 8(%1)`: the mnemonic and the place tell
  // what is done to it. The destination comes last (AT&T).
  void written_out(const Statement& statement, const std::string& text) {
    const StringRef mnemonic = statement.mnemonic;
    if (!is_memory_operand(text, operands_) || mnemonic.starts_with("j") ||
        mnemonic.starts_with("call")) {
      return;
    }
    const std::optional<Address> address = memory_address(text, operands_);
    if (address && address->stack) return;
    const bool last = &text == &statement.operands.back();
    const bool moves = mnemonic.starts_with("mov") || mnemonic.starts_with("vmov");
    const bool updates = is_update(mnemonic) || is_update(mnemonic.drop_back());
    const bool compares = mnemonic.starts_with("cmp") || mnemonic.starts_with("test");
    if (!address || is_intel_ || (last && !moves && !updates && !compares)) {
      problem(mnemonic, "accesses");
      return;
    }
    access(*address, !last || !moves, last && !compares, written_out_size(statement, *address));
  }

  std::uint32_t written_out_size(const Statement& statement, const Address& address) const {
    const StringRef mnemonic = statement.mnemonic;
    const auto size = llvm::StringSwitch<std::uint32_t>(mnemonic)
                          .Cases("movss", "vmovss", "movd", "vmovd", 4)
                          .Cases("movsd", "vmovsd", "movlps", "movlpd", "movhps", "movhpd", 8)
                          .Default(0);
    if (size != 0) return size;
    if (mnemonic.size() == 6 && (mnemonic.starts_with("movz") || mnemonic.starts_with("movs"))) {
      return suffix_size(mnemonic[4]);  // movzbl: the source's size, then the destination's
    }
    const std::uint32_t by_suffix = is_update(mnemonic) ? 0 : suffix_size(mnemonic.back());
    return by_suffix != 0 ? by_suffix : operand_size(statement, address);
  }

  // The destination comes last (AT&T). movntdqa is a load.
  void non_temporal(const Statement& statement) {
    if (statement.operands.size() != 2) return;
    const bool load = StringRef(statement.mnemonic).contains("ntdqa");
    const std::string& memory = statement.operands[load ? 0 : 1];
    const std::optional<Address> address = memory_address(memory, operands_);
    if (!address || address->base == nullptr) {
      problem(statement.mnemonic, load ? "loads from" : "writes to");
      return;
    }
    effect(load ? SiteKind::kLoad : SiteKind::kNonTemporal, *address,
           operand_size(statement, *address));
  }

  // By the mnemonic, the register operand, the memory operand's type, the constant's, in this
  // order.
  std::uint32_t operand_size(const Statement& statement, const Address& address) const {
    const StringRef mnemonic = statement.mnemonic;
    if (mnemonic == "movntiq" || mnemonic == "movntq") return 8;
    if (mnemonic == "movntil") return 4;
    std::uint32_t of_constant = 8;
    for (const std::string& text : statement.operands) {
      if (is_memory_operand(text, operands_)) continue;
      if (StringRef(text).starts_with("%xmm")) return 16;
      if (StringRef(text).starts_with("%ymm")) return 32;
      if (StringRef(text).starts_with("%zmm")) return 64;
      llvm::Value* value = register_value(text, operands_);
      if (value == nullptr || !value->getType()->isSized()) continue;
      const auto size =
          static_cast<std::uint32_t>(layout_.getTypeStoreSize(value->getType()).getKnownMinValue());
      if (!llvm::isa<llvm::ConstantInt>(value)) return size;
      of_constant = size;
    }
    return address.size != 0 ? address.size : of_constant;
  }

  Operands operands_;
  const llvm::DataLayout& layout_;
  bool is_intel_;  // the destination comes first
  AssemblySummary summary_;
};

}  // namespace

AssemblySummary summarize_assembly(const llvm::CallBase& call) {
  const auto& assembly = *llvm::cast<llvm::InlineAsm>(call.getCalledOperand());
  return Summarizer(call).summarize(assembly.getAsmString());
}

unsigned count_assembly_instructions(StringRef text) {
  return static_cast<unsigned>(StatementParser().parse(text).size());
}

}  // namespace pmemsim::pass
