// The entry of the LLVM pass plug-in (clang -fpass-plugin=...). Annotations are handled before all
// optimizations, and the program is instrumented after them. Janus's hints are inserted early
// in the optimizations, those of a profile after them, if the plug-in's options request them. clang
// accepts these options only if it also loads the plug-in early (-fplugin=...).
#include <llvm/Config/llvm-config.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Passes/PassPlugin.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>

#include <string>

#include "annotated_locks.hpp"
#include "hints_from_profile.hpp"
#include "instrument.hpp"
#include "janus_hints.hpp"

namespace pmemsim::pass {
namespace {

llvm::cl::opt<bool> janus_auto("pmemsim-janus-auto",
                               llvm::cl::desc("Insert Janus's pre-execution hints"));
llvm::cl::opt<std::string> janus_profile(
    "pmemsim-janus-profile", llvm::cl::desc("Insert pre-execution hints at these source lines"));

llvm::CodeGenOptLevel code_generation_level(llvm::OptimizationLevel level) {
  switch (level.getSpeedupLevel()) {
    case 0:
      return llvm::CodeGenOptLevel::None;
    case 1:
      return llvm::CodeGenOptLevel::Less;
    case 2:
      return llvm::CodeGenOptLevel::Default;
    default:
      return llvm::CodeGenOptLevel::Aggressive;
  }
}

class AnnotatedLocksPass : public llvm::PassInfoMixin<AnnotatedLocksPass> {
 public:
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager&) {
    return record_annotated_locks(module) ? llvm::PreservedAnalyses::none()
                                          : llvm::PreservedAnalyses::all();
  }
  static bool isRequired() { return true; }  // at -O0 too
};

class JanusHintsPass : public llvm::PassInfoMixin<JanusHintsPass> {
 public:
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager&) {
    return insert_janus_hints(module) ? llvm::PreservedAnalyses::none()
                                      : llvm::PreservedAnalyses::all();
  }
  static bool isRequired() { return true; }  // at -O0 too
};

class ProfileHintsPass : public llvm::PassInfoMixin<ProfileHintsPass> {
 public:
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager&) {
    return insert_hints_from_profile(module, janus_profile) ? llvm::PreservedAnalyses::none()
                                                            : llvm::PreservedAnalyses::all();
  }
  static bool isRequired() { return true; }  // at -O0 too
};

class InstrumentPass : public llvm::PassInfoMixin<InstrumentPass> {
 public:
  explicit InstrumentPass(llvm::OptimizationLevel level) : level_(level) {}

  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager&) {
    return instrument(module, code_generation_level(level_)) ? llvm::PreservedAnalyses::none()
                                                             : llvm::PreservedAnalyses::all();
  }
  static bool isRequired() { return true; }  // at -O0 too

 private:
  llvm::OptimizationLevel level_;
};

}  // namespace
}  // namespace pmemsim::pass

extern "C" __attribute__((visibility("default"))) llvm::PassPluginLibraryInfo
llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "pmemsim", LLVM_VERSION_STRING, [](llvm::PassBuilder& builder) {
            builder.registerPipelineStartEPCallback(
                [](llvm::ModulePassManager& passes, llvm::OptimizationLevel) {
                  passes.addPass(pmemsim::pass::AnnotatedLocksPass());
                });
            builder.registerPipelineEarlySimplificationEPCallback(
                [](llvm::ModulePassManager& passes, llvm::OptimizationLevel) {
                  if (!pmemsim::pass::janus_auto) return;
                  passes.addPass(llvm::AlwaysInlinerPass());
                  passes.addPass(pmemsim::pass::JanusHintsPass());
                });
            builder.registerOptimizerLastEPCallback(
                [](llvm::ModulePassManager& passes, llvm::OptimizationLevel level) {
                  if (!pmemsim::pass::janus_profile.empty()) {
                    passes.addPass(pmemsim::pass::ProfileHintsPass());
                  }
                  passes.addPass(pmemsim::pass::InstrumentPass(level));
                });
          }};
}
