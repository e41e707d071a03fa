#include "site_table.hpp"

#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>

#include "pmemsim/trace/dependence.hpp"
#include "pmemsim/trace/site_flags.hpp"
#include "pmemsim_rt.h"

namespace pmemsim::pass {
namespace {

llvm::GlobalVariable* private_constant(llvm::Module& module, llvm::Constant* value,
                                       const llvm::Twine& name) {
  auto* variable = new llvm::GlobalVariable(module, value->getType(), true,
                                            llvm::GlobalValue::PrivateLinkage, value, name);
  variable->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
  return variable;
}

}  // namespace

SiteTable::SiteTable(llvm::Module& module) : module_(module) {
  llvm::Type* number = llvm::Type::getInt32Ty(module.getContext());
  base_ = new llvm::GlobalVariable(module, number, false, llvm::GlobalValue::InternalLinkage,
                                   llvm::ConstantInt::get(number, 0), "pmemsim_base");
}

std::uint32_t SiteTable::add(Site site) {
  sites_.push_back(std::move(site));
  return static_cast<std::uint32_t>(sites_.size() - 1);
}

llvm::Constant* SiteTable::string(llvm::StringRef text) {
  llvm::Constant*& constant = strings_[text];
  if (constant == nullptr) {
    constant = private_constant(
        module_, llvm::ConstantDataArray::getString(module_.getContext(), text), "pmemsim_string");
  }
  return constant;
}

llvm::Constant* SiteTable::file_name(const llvm::DILocation* location) {
  return string(location != nullptr ? location->getFilename() : "");
}

// Returns the function that contains the source line: for inlined code not the compiled function.
llvm::Constant* SiteTable::function_name(const llvm::DILocation* location,
                                         const llvm::Function& function) {
  const llvm::DISubprogram* subprogram =
      location != nullptr ? location->getScope()->getSubprogram() : nullptr;
  const void* key = subprogram != nullptr ? static_cast<const void*>(subprogram) : &function;
  llvm::Constant*& name = function_names_[key];
  if (name != nullptr) return name;
  llvm::StringRef mangled = function.getName();
  if (subprogram != nullptr) {
    mangled =
        subprogram->getLinkageName().empty() ? subprogram->getName() : subprogram->getLinkageName();
  }
  return name = string(llvm::demangle(mangled));
}

// Returns the call's number: outer calls have lower ones, from 1. 0: there is no call, or the
// nesting below it has reached the limit.
std::uint32_t SiteTable::inlined_call(const llvm::DILocation* call, const llvm::Function& function,
                                      std::uint32_t within) {
  if (call == nullptr || within == trace::kMaxInlinedDepth) return 0;
  const std::uint32_t outer = inlined_call(call->getInlinedAt(), function, within + 1);
  const InlinedCall wanted{.file = file_name(call),
                           .function = function_name(call, function),
                           .line = call->getLine(),
                           .outer = outer};
  std::uint32_t& number = inlined_call_numbers_[wanted];
  if (number == 0) {
    inlined_calls_.push_back(wanted);
    number = static_cast<std::uint32_t>(inlined_calls_.size());
  }
  return number;
}

// Appends the dependences; sources that are not recorded (in another address space, say) are
// omitted.
std::uint16_t SiteTable::append_dependences(const DependenceSet& set,
                                            std::vector<std::uint32_t>& encoded) {
  std::uint16_t count = 0;
  for (const Dependence& dependence : set) {
    auto source = sources_.find(dependence.source);
    if (source == sources_.end()) continue;
    encoded.push_back(source->second << 8 | dependence.cycles |
                      (dependence.divides ? trace::kDivides : 0));
    ++count;
  }
  return count;
}

// Returns the site's flags, including those that depend on all other sites.
std::uint8_t SiteTable::flags_of(std::size_t number) const {
  const Site& site = sites_[number];
  std::uint8_t flags = site.flags;
  if (site.location != nullptr && site.location->getInlinedAt() != nullptr) {
    flags |= trace::kSiteInlined;
  }
  if (number == 0 || sites_[number - 1].function != site.function) flags |= trace::kSiteNewFunction;
  return flags;
}

// struct pmemsim_rt_site[], see pmemsim_rt.h.
llvm::Constant* SiteTable::emit_sites() {
  llvm::LLVMContext& context = module_.getContext();
  llvm::Type* byte = llvm::Type::getInt8Ty(context);
  llvm::Type* half = llvm::Type::getInt16Ty(context);
  llvm::Type* word = llvm::Type::getInt32Ty(context);
  llvm::Type* pointer = llvm::PointerType::getUnqual(context);
  auto* type = llvm::StructType::get(
      context, {byte, byte, byte, byte, word, pointer, pointer, word, word, half, half, pointer});

  struct Range {
    std::size_t first;
    std::uint16_t address, data;
  };
  std::vector<std::uint32_t> encoded;
  std::vector<Range> ranges;
  for (const Site& site : sites_) {
    Range range{.first = encoded.size(), .address = 0, .data = 0};
    range.address = append_dependences(site.address_dependences, encoded);
    range.data = append_dependences(site.data_dependences, encoded);
    if (site.copied_from) {
      encoded.push_back(*site.copied_from << 8);
      ++range.data;
    }
    ranges.push_back(range);
  }
  llvm::Constant* dependences = private_constant(
      module_, llvm::ConstantDataArray::get(context, encoded), "pmemsim_dependences");

  std::vector<llvm::Constant*> records;
  for (std::size_t i = 0; i < sites_.size(); ++i) {
    const Site& site = sites_[i];
    const llvm::DILocation* location = site.location;
    const llvm::DILocation* inlined_at = location != nullptr ? location->getInlinedAt() : nullptr;
    llvm::Constant* first = llvm::ConstantExpr::getInBoundsGetElementPtr(
        word, dependences, llvm::ConstantInt::get(word, ranges[i].first));
    records.push_back(llvm::ConstantStruct::get(
        type,
        {llvm::ConstantInt::get(byte, static_cast<std::uint8_t>(site.kind)),
         llvm::ConstantInt::get(byte, site.detail), llvm::ConstantInt::get(byte, site.size),
         llvm::ConstantInt::get(byte, flags_of(i)), llvm::ConstantInt::get(word, site.instructions),
         file_name(location), function_name(location, *site.function),
         llvm::ConstantInt::get(word, location != nullptr ? location->getLine() : 0),
         llvm::ConstantInt::get(word, inlined_call(inlined_at, *site.function, 0)),
         llvm::ConstantInt::get(half, ranges[i].address),
         llvm::ConstantInt::get(half, ranges[i].data), first}));
  }
  return private_constant(
      module_, llvm::ConstantArray::get(llvm::ArrayType::get(type, records.size()), records),
      "pmemsim_sites");
}

// struct pmemsim_rt_inlined_call[]
llvm::Constant* SiteTable::emit_inlined_calls() {
  llvm::LLVMContext& context = module_.getContext();
  llvm::Type* word = llvm::Type::getInt32Ty(context);
  llvm::Type* pointer = llvm::PointerType::getUnqual(context);
  auto* type = llvm::StructType::get(context, {pointer, pointer, word, word});
  std::vector<llvm::Constant*> records;
  for (const InlinedCall& call : inlined_calls_) {
    records.push_back(llvm::ConstantStruct::get(
        type, {call.file, call.function, llvm::ConstantInt::get(word, call.line),
               llvm::ConstantInt::get(word, call.outer)}));
  }
  return private_constant(
      module_, llvm::ConstantArray::get(llvm::ArrayType::get(type, records.size()), records),
      "pmemsim_inlined_calls");
}

void SiteTable::emit_constructor(llvm::Constant* module_record) {
  llvm::LLVMContext& context = module_.getContext();
  llvm::Type* nothing = llvm::Type::getVoidTy(context);
  auto* constructor = llvm::Function::createWithDefaultAttr(llvm::FunctionType::get(nothing, false),
                                                            llvm::GlobalValue::InternalLinkage, 0,
                                                            "pmemsim_register", &module_);
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "", constructor));
  builder.CreateCall(
      module_.getOrInsertFunction("pmemsim_rt_register", nothing, builder.getPtrTy()),
      {module_record});
  builder.CreateRetVoid();
  constexpr int kBeforeAllOthers = 0;
  llvm::appendToGlobalCtors(module_, constructor, kBeforeAllOthers);
}

void SiteTable::emit() {
  llvm::LLVMContext& context = module_.getContext();
  llvm::Type* word = llvm::Type::getInt32Ty(context);
  llvm::Type* pointer = llvm::PointerType::getUnqual(context);
  llvm::Constant* sites = emit_sites();
  llvm::Constant* inlined_calls = emit_inlined_calls();
  // struct pmemsim_rt_module
  llvm::Constant* record = llvm::ConstantStruct::get(
      llvm::StructType::get(context, {word, word, pointer, pointer, word, pointer}),
      {llvm::ConstantInt::get(word, PMEMSIM_RT_VERSION),
       llvm::ConstantInt::get(word, sites_.size()), sites, base_,
       llvm::ConstantInt::get(word, inlined_calls_.size()), inlined_calls});
  auto* variable =
      new llvm::GlobalVariable(module_, record->getType(), false,
                               llvm::GlobalValue::InternalLinkage, record, "pmemsim_module");
  emit_constructor(variable);
}

}  // namespace pmemsim::pass
