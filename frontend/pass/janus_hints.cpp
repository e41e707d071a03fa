#include "janus_hints.hpp"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

#include "hint_calls.hpp"
#include "known_values.hpp"
#include "pmemsim/trace/format.hpp"
#include "write_backs.hpp"

namespace pmemsim::pass {
namespace {

using llvm::Instruction;
using llvm::Value;

constexpr std::int64_t kLine = trace::kLineBytes;

// ---- Conditions (rule 5) -----------------------------------------------------------------------

llvm::SmallVector<llvm::BasicBlock*, 2> ordinary_successors(llvm::BasicBlock& block) {
  if (auto* invoke = llvm::dyn_cast<llvm::InvokeInst>(block.getTerminator())) {
    return {invoke->getNormalDest()};
  }
  return llvm::to_vector<2>(llvm::successors(&block));
}

// True if every path from `from` reaches `to`, except paths that end in an exception or never
// return.
bool always_leads_to(llvm::BasicBlock& from, llvm::BasicBlock& to) {
  llvm::SmallPtrSet<llvm::BasicBlock*, 16> seen{&from, &to};
  llvm::SmallVector<llvm::BasicBlock*> todo{&from};
  while (!todo.empty()) {
    llvm::BasicBlock* block = todo.pop_back_val();
    if (llvm::isa<llvm::ReturnInst>(block->getTerminator())) return false;
    for (llvm::BasicBlock* next : ordinary_successors(*block)) {
      if (seen.insert(next).second) todo.push_back(next);
    }
  }
  return true;
}

// Inserts the hints of one write-back.
class Hints {
 public:
  Hints(llvm::Function& function, const WriteBacks& all, const WriteBack& it)
      : module_(*function.getParent()),
        values_(function),
        all_(all),
        it_(it),
        location_(values_.location_of(it.address)),
        builder_(function.getContext()) {}

  void insert() {
    Instruction* first = first_position();
    Instruction* address_from = outside_loop(computable(it_.address, it_.bytes, first));
    const std::optional<Update> update = last_update();
    Instruction* data_from = update ? data_position(*update, address_from, first) : nullptr;
    if (address_from == nullptr) return;
    data_alone_ = data_from != nullptr && data_from != address_from && is_aligned(*update);
    const bool covered = data_from == address_from && covers_all(*update);
    if (covered || is_too_late(*address_from)) address_from = nullptr;
    if (address_from == nullptr && data_from == nullptr) return;
    // If both are at the same position, the address hint is first.
    Instruction* address_at = placeholder(address_from);
    emit(address_at, placeholder(data_from), update);
  }

 private:
  // An update of the object: it assigns a value, or copies from a location.
  struct Update {
    Instruction* instruction;
    Value* address;
    Value* bytes;
    Value* value;   // the assigned value, or nullptr
    Value* source;  // the location that is copied from, or nullptr
    llvm::Align alignment;
  };

  // ---- The object ----------------------------------------------------------------------------

  static std::optional<std::int64_t> constant(const Value* bytes) {
    const auto* number = llvm::dyn_cast_or_null<llvm::ConstantInt>(bytes);
    if (number == nullptr || number->getZExtValue() > std::numeric_limits<std::uint32_t>::max()) {
      return std::nullopt;
    }
    return static_cast<std::int64_t>(number->getZExtValue());
  }

  // Offsets from the location's base.
  struct Extent {
    std::int64_t begin, end;
    bool overlaps(const Extent& other) const { return begin < other.end && other.begin < end; }
  };

  // Returns the extent of the lines that `bytes` bytes may touch (nullopt: unknown).
  Extent lines_of(const Location& location, std::optional<std::int64_t> bytes) const {
    constexpr std::int64_t kFar = std::numeric_limits<std::int32_t>::max();
    Extent extent{location.offset, location.offset + bytes.value_or(kFar)};
    if (values_.alignment({location.base, 0}).value() >= static_cast<std::uint64_t>(kLine)) {
      extent.begin -= (extent.begin % kLine + kLine) % kLine;
      extent.end += (kLine - extent.end % kLine) % kLine;
    } else {
      extent.begin -= kLine - 1;
      extent.end += kLine - 1;
    }
    return extent;
  }

  std::optional<std::int64_t> bytes_of(const WriteBack& it) const {
    return it.bytes == nullptr ? 1 : constant(it.bytes);
  }
  Extent lines() const { return lines_of(location_, bytes_of(it_)); }

  // ---- Address (rules 3, 5, 9) ---------------------------------------------------------------

  // Returns the highest block under the same condition, outside of loops.
  llvm::BasicBlock& condition() const {
    llvm::BasicBlock* bottom = it_.named->getParent();
    llvm::BasicBlock* top = bottom;
    for (const auto* node = values_.tree().getNode(bottom)->getIDom(); node != nullptr;
         node = node->getIDom()) {
      if (!always_leads_to(*node->getBlock(), *bottom)) break;
      if (!values_.is_in_loop(*node->getBlock())) top = node->getBlock();
    }
    return *top;
  }

  Instruction* first_position() {
    Instruction* position = KnownValues::beginning_of(condition());
    for (const WriteBack& other : all_.blocking) {
      if (other.flushed == nullptr || !is_same_line(other)) continue;
      const llvm::DominatorTree& tree = values_.tree();
      if (!tree.dominates(other.flushed, it_.named)) continue;
      Instruction* done = other.flushed;
      const auto fence = llvm::find_if(all_.fences, [&](Instruction* fence) {
        return tree.dominates(done, fence) && tree.dominates(fence, it_.named);
      });
      if (fence != all_.fences.end()) done = *fence;
      Instruction* behind = behind_effect(*done);
      if (values_.is_before(behind, it_.named)) position = values_.later(position, behind);
    }
    return position;
  }

  bool is_same_line(const WriteBack& other) {
    const Location location = values_.location_of(other.address);
    return values_.same_value(location.base, location_.base) &&
           lines_of(location, bytes_of(other)).overlaps(lines());
  }

  static Instruction* behind_effect(Instruction& instruction) {
    if (auto* invoke = llvm::dyn_cast<llvm::InvokeInst>(&instruction)) {
      return KnownValues::beginning_of(*invoke->getNormalDest());
    }
    return instruction.getNextNode();
  }

  Instruction* computable(Value* address, Value* bytes, Instruction* from) {
    Instruction* position = values_.computable_from(address, from);
    if (bytes == nullptr || position == nullptr) return position;
    Instruction* other = values_.computable_from(bytes, from);
    return other == nullptr ? nullptr : values_.later(position, other);
  }

  // Returns the position itself if it isn't in a loop, otherwise a position behind the loop.
  Instruction* outside_loop(Instruction* position) const {
    if (position == nullptr || !values_.is_in_loop(*position->getParent())) return position;
    llvm::BasicBlock* outside = it_.named->getParent();
    for (const auto* node = values_.tree().getNode(outside);
         node->getBlock() != position->getParent(); node = node->getIDom()) {
      if (!values_.is_in_loop(*node->getBlock())) outside = node->getBlock();
    }
    return KnownValues::beginning_of(*outside);
  }

  // True if nothing that takes time is between the position and the write-back (rule 12).
  bool is_too_late(const Instruction& position) const {
    const Instruction* instruction = &position;
    while (instruction != nullptr && instruction != it_.flushed && !takes_time(*instruction)) {
      instruction = instruction->getNextNode();
    }
    return instruction != nullptr && instruction == it_.flushed;
  }

  static bool takes_time(const Instruction& instruction) {
    if (const auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction)) {
      return !intrinsic->isAssumeLikeIntrinsic() && intrinsic->mayReadOrWriteMemory();
    }
    if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction)) {
      const llvm::Function* callee = call->getCalledFunction();
      return callee == nullptr || !callee->getName().starts_with("pm_pre_");
    }
    if (!instruction.mayWriteToMemory()) return false;
    const Value* pointer = llvm::getLoadStorePointerOperand(&instruction);
    return pointer == nullptr || !llvm::isa<llvm::AllocaInst>(llvm::getUnderlyingObject(pointer));
  }

  // ---- Data (rule 4) -------------------------------------------------------------------------

  // Returns the last access before `from` that may write to the object's lines.
  llvm::MemoryAccess* last_writer(llvm::MemoryAccess* from) {
    for (;;) {
      llvm::MemoryAccess* access =
          values_.last_writer(from, llvm::MemoryLocation::getBeforeOrAfter(it_.address));
      auto* writer = llvm::dyn_cast<llvm::MemoryDef>(access);
      if (writer == nullptr || writer->getMemoryInst() == nullptr) return access;
      const std::optional<Update> update = update_by(*writer->getMemoryInst());
      if (!update || !misses(*update)) return access;
      from = values_.writer_before(*writer);
    }
  }

  // True if the update certainly doesn't write to the object's lines.
  bool misses(const Update& update) {
    const Location location = values_.location_of(update.address);
    const std::optional<std::int64_t> bytes = constant(update.bytes);
    return bytes && values_.same_value(location.base, location_.base) &&
           !Extent{location.offset, location.offset + *bytes}.overlaps(lines());
  }

  std::optional<Update> update_by(Instruction& instruction) {
    builder_.SetInsertPoint(&instruction);
    if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
      Value* value = store->getValueOperand();
      const llvm::TypeSize bytes = module_.getDataLayout().getTypeStoreSize(value->getType());
      return Update{
          store,   store->getPointerOperand(), builder_.getInt64(bytes.getFixedValue()), value,
          nullptr, store->getAlign()};
    }
    if (auto* copy = llvm::dyn_cast<llvm::MemTransferInst>(&instruction)) {
      return Update{copy,    copy->getDest(),   copy->getLength(),
                    nullptr, copy->getSource(), copy->getDestAlign().valueOrOne()};
    }
    return std::nullopt;
  }

  std::optional<Update> last_update() {
    if (it_.flushed == nullptr) return std::nullopt;
    auto* writer = llvm::dyn_cast<llvm::MemoryDef>(last_writer(values_.state_before(*it_.flushed)));
    if (writer == nullptr || writer->getMemoryInst() == nullptr) return std::nullopt;
    std::optional<Update> update = update_by(*writer->getMemoryInst());
    if (!update || !is_inside(*update)) return std::nullopt;
    if (update->value != nullptr && !is_number(*update->value->getType())) return std::nullopt;
    return update;
  }

  // True if the update writes to the object alone.
  bool is_inside(const Update& update) {
    const Location location = values_.location_of(update.address);
    if (!values_.same_value(location.base, location_.base)) return false;
    const std::optional<std::int64_t> bytes = constant(update.bytes);
    if (it_.bytes == nullptr) {
      const std::int64_t natural = bytes.value_or(kLine + 1);
      if (location.offset == location_.offset && natural <= 8) return true;  // not across lines
      const Extent line = lines();
      return line.end - line.begin == kLine && location.offset >= line.begin &&
             location.offset + natural <= line.end;
    }
    const std::optional<std::int64_t> all = constant(it_.bytes);
    if (bytes && all) {
      return location.offset >= location_.offset &&
             location.offset + *bytes <= location_.offset + *all;
    }
    return location.offset == location_.offset && values_.same_value(update.bytes, it_.bytes);
  }

  bool is_number(llvm::Type& type) const {
    const std::uint64_t bits = module_.getDataLayout().getTypeSizeInBits(&type).getFixedValue();
    return (type.isIntegerTy() || type.isPointerTy() || type.isFloatingPointTy()) &&
           (bits == 8 || bits == 16 || bits == 32 || bits == 64);
  }

  // True if the data begin with a line; such data need no address.
  bool is_aligned(const Update& update) {
    const Location location = values_.location_of(update.address);
    return update.source != nullptr && it_.bytes != nullptr &&
           location.offset == location_.offset &&
           std::max(values_.alignment(location), update.alignment).value() >=
               static_cast<std::uint64_t>(kLine);
  }

  // True if the former contents of the object's lines don't matter.
  bool overwrites_all(const Update& update) {
    return is_aligned(update) && values_.same_value(update.bytes, it_.bytes) &&
           constant(it_.bytes).value_or(1) % kLine == 0;
  }

  Instruction* data_position(const Update& update, Instruction* address_from, Instruction* first) {
    Instruction* position =
        values_.behind_writer(*writer_before(update), first, *update.instruction);
    if (update.source != nullptr) {
      position = source_known_from(update, position);
    } else {
      position = later(position, values_.computable_from(update.value, first));
    }
    if (!is_aligned(update)) {
      position = later(position, address_from);
      position = later(position, values_.computable_from(update.address, first));
    }
    position = outside_loop(position);
    if (position == nullptr) return nullptr;
    const bool in_time =
        position == update.instruction || values_.is_before(position, update.instruction);
    return in_time ? position : nullptr;
  }

  Instruction* later(Instruction* a, Instruction* b) const {
    return a == nullptr || b == nullptr ? nullptr : values_.later(a, b);
  }

  // Returns the second-last update.
  llvm::MemoryAccess* writer_before(const Update& update) {
    llvm::MemoryAccess* writer = last_writer(values_.state_before(*update.instruction));
    while (overwrites_all(update) && only_may_write(*writer)) {
      writer = last_writer(values_.writer_before(*writer));
    }
    return writer;
  }

  // True if the access may, but need not, write to the object.
  bool only_may_write(const llvm::MemoryAccess& access) {
    const auto* writer = llvm::dyn_cast<llvm::MemoryDef>(&access);
    if (writer == nullptr || writer->getMemoryInst() == nullptr) return false;
    const std::optional<Update> update = update_by(*writer->getMemoryInst());
    return !update ||
           !values_.same_value(values_.location_of(update->address).base, location_.base);
  }

  // Returns the first position at which the data to be copied are already at their source.
  Instruction* source_known_from(const Update& update, Instruction* from) {
    const std::optional<std::int64_t> bytes = constant(update.bytes);
    const auto size = bytes ? llvm::LocationSize::precise(static_cast<std::uint64_t>(*bytes))
                            : llvm::LocationSize::afterPointer();
    Instruction* position = computable(update.source, update.bytes, from);
    if (position == nullptr) return nullptr;
    llvm::MemoryAccess* writer = values_.last_writer(values_.state_before(*update.instruction),
                                                     llvm::MemoryLocation(update.source, size));
    position = values_.behind_writer(*writer, position, *update.instruction);
    return values_.safe_from(*update.instruction, update.source,
                             static_cast<std::uint64_t>(bytes.value_or(0)), position);
  }

  // ---- The calls (rule 6) --------------------------------------------------------------------

  // True if the data hint's lines include all lines of the address hint (rule 11).
  bool covers_all(const Update& update) {
    if (it_.bytes == nullptr) return true;
    return values_.same_location(values_.location_of(update.address), location_) &&
           values_.same_value(update.bytes, it_.bytes);
  }

  // Marks the position: loads move, and positions relative to them would move, too.
  Instruction* placeholder(Instruction* position) {
    if (position == nullptr) return nullptr;
    Value* nothing = llvm::PoisonValue::get(builder_.getInt1Ty());
    return new llvm::FreezeInst(nothing, "", position->getIterator());
  }

  void emit(Instruction* address_at, Instruction* data_at, const std::optional<Update>& update) {
    llvm::Function& function = *it_.named->getFunction();
    builder_.SetInsertPoint(&function.getEntryBlock(), function.getEntryBlock().begin());
    object_ = builder_.CreateAlloca(builder_.getInt32Ty());
    Instruction* begin = address_at == nullptr                    ? data_at
                         : data_at == nullptr                     ? address_at
                         : values_.is_before(data_at, address_at) ? data_at
                                                                  : address_at;
    go_to(*begin);
    call_hint(builder_, "init", {object_});
    if (address_at != nullptr) emit_address(*address_at);
    if (data_at != nullptr) emit_data(*data_at, *update);
    for (Instruction* placeholder : {address_at, data_at}) {
      if (placeholder != nullptr) placeholder->eraseFromParent();
    }
  }

  void emit_address(Instruction& at) {
    Value* address = values_.compute(it_.address, &at);
    Value* bytes =
        it_.bytes == nullptr ? builder_.getInt64(kLine) : values_.compute(it_.bytes, &at);
    go_to(at);
    if (it_.bytes == nullptr) {
      address = builder_.CreateIntrinsic(llvm::Intrinsic::ptrmask,
                                         {address->getType(), builder_.getInt64Ty()},
                                         {address, builder_.getInt64(-kLine)});
    }
    call_hint(builder_, "addr", {object_, address, bytes});
  }

  void emit_data(Instruction& at, const Update& update) {
    Value* bytes = values_.compute(update.bytes, &at);
    if (data_alone_) {
      Value* source = values_.compute(update.source, &at);
      go_to(at);
      call_hint(builder_, "data", {object_, source, bytes});
      return;
    }
    Value* address = values_.compute(update.address, &at);
    Value* what = values_.compute(update.value != nullptr ? update.value : update.source, &at);
    go_to(at);
    if (update.value == nullptr) {
      call_hint(builder_, "both", {object_, address, what, bytes});
      return;
    }
    Value* word = as_word(what);
    if (constant(bytes) == 8) {
      call_hint(builder_, "both_val", {object_, address, word});
    } else {
      call_hint(builder_, "both_part", {object_, address, word, bytes});
    }
  }

  Value* as_word(Value* value) {
    if (value->getType()->isPointerTy())
      return builder_.CreatePtrToInt(value, builder_.getInt64Ty());
    const unsigned bits =
        static_cast<unsigned>(module_.getDataLayout().getTypeSizeInBits(value->getType()));
    return builder_.CreateZExt(builder_.CreateBitCast(value, builder_.getIntNTy(bits)),
                               builder_.getInt64Ty());
  }

  void go_to(Instruction& instruction) {
    builder_.SetInsertPoint(&instruction);
    builder_.SetCurrentDebugLocation(it_.named->getDebugLoc());
  }

  llvm::Module& module_;
  KnownValues values_;
  const WriteBacks& all_;
  const WriteBack& it_;
  const Location location_;
  llvm::IRBuilder<> builder_;
  bool data_alone_ = false;  // without their address
  Value* object_ = nullptr;  // the hints' pm_pre
};

// True if the function can have hints; functions with unusual control flow can't.
bool can_have_hints(const llvm::Function& function) {
  return !function.isDeclaration() && !function.hasAvailableExternallyLinkage() &&
         !function.hasFnAttribute(llvm::Attribute::Naked) && !function.isPresplitCoroutine() &&
         !function.callsFunctionThatReturnsTwice();
}

bool insert_hints(llvm::Function& function) {
  WriteBacks found;
  {
    KnownValues values(function);
    found = find_write_backs(function, values);
  }
  // The last write-back is handled first, so that hints at one position are in the order of their
  // write-backs.
  for (const WriteBack& it : llvm::reverse(found.blocking)) Hints(function, found, it).insert();
  return !found.blocking.empty();
}

}  // namespace

bool insert_janus_hints(llvm::Module& module) {
  bool changed = false;
  for (llvm::Function& function : module) {
    if (can_have_hints(function)) changed |= insert_hints(function);
  }
  return changed;
}

}  // namespace pmemsim::pass
