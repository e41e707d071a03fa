// The rows of the table of choices: the implementations that a layer can have.
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

// Capabilities that one layer needs and another gives, in words. A row may name others, too.
inline constexpr std::string_view kOrderingFences = "fences that order";
inline constexpr std::string_view kDurableFences = "fences that make durable";
inline constexpr std::string_view kWritingFlushes = "flushes that write back";
inline constexpr std::string_view kAtomicRegions = "atomic regions";
inline constexpr std::string_view kSubOperations = "operations made of sub-operations";
// The capability that an implementation which rolls threads back needs: an atomicity layer that
// accepts a second begin of the same region (designs/interface/thread_control.hpp, rule 7).
inline constexpr std::string_view kRegionsAgain = "regions that can be re-executed";

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
  // True for the layer's default. A layer without such a row defaults to its first row.
  bool by_default = false;
  // Capabilities that this implementation requires, in words. Another layer's choice must give
  // them.
  std::vector<std::string_view> needs{};
  std::vector<std::string_view> gives{};
  Promises promises{};  // durability guarantees of ordering and atomicity
  // True for an ordering whose fences order nothing, so that no other layer can keep its guarantees
  // either.
  bool voids_promises = false;
  // For atomicity: the kind of log in the programs whose recordings this implementation runs.
  trace::ProgramLog log = trace::ProgramLog::kUndo;
  std::vector<ParameterGroup> parameters{};
  // Reasons why it can't work with these parameters or on this machine, a sentence each.
  Problems problems = nullptr;
  // Notes for the user on how it works with these parameters, a sentence each.
  Problems notes = nullptr;
  // The on-chip storage of its structures; nullptr: none.
  StorageOf storage = nullptr;
  // Adds the energy that it has used; nullptr: none of its own.
  AddEnergy energy = nullptr;
  // Its position among the backend's operations: each operation works on the output of those with
  // lower positions. 0: any position.
  std::uint32_t place = 0;
  // The function that makes it. The function's type also says which layer it belongs to.
  std::variant<MakeOrdering, MakeAtomicity, MakeOperation, MakePrecompute> make;
  // For atomicity: makes the procedure that recovers an image. It does not undo the backend
  // operations' changes to the image: their decoders do. nullptr: nothing has to be recovered.
  MakeRecovery recovery = nullptr;

  Layer layer() const { return static_cast<Layer>(make.index()); }
  std::string_view layer_name() const { return kLayerNames[make.index()]; }
};

// A deque keeps the addresses of its rows valid when a plug-in adds others.
using ChoiceTable = std::deque<Choice>;

}  // namespace pmemsim
