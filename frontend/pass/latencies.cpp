#include "latencies.hpp"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsX86.h>

#include "pmemsim/trace/dependence.hpp"

namespace pmemsim::pass {
namespace {

constexpr unsigned kMove = 0;             // a name for the same register, or renamed: Fog, MOV
constexpr unsigned kSimple = 1;           // Fog: ADD, XOR, SHL, CMP, LEA, CMOV, PADD
constexpr unsigned kTwoSimple = 2;        // CMP and CMOV, or SHL and ADD
constexpr unsigned kMultiply = 3;         // Fog: IMUL r,r
constexpr unsigned kMultiplyVector = 10;  // Fog: PMULLD
constexpr unsigned kMultiplyShort = 5;    // Fog: PMULLW, for elements of up to 16 bits
constexpr unsigned kDivide32 = trace::kDivisionCycles;  // Fog: DIV, IDIV r32
constexpr unsigned kDivide64 = 35;                      // Fog: DIV r64, the least of 35 to 88
constexpr unsigned kDivideSigned64 = 42;                // Fog: IDIV r64, the least of 42 to 95
constexpr unsigned kDivideByConstant = 5;               // Fog: MUL r64 (high half, 4) and SHR
constexpr unsigned kBitCount = 3;            // Fog: POPCNT, LZCNT, TZCNT, CRC32, MUL with overflow
constexpr unsigned kFloat = 4;               // Fog: ADDSD, MULSD, VFMADD, MAXSD, CMPSD
constexpr unsigned kFloatDivide = 13;        // Fog: DIVSD, 13 to 14
constexpr unsigned kFloatDivideSingle = 11;  // Fog: DIVSS
constexpr unsigned kFloatRoot = 18;          // LLVM: SQRTSD
constexpr unsigned kFloatRootSingle = 12;    // Fog: SQRTSS
constexpr unsigned kConvert = 5;             // Fog: CVTSI2SD, CVTSS2SD

bool is_single(const llvm::Value& value) { return value.getType()->getScalarType()->isFloatTy(); }

// Returns the latency of a multiplication. LEA multiplies by 3, 5 and 9; a shift and an addition
// multiply by 2^n + 1 and 2^n - 1.
unsigned multiplication(const llvm::Instruction& instruction) {
  if (instruction.getType()->isVectorTy()) {
    return instruction.getType()->getScalarSizeInBits() > 16 ? kMultiplyVector : kMultiplyShort;
  }
  const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(instruction.getOperand(1));
  if (constant == nullptr) return kMultiply;
  const llvm::APInt& factor = constant->getValue();
  if (factor == 3 || factor == 5 || factor == 9) return kSimple;
  return (factor - 1).isPowerOf2() || (factor + 1).isPowerOf2() ? kTwoSimple : kMultiply;
}

unsigned division(const llvm::Instruction& instruction, bool is_signed) {
  if (llvm::isa<llvm::Constant>(instruction.getOperand(1))) return kDivideByConstant;
  if (instruction.getType()->getScalarSizeInBits() <= 32) return kDivide32;
  return is_signed ? kDivideSigned64 : kDivide64;
}

// Returns the latency of a remainder. For a constant divisor the compiler computes dividend -
// quotient * divisor.
unsigned remainder(const llvm::Instruction& instruction, bool is_signed) {
  const unsigned quotient = division(instruction, is_signed);
  return quotient == kDivideByConstant ? quotient + kMultiply + kSimple : quotient;
}

bool has_fused_multiply_add(const llvm::Function& function) {
  const std::string features =
      function.getFnAttribute("target-features").getValueAsString().str() + ",";
  return features.find("+fma,") != std::string::npos;
}

unsigned intrinsic(const llvm::IntrinsicInst& call) {
  switch (call.getIntrinsicID()) {
    case llvm::Intrinsic::sqrt:
      return is_single(call) ? kFloatRootSingle : kFloatRoot;
    case llvm::Intrinsic::fmuladd:
      return has_fused_multiply_add(*call.getFunction()) ? kFloat : 2 * kFloat;
    case llvm::Intrinsic::fma:
    case llvm::Intrinsic::minnum:
    case llvm::Intrinsic::maxnum:
      return kFloat;
    case llvm::Intrinsic::smin:
    case llvm::Intrinsic::smax:
    case llvm::Intrinsic::umin:
    case llvm::Intrinsic::umax:
    case llvm::Intrinsic::abs:
      return call.getType()->isVectorTy() ? kSimple : kTwoSimple;
    case llvm::Intrinsic::ctpop:
    case llvm::Intrinsic::ctlz:
    case llvm::Intrinsic::cttz:
    case llvm::Intrinsic::smul_with_overflow:
    case llvm::Intrinsic::umul_with_overflow:
    case llvm::Intrinsic::x86_sse42_crc32_32_8:
    case llvm::Intrinsic::x86_sse42_crc32_32_16:
    case llvm::Intrinsic::x86_sse42_crc32_32_32:
    case llvm::Intrinsic::x86_sse42_crc32_64_64:
      return kBitCount;
    default:
      return kSimple;
  }
}

}  // namespace

unsigned latency(const llvm::Instruction& instruction) {
  if (const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction)) return intrinsic(*call);
  switch (instruction.getOpcode()) {
    case llvm::Instruction::BitCast:
    case llvm::Instruction::PtrToInt:
    case llvm::Instruction::IntToPtr:
    case llvm::Instruction::Trunc:
    case llvm::Instruction::ZExt:
    case llvm::Instruction::Freeze:
    case llvm::Instruction::PHI:
    case llvm::Instruction::ExtractValue:
    case llvm::Instruction::InsertValue:
      return kMove;
    case llvm::Instruction::Mul:
      return multiplication(instruction);
    case llvm::Instruction::UDiv:
      return division(instruction, false);
    case llvm::Instruction::SDiv:
      return division(instruction, true);
    case llvm::Instruction::URem:
      return remainder(instruction, false);
    case llvm::Instruction::SRem:
      return remainder(instruction, true);
    case llvm::Instruction::FAdd:
    case llvm::Instruction::FSub:
    case llvm::Instruction::FMul:
    case llvm::Instruction::FCmp:
      return kFloat;
    case llvm::Instruction::FDiv:
    case llvm::Instruction::FRem:
      return is_single(instruction) ? kFloatDivideSingle : kFloatDivide;
    case llvm::Instruction::FPToUI:
    case llvm::Instruction::FPToSI:
    case llvm::Instruction::UIToFP:
    case llvm::Instruction::SIToFP:
    case llvm::Instruction::FPTrunc:
    case llvm::Instruction::FPExt:
      return kConvert;
    default:
      return kSimple;
  }
}

bool divides(const llvm::Instruction& instruction) {
  switch (instruction.getOpcode()) {
    case llvm::Instruction::UDiv:
    case llvm::Instruction::SDiv:
    case llvm::Instruction::URem:
    case llvm::Instruction::SRem:
      return !llvm::isa<llvm::Constant>(instruction.getOperand(1));
    default:
      return false;
  }
}

}  // namespace pmemsim::pass
