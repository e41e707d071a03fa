#include "pmemsim/registry.hpp"

#include <algorithm>
#include <array>

#include "pmemsim/atomicity/asap.hpp"
#include "pmemsim/atomicity/hw_undo.hpp"
#include "pmemsim/atomicity/none.hpp"
#include "pmemsim/atomicity/software_undo.hpp"
#include "pmemsim/ordering/eadr.hpp"
#include "pmemsim/ordering/none.hpp"
#include "pmemsim/ordering/x86.hpp"

namespace pmemsim {

std::span<const std::string_view> choice_names(OrderingChoice) {
  static constexpr std::string_view kNames[] = {"none", "x86", "eadr"};
  return kNames;
}
std::span<const std::string_view> choice_names(AtomicityChoice) {
  static constexpr std::string_view kNames[] = {"none", "software-undo", "hw-undo", "asap"};
  return kNames;
}
std::span<const std::string_view> choice_names(BackendChoice) {
  static constexpr std::string_view kNames[] = {"none"};
  return kNames;
}
std::span<const std::string_view> choice_names(PrecomputeChoice) {
  static constexpr std::string_view kNames[] = {"none"};
  return kNames;
}

const std::vector<LayerChoice>& layer_choices() {
  static const std::vector<LayerChoice> kChoices{
      {"ordering", "none", "No order: lines persist when the caches evict them", {}, {}},
      {"ordering",
       "x86",
       "clwb and sfence: a fence waits until the flushed lines are persistent",
       {},
       {"fences that order", "fences that make durable", "flushes that write back"}},
      {"ordering",
       "eadr",
       "Persistent caches: a store is persistent when it becomes visible",
       {},
       {"fences that order", "fences that make durable"}},
      {"atomicity", "none", "Nothing: a crash may leave a region half done", {}, {}},
      {"atomicity",
       "software-undo",
       "The program's own undo log, as recorded",
       {"fences that order"},
       {"atomic regions"}},
      {"atomicity",
       "hw-undo",
       "Undo log written by hardware, data flushed by the program, synchronous commit (Proteus)",
       {"flushes that write back"},
       {"atomic regions"}},
      {"atomicity",
       "asap",
       "Undo log and data written by hardware, regions commit asynchronously (ASAP)",
       {"flushes that write back"},
       {"atomic regions"}},
      {"backend", "none", "Nothing: a write counts when the write pending queue has it", {}, {}},
      {"precompute", "none", "Nobody", {}, {}},
  };
  return kChoices;
}

namespace {

template <class Enum>
const LayerChoice& chosen(std::string_view layer, Enum value) {
  const std::string_view name = choice_names(value)[static_cast<std::size_t>(value)];
  const auto& choices = layer_choices();
  return *std::find_if(choices.begin(), choices.end(), [&](const LayerChoice& choice) {
    return choice.layer == layer && choice.name == name;
  });
}

}  // namespace

std::vector<std::string> combination_problems(const Configuration& configuration) {
  const std::array<const LayerChoice*, 4> parts{
      &chosen("ordering", configuration.ordering), &chosen("atomicity", configuration.atomicity),
      &chosen("backend", configuration.backend), &chosen("precompute", configuration.precompute)};
  std::vector<std::string> problems;
  for (const LayerChoice* part : parts) {
    for (const std::string_view need : part->needs) {
      const bool given = std::any_of(parts.begin(), parts.end(), [&](const LayerChoice* other) {
        return std::find(other->gives.begin(), other->gives.end(), need) != other->gives.end();
      });
      if (given) continue;
      std::string givers;
      for (const LayerChoice& choice : layer_choices()) {
        if (std::find(choice.gives.begin(), choice.gives.end(), need) == choice.gives.end())
          continue;
        givers += (givers.empty() ? "" : " or ") + std::string(choice.layer) + "=" +
                  std::string(choice.name);
      }
      problems.push_back(std::string(part->layer) + "=" + std::string(part->name) + " needs " +
                         std::string(need) + ", which no other layer gives; choose " + givers);
    }
  }
  return problems;
}

std::unique_ptr<Ordering> make_ordering(const Configuration& configuration) {
  switch (configuration.ordering) {
    case OrderingChoice::kNone:
      return std::make_unique<NoOrdering>();
    case OrderingChoice::kX86:
      return std::make_unique<X86Ordering>(configuration.core.count);
    case OrderingChoice::kEadr:
      return std::make_unique<EadrOrdering>();
  }
  return nullptr;
}

std::unique_ptr<Atomicity> make_atomicity(const Configuration& configuration) {
  switch (configuration.atomicity) {
    case AtomicityChoice::kNone:
      return std::make_unique<NoAtomicity>();
    case AtomicityChoice::kSoftwareUndo:
      return std::make_unique<SoftwareUndo>();
    case AtomicityChoice::kHwUndo:
      return std::make_unique<HwUndo>(configuration.core.count, configuration.log);
    case AtomicityChoice::kAsap:
      return std::make_unique<Asap>(configuration.core.count, configuration.pm.channels(),
                                    configuration.asap, configuration.log);
  }
  return nullptr;
}

std::unique_ptr<Backend> make_backend(const Configuration& configuration, Memory& pm) {
  switch (configuration.backend) {
    case BackendChoice::kNone:
      return std::make_unique<NoBackend>(pm);
  }
  return nullptr;
}

std::unique_ptr<Precompute> make_precompute(const Configuration& configuration) {
  switch (configuration.precompute) {
    case PrecomputeChoice::kNone:
      return std::make_unique<NoPrecompute>();
  }
  return nullptr;
}

}  // namespace pmemsim
