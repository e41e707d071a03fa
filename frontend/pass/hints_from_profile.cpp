#include "hints_from_profile.hpp"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/Path.h>

#include <optional>
#include <string>
#include <utility>

#include "hint_calls.hpp"

namespace pmemsim::pass {
namespace {

using llvm::Instruction;
using llvm::Value;

// The write of a store or copy, in a form that a hint takes.
struct Stored {
  Instruction* instruction;
  Value* address;
  Value* bytes;
};

// The profile's paths, by the last component of the path with its line.
using Wanted = llvm::StringMap<llvm::SmallVector<std::string, 1>>;

std::string key_of(llvm::StringRef path, unsigned line) {
  return (llvm::sys::path::filename(path) + ":" + llvm::Twine(line)).str();
}

std::optional<Wanted> read_profile(llvm::Module& module, llvm::StringRef path) {
  const auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!file) {
    module.getContext().emitError("--janus-profile=" + path + ": " + file.getError().message());
    return std::nullopt;
  }
  Wanted wanted;
  llvm::SmallVector<llvm::StringRef> lines;
  (*file)->getBuffer().split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (const llvm::StringRef line : lines) {
    const auto [source, number] = line.rsplit(':');
    unsigned parsed = 0;
    if (number.getAsInteger(10, parsed)) {
      module.getContext().emitError(
          "--janus-profile=" + path + ": '" + line +
          "' is not PATH:LINE; write the file with `pmemsim lint-hints --profile`");
      return std::nullopt;
    }
    wanted[key_of(source, parsed)].push_back(source.str());
  }
  return wanted;
}

// Compares file names by rule 1 (hints_from_profile.hpp).
bool is_same_file(llvm::StringRef a, llvm::StringRef b) {
  if (a.size() < b.size()) std::swap(a, b);
  return a.ends_with(b) &&
         (a.size() == b.size() || b.starts_with("/") || a[a.size() - b.size() - 1] == '/');
}

bool is_wanted(const Instruction& instruction, const Wanted& wanted) {
  const llvm::DILocation* location = instruction.getDebugLoc();
  if (location == nullptr) return false;
  const auto found = wanted.find(key_of(location->getFilename(), location->getLine()));
  return found != wanted.end() && llvm::any_of(found->second, [&](llvm::StringRef path) {
           return is_same_file(path, location->getFilename());
         });
}

std::optional<Stored> stored_by(Instruction& instruction, llvm::IRBuilder<>& builder) {
  if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
    const llvm::TypeSize bytes =
        instruction.getDataLayout().getTypeStoreSize(store->getValueOperand()->getType());
    return Stored{store, store->getPointerOperand(), builder.getInt64(bytes.getFixedValue())};
  }
  if (auto* copy = llvm::dyn_cast<llvm::MemIntrinsic>(&instruction)) {
    return Stored{copy, copy->getDest(), copy->getLength()};
  }
  return std::nullopt;
}

bool insert_hints(llvm::Function& function, const Wanted& wanted) {
  llvm::IRBuilder<> builder(function.getContext());
  llvm::SmallVector<Stored> found;
  for (llvm::BasicBlock& block : function) {
    for (Instruction& instruction : block) {
      if (!is_wanted(instruction, wanted)) continue;
      const std::optional<Stored> stored = stored_by(instruction, builder);
      if (stored && !llvm::isa<llvm::AllocaInst>(llvm::getUnderlyingObject(stored->address))) {
        found.push_back(*stored);
      }
    }
  }
  for (const Stored& stored : found) {
    builder.SetInsertPoint(&function.getEntryBlock(), function.getEntryBlock().begin());
    Value* object = builder.CreateAlloca(builder.getInt32Ty());
    builder.SetInsertPoint(stored.instruction->getNextNode());
    builder.SetCurrentDebugLocation(stored.instruction->getDebugLoc());
    Value* bytes = builder.CreateZExtOrTrunc(stored.bytes, builder.getInt64Ty());
    call_hint(builder, "init", {object});
    call_hint(builder, "both", {object, stored.address, stored.address, bytes});
  }
  return !found.empty();
}

}  // namespace

bool insert_hints_from_profile(llvm::Module& module, llvm::StringRef profile) {
  const std::optional<Wanted> wanted = read_profile(module, profile);
  if (!wanted) return false;
  bool changed = false;
  for (llvm::Function& function : module) {
    if (!function.isDeclaration() && !function.hasAvailableExternallyLinkage() &&
        !function.hasFnAttribute(llvm::Attribute::Naked)) {
      changed |= insert_hints(function, *wanted);
    }
  }
  return changed;
}

}  // namespace pmemsim::pass
