#include "assembly_mnemonics.hpp"

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringSwitch.h>

#include <array>

namespace pmemsim::pass {
namespace {

using llvm::StringRef;

bool is_shift(StringRef mnemonic) {
  return llvm::StringSwitch<bool>(mnemonic)
      .Cases("shl", "shr", "sal", "sar", "rol", "ror", "rcl", "rcr", "shld", "shrd", true)
      .Default(false);
}

bool is_update(StringRef mnemonic) { return is_lockable(mnemonic) || is_shift(mnemonic); }

bool starts_with_any(StringRef mnemonic, llvm::ArrayRef<StringRef> beginnings) {
  return llvm::any_of(beginnings,
                      [&](StringRef beginning) { return mnemonic.starts_with(beginning); });
}

// True for instructions that, with one operand, only read it. With more operands, `imul`'s last one
// is the result, always a register.
bool only_takes(StringRef mnemonic) {
  static constexpr std::array<StringRef, 17> kBeginnings = {
      "push", "mul",  "imul", "div",   "idiv",    "fld",      "fild",   "fadd",   "fsub",
      "fmul", "fdiv", "fcom", "fiadd", "ldmxcsr", "vldmxcsr", "xrstor", "fxrstor"};
  return starts_with_any(mnemonic, kBeginnings);
}

}  // namespace

std::uint32_t suffix_size(StringRef mnemonic) {
  if (mnemonic == "cmpxchg8b") return 8;
  if (mnemonic == "cmpxchg16b") return 16;
  return llvm::StringSwitch<std::uint32_t>(mnemonic.take_back())
      .Case("b", 1)
      .Case("w", 2)
      .Case("l", 4)
      .Case("q", 8)
      .Default(0);
}

bool is_lockable(StringRef mnemonic) {
  return llvm::StringSwitch<bool>(mnemonic)
      .Cases("add", "adc", "and", "or", "xor", "sub", "sbb", "inc", "dec", "neg", true)
      .Cases("not", "xadd", "xchg", "cmpxchg", "bts", "btr", "btc", true)
      .Default(false);
}

Destination destination(StringRef mnemonic) {
  if (mnemonic.starts_with("mov") || mnemonic.starts_with("vmov")) return Destination::kWritten;
  if (is_update(mnemonic) || is_update(mnemonic.drop_back()) || mnemonic == "cmpxchg8b" ||
      mnemonic == "cmpxchg16b") {
    return Destination::kUpdated;
  }
  if (only_compares(mnemonic) || only_takes(mnemonic) || is_jump(mnemonic)) {
    return Destination::kRead;
  }
  return Destination::kUnknown;
}

bool only_compares(StringRef mnemonic) {
  if (mnemonic.starts_with("cmpxchg")) return false;
  return mnemonic == "bt" || mnemonic == "btw" || mnemonic == "btl" || mnemonic == "btq" ||
         mnemonic.starts_with("cmp") || mnemonic.starts_with("test");
}

bool sets_bit(StringRef mnemonic) { return starts_with_any(mnemonic, {"bts", "btr", "btc"}); }

bool is_jump(StringRef mnemonic) {
  return mnemonic.starts_with("j") || mnemonic.starts_with("loop") ||
         mnemonic.starts_with("call") || mnemonic == "xbegin";
}

bool has_hidden_results(StringRef mnemonic) {
  static constexpr std::array<StringRef, 17> kBeginnings = {
      "mul",  "imul", "div",  "idiv",  "cmpxchg", "cpuid", "rdtsc", "xgetbv", "syscall",
      "call", "lods", "scas", "cmpsb", "cmpsw",   "cmpsl", "cmpsq", "rdpmc"};
  return starts_with_any(mnemonic, kBeginnings);
}

}  // namespace pmemsim::pass
