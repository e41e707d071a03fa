// The rows of the table of choices: each describes one implementation of a layer.
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

// Capabilities that one layer needs and another layer gives, in words. Rows may also name
// capabilities that aren't in this list.
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
  // Returns the reasons why this implementation can't work with these parameters or on this
  // machine, a sentence each.
  Problems problems = nullptr;
  // Returns notes for the user on how this implementation works with these parameters, a sentence
  // each.
  Problems notes = nullptr;
  // Returns the on-chip storage of the implementation's structures; nullptr: none.
  StorageOf storage = nullptr;
  // Adds the energy that the implementation has used; nullptr: none of its own.
  AddEnergy energy = nullptr;
  // For backend operations: the position among the chosen operations. Each operation works on the
  // output of the operations with lower positions. 0: any position.
  std::uint32_t place = 0;
  // The function that creates the implementation. Its type determines the layer.
  std::variant<MakeOrdering, MakeAtomicity, MakeOperation, MakePrecompute> make;
  // For atomicity: creates the procedure that recovers an image. The image has been decoded
  // before: the decoders of the backend's operations undo their changes. nullptr: nothing has to be
  // recovered.
  MakeRecovery recovery = nullptr;

  Layer layer() const { return static_cast<Layer>(make.index()); }
  std::string_view layer_name() const { return kLayerNames[make.index()]; }
};

// A deque, because its rows keep their addresses when a plug-in adds rows.
using ChoiceTable = std::deque<Choice>;

}  // namespace pmemsim
