#include "assembly_effects.hpp"

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/ADT/StringSwitch.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "assembly_mnemonics.hpp"
#include "assembly_operands.hpp"
#include "assembly_text.hpp"

namespace pmemsim::pass {
namespace {

using llvm::StringRef;
using trace::FenceKind;
using trace::FlushKind;
using trace::SiteKind;

class Summarizer {
 public:
  explicit Summarizer(const llvm::CallBase& call)
      : operands_(call),
        layout_(call.getModule()->getDataLayout()),
        is_intel_(operands_.is_intel()) {}

  AssemblySummary summarize(StringRef text) {
    for (const Statement& statement : parse_assembly(text)) {
      for (const std::string& label : statement.labels) {
        effects_before_[label] = summary_.effects.size();
      }
      if (statement.mnemonic.empty()) {
        encoded(statement);
      } else if (!flush_or_fence(statement) && !direction(statement) && !locked(statement) &&
                 !transaction(statement) && !string_instruction(statement) && !jump(statement)) {
        ordinary(statement);
      }
      forget_results(statement);
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
                                 " an address that isn't (or is no longer) one of its operands; it "
                                 "is not recorded")
                                    .str());
  }

  bool transaction(const Statement& statement) {
    if (statement.mnemonic != "xbegin") return false;
    begin_transaction();
    return true;
  }

  void begin_transaction() {
    summary_.problems.emplace_back(
        "inline assembly begins a hardware transaction, whose isolation is not recorded");
  }

  // Flushes and fences are 0f ae /r: the register field of the second byte selects the instruction.
  // The prefix 66 turns clflush into clflushopt and xsaveopt into clwb. One list of bytes may
  // contain several of them.
  void encoded(const Statement& statement) {
    llvm::ArrayRef<std::uint8_t> bytes = statement.bytes;
    while (!bytes.empty()) bytes = bytes.drop_front(encoded_instruction(bytes));
  }

  // Returns the length of the first instruction; if it isn't a flush or a fence, the length of all
  // remaining bytes.
  std::size_t encoded_instruction(llvm::ArrayRef<std::uint8_t> all) {
    if (all.size() >= 2 && all[0] == 0xc7 && all[1] == 0xf8) begin_transaction();  // xbegin
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
    if (llvm::Value* value = has_index ? nullptr : operands_.address_in(base + extension)) {
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

  // Handles a locked instruction, or xchg with memory, which locks by itself.
  bool locked(const Statement& statement) {
    StringRef mnemonic = statement.mnemonic;
    std::uint32_t size = 0;
    if (mnemonic == "cmpxchg16b" || mnemonic == "cmpxchg8b") {
      size = suffix_size(mnemonic);
      mnemonic = "cmpxchg";
    } else if (!is_lockable(mnemonic)) {
      size = suffix_size(mnemonic);
      mnemonic = mnemonic.drop_back();
    }
    if (!is_lockable(mnemonic) || !(statement.lock || mnemonic == "xchg")) return false;
    const std::string* memory = nullptr;
    for (const std::string& operand : statement.operands) {
      if (is_memory_operand(operand, operands_)) memory = &operand;
    }
    if (memory == nullptr) return !statement.lock ? true : (fence(FenceKind::kMfence), true);
    const std::optional<Address> address = place(statement, *memory);
    if (!address || address->stack) {
      if (!address) problem(statement.mnemonic, "updates");
      fence(FenceKind::kMfence);
      return true;
    }
    if (size == 0) size = operand_size(statement, *address);
    AssemblyEffect& update = effect(SiteKind::kAtomicUpdate, *address, size);
    update.may_fail = mnemonic == "cmpxchg";
    if (update.may_fail || mnemonic == "xchg") {
      update.detail = static_cast<std::uint8_t>(trace::LockRole::kTakes);
    }
    return true;
  }

  // Handles std and cld: between them, string instructions go to lower addresses.
  bool direction(const Statement& statement) {
    if (statement.mnemonic != "std" && statement.mnemonic != "cld") return false;
    downwards_ = statement.mnemonic == "std";
    return true;
  }

  // Handles movs, which copies from (%rsi) to (%rdi), and stos, which stores to (%rdi). With a
  // repeat prefix, both execute %rcx times. Both change these registers.
  bool string_instruction(const Statement& statement) {
    const StringRef mnemonic = statement.mnemonic;
    if (mnemonic.size() != 5) return false;
    const StringRef name = mnemonic.drop_back();
    const std::uint32_t size = mnemonic.back() == 'd' ? 4 : suffix_size(mnemonic);
    if ((name != "movs" && name != "stos") || size == 0) return false;
    const auto names = [&](StringRef part) {
      return llvm::any_of(statement.operands,
                          [&](StringRef operand) { return operand.contains(part); });
    };
    // movsd is also an SSE instruction.
    if (!statement.operands.empty() && (!names("di)") || names("xmm"))) return false;
    llvm::Value* to = operands_.address_in(kDestinationIndex);
    llvm::Value* from = name == "movs" ? operands_.address_in(kSourceIndex) : nullptr;
    llvm::Value* count = statement.repeat_prefix ? operands_.address_in(kCounter) : nullptr;
    operands_.forget(kDestinationIndex);
    if (name == "movs") operands_.forget(kSourceIndex);
    if (statement.repeat_prefix) operands_.forget(kCounter);
    if (to == nullptr || (name == "movs" && from == nullptr) ||
        (statement.repeat_prefix && count == nullptr)) {
      problem(mnemonic, "writes to");
      return true;
    }
    AssemblyEffect& copy = effect(SiteKind::kCopyStore, Address{.base = to}, size);
    copy.source = from;
    copy.count = count;
    copy.downwards = downwards_;
    return true;
  }

  void ordinary(const Statement& statement) {
    const StringRef mnemonic = statement.mnemonic;
    if (mnemonic.starts_with(".")) {
      loop(statement);
      return;
    }
    if (mnemonic.starts_with("movnt") || mnemonic.starts_with("vmovnt") || mnemonic == "movdiri") {
      non_temporal(statement);
      return;
    }
    // These instructions have addresses in registers that their text doesn't show as addresses.
    if (mnemonic.contains("maskmovdqu") || mnemonic == "maskmovq" || mnemonic == "movdir64b") {
      problem(mnemonic, "writes to");
      return;
    }
    if (mnemonic.starts_with("lea") || mnemonic.starts_with("prefetch") ||
        mnemonic.starts_with("nop") || mnemonic == "cldemote") {
      return;
    }
    for (const std::string& text : statement.operands) {
      if (is_memory_operand(text, operands_)) access(statement, text);
    }
  }

  // Records the effect of an operand. The mnemonic and the operand's position determine it,
  // whatever the constraint says. (The compiler accepts even a "m" that is written, if memory is
  // declared to change.) An unknown mnemonic has the effect that its operand's constraint declares.
  void access(const Statement& statement, const std::string& text) {
    const auto number = operand_number(text);
    const std::optional<Address> address = place(statement, text);
    if (address && address->stack) return;
    const Destination by_name =
        is_result(statement, text) ? destination(statement.mnemonic) : Destination::kRead;
    const bool known = by_name != Destination::kUnknown;
    const Destination done = known || !number ? by_name : declared(*number);
    if (!address || done == Destination::kUnknown || (is_intel_ && !number)) {
      problem(statement.mnemonic, "accesses");
      return;
    }
    const bool as_declared = address->size != 0 && (!known || by_name == Destination::kRead);
    const std::uint32_t size = as_declared ? address->size : access_size(statement, *address);
    if (done != Destination::kWritten) effect(SiteKind::kLoad, *address, size);
    if (done != Destination::kRead) effect(SiteKind::kStore, *address, size);
  }

  std::optional<Address> place(const Statement& statement, StringRef text) const {
    const std::optional<Address> address = memory_address(text, operands_);
    return address && may_be_beyond(statement, *address) ? std::nullopt : address;
  }

  // True if the bit may be outside the operand, as in `bts %rax, (%rdi)`.
  bool may_be_beyond(const Statement& statement, const Address& address) const {
    const StringRef bit = statement.operands.front();
    if (!sets_bit(statement.mnemonic) || bit.starts_with("$")) return false;
    const auto* number = llvm::dyn_cast_or_null<llvm::ConstantInt>(operands_.address_in(bit));
    const std::uint64_t bits = 8 * std::uint64_t{access_size(statement, address)};
    return number == nullptr || number->getValue().uge(bits);
  }

  Destination declared(unsigned operand) const {
    if (!operands_.is_output(operand)) return Destination::kUnknown;
    return operands_.is_also_input(operand) ? Destination::kUpdated : Destination::kWritten;
  }

  // True if the operand is the result, which is the last one in AT&T's syntax.
  bool is_result(const Statement& statement, const std::string& text) const {
    return &text == (is_intel_ ? &statement.operands.front() : &statement.operands.back());
  }

  std::uint32_t access_size(const Statement& statement, const Address& address) const {
    const StringRef mnemonic = statement.mnemonic;
    const auto size = llvm::StringSwitch<std::uint32_t>(mnemonic)
                          .Cases("movss", "vmovss", "movd", "vmovd", 4)
                          .Cases("movsd", "movlps", "movlpd", "movhps", "movhpd", 8)
                          .Cases("vmovsd", "vmovlps", "vmovlpd", "vmovhps", "vmovhpd", 8)
                          .Default(0);
    if (size != 0) return size;
    if (mnemonic.size() == 6 && (mnemonic.starts_with("movz") || mnemonic.starts_with("movs"))) {
      return suffix_size(mnemonic.drop_back());  // movzbl: the source's, then the destination's
    }
    const std::uint32_t by_suffix = is_lockable(mnemonic) ? 0 : suffix_size(mnemonic);
    return by_suffix != 0 ? by_suffix : operand_size(statement, address);
  }

  // Handles a jump. A loop can be analysed if it only computes or spins.
  bool jump(const Statement& statement) {
    if (!is_jump(statement.mnemonic)) return false;
    StringRef label = statement.operands.empty() ? "" : statement.operands.back();
    if (label.take_front().find_if(llvm::isDigit) == 0) label.consume_back("b");  // the last `1:`
    const auto target = effects_before_.find(label);
    if (target != effects_before_.end() && summary_.effects.size() > target->second) {
      loop(statement);
    }
    return true;
  }

  void loop(const Statement& statement) {
    summary_.problems.push_back("inline assembly '" + statement.mnemonic +
                                "' loops; its effects after the first iteration are not recorded");
  }

  // Forgets the registers that the statement computes: their values are no longer known.
  void forget_results(const Statement& statement) {
    const StringRef mnemonic = statement.mnemonic;
    if (has_hidden_results(mnemonic)) {
      for (const unsigned number : {0U, 1U, 2U, 3U, kSourceIndex, kDestinationIndex}) {
        operands_.forget(number);
      }
    }
    if (only_compares(mnemonic)) return;
    const bool exchanges = mnemonic.starts_with("xchg") || mnemonic.starts_with("xadd");
    for (const std::string& text : statement.operands) {
      if (exchanges || is_result(statement, text)) operands_.forget(text);
    }
  }

  // Records a non-temporal access. The destination is the last operand (AT&T). movntdqa is a load.
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

  // Returns the size. The first of these that has a size determines it: the mnemonic, the register
  // operand's name, its type, the memory operand's type, the constant's type.
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
      if (const std::uint32_t width = named_width(text)) return width;
      llvm::Value* value = operands_.in_register(text);
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
  bool is_intel_;                                // the result is the first operand
  bool downwards_ = false;                       // the direction flag is set
  llvm::StringMap<std::size_t> effects_before_;  // each label that was passed
  AssemblySummary summary_;
};

}  // namespace

AssemblySummary summarize_assembly(const llvm::CallBase& call) {
  const auto& assembly = *llvm::cast<llvm::InlineAsm>(call.getCalledOperand());
  return Summarizer(call).summarize(assembly.getAsmString());
}

}  // namespace pmemsim::pass
