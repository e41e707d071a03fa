// What a layer can be: the rows of the table of choices.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "pmemsim/common/chip_storage.hpp"
#include "pmemsim/common/energy.hpp"
#include "pmemsim/common/parameter_group.hpp"
#include "pmemsim/designs/interface/promises.hpp"
#include "pmemsim/trace/reader.hpp"

namespace pmemsim {

class Atomicity;
class BackendOperation;
struct Blueprint;
class Ordering;
class Precompute;
class Recovery;

enum class Layer : std::uint8_t { kOrdering, kAtomicity, kBackend, kPrecompute };
inline constexpr std::string_view kLayerNames[] = {"ordering", "atomicity", "backend",
                                                   "precompute"};

// What one layer needs and another gives, in words. A row may have others, too.
inline constexpr std::string_view kOrderingFences = "fences that order";
inline constexpr std::string_view kDurableFences = "fences that make durable";
inline constexpr std::string_view kWritingFlushes = "flushes that write back";
inline constexpr std::string_view kAtomicRegions = "atomic regions";
inline constexpr std::string_view kSubOperations = "operations made of sub-operations";
// What a choice that takes threads back needs: an atomicity that doesn't mind when a region begins
// once more (designs/interface/thread_control.hpp, rule 7).
inline constexpr std::string_view kRegionsAgain = "regions that can begin again";

struct Choice {
  using MakeOrdering = std::unique_ptr<Ordering> (*)(const Blueprint&);
  using MakeAtomicity = std::unique_ptr<Atomicity> (*)(const Blueprint&);
  using MakeOperation = std::unique_ptr<BackendOperation> (*)(const Blueprint&);
  using MakePrecompute = std::unique_ptr<Precompute> (*)(const Blueprint&);
  using Problems = std::vector<std::string> (*)(const Blueprint&, const Choice&);
  using AddEnergy = void (*)(const Blueprint&, const EnergyBill&, Energy&);
  using StorageOf = Storage (*)(const Blueprint&);
  using MakeRecovery = std::unique_ptr<Recovery> (*)(const Atomicity&, const trace::TraceFile&);

  std::string_view name;
  std::string_view summary;
  // What its layer has if nobody chooses. Where no row says so, that is the layer's first.
  bool by_default = false;
  // What it can't work without, in words; another layer's choice must give it.
  std::vector<std::string_view> needs{};
  std::vector<std::string_view> gives{};
  Promises promises{};  // of ordering and atomicity
  // Of ordering: its fences order nothing, so that no other layer can keep its promises either.
  bool voids_promises = false;
  // Of what programs' recordings it runs, of atomicity.
  trace::ProgramLog log = trace::ProgramLog::kUndo;
  std::vector<ParameterGroup> parameters{};
  // Why it can't work with these parameters or on that machine, a sentence each.
  Problems problems = nullptr;
  // What a user has to know of how it works there, a sentence each.
  Problems notes = nullptr;
  // What its structures take on the chip; nullptr: nothing.
  StorageOf storage = nullptr;
  // Adds the energy that it has used; nullptr: none of its own.
  AddEnergy energy = nullptr;
  // Its place among the backend's operations: each works on what those of lower places have made of
  // a line. 0: it may have any.
  std::uint32_t place = 0;
  // How it is made, which says what layer it is a choice of, too.
  std::variant<MakeOrdering, MakeAtomicity, MakeOperation, MakePrecompute> make;
  // What recovers an image, of atomicity: what an operation has done to it is undone by its
  // decoder. nullptr: nothing has to be done.
  MakeRecovery recovery = nullptr;

  Layer layer() const { return static_cast<Layer>(make.index()); }
  std::string_view layer_name() const { return kLayerNames[make.index()]; }
};

// A deque, so that rows stay where they are when a plug-in adds others.
using ChoiceTable = std::deque<Choice>;

}  // namespace pmemsim
