#include "assembly_effects.hpp"

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringSwitch.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "assembly_operands.hpp"
#include "assembly_text.hpp"

namespace pmemsim::pass {
namespace {

using llvm::StringRef;
using trace::FenceKind;
using trace::FlushKind;
using trace::SiteKind;

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
    for (const Statement& statement : parse_assembly(text)) {
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

}  // namespace pmemsim::pass
