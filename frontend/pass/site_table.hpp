// The module's constant table of sites and the constructor that registers it with the runtime.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/Module.h>

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "dependences.hpp"
#include "pmemsim/trace/format.hpp"
#include "pmemsim/trace/site_flags.hpp"

namespace pmemsim::pass {

struct Site {
  trace::SiteKind kind;
  std::uint8_t detail = 0;
  std::uint8_t size = 0;
  std::uint8_t flags = 0;
  std::uint32_t instructions = 0;
  const llvm::DILocation* location = nullptr;
  const llvm::Function* function = nullptr;
  DependenceSet address_dependences = {};
  DependenceSet data_dependences = {};
  std::optional<std::uint32_t> copied_from = {};  // for a kCopyStore: its kCopyLoad
};

// An inlined call. Calls in one line that were inlined into the same code count as one.
struct InlinedCall {
  llvm::Constant* file;
  llvm::Constant* function;
  std::uint32_t line;
  std::uint32_t outer;  // number of the outer call, or 0
  auto operator<=>(const InlinedCall&) const = default;
};

class SiteTable {
 public:
  explicit SiteTable(llvm::Module& module);

  // Returns the site's number in the module.
  std::uint32_t add(Site site);
  // The number that the next site will have.
  std::uint32_t size() const { return static_cast<std::uint32_t>(sites_.size()); }
  // Marks `site` as the first one that a call of its function executes.
  void set_entry(std::uint32_t site) { sites_[site].flags |= trace::kSiteEntry; }
  // Declares that `site` records the value of `source`, for the dependences of other sites.
  void set_source(const llvm::Instruction& source, std::uint32_t site) { sources_[&source] = site; }
  bool empty() const { return sites_.empty(); }

  // The variable with the number of the module's first site at run time.
  llvm::GlobalVariable& base() const { return *base_; }

  // Writes the table and the constructor into the module.
  void emit();

 private:
  llvm::Constant* string(llvm::StringRef text);
  llvm::Constant* file_name(const llvm::DILocation* location);
  llvm::Constant* function_name(const llvm::DILocation* location, const llvm::Function& function);
  std::uint32_t inlined_call(const llvm::DILocation* call, const llvm::Function& function,
                             std::uint32_t within);
  std::uint8_t flags_of(std::size_t number) const;
  std::uint16_t append_dependences(const DependenceSet& set, std::vector<std::uint32_t>& encoded);
  llvm::Constant* emit_sites();
  llvm::Constant* emit_inlined_calls();
  void emit_constructor(llvm::Constant* module_record);

  llvm::Module& module_;
  llvm::GlobalVariable* base_;
  std::vector<Site> sites_;
  llvm::DenseMap<const llvm::Instruction*, std::uint32_t> sources_;
  llvm::StringMap<llvm::Constant*> strings_;
  llvm::DenseMap<const void*, llvm::Constant*> function_names_;  // key: subprogram or function
  std::vector<InlinedCall> inlined_calls_;
  std::map<InlinedCall, std::uint32_t> inlined_call_numbers_;
};

}  // namespace pmemsim::pass
