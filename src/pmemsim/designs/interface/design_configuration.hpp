// The configurable part of a design: the choice for each layer, and the parameters of all choices.
// Names, positions and groups follow from the table of choices.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pmemsim/common/parameters.hpp"
#include "pmemsim/designs/interface/choice.hpp"
#include "pmemsim/machine/memory/memory_parameters.hpp"

namespace pmemsim {

class DesignConfiguration {
 public:
  // The table must outlive this object. Throws Error if a row sets a field that its layer doesn't
  // have.
  explicit DesignConfiguration(const ChoiceTable& table);

  const Choice& ordering() const { return chosen(Layer::kOrdering, ordering_); }
  const Choice& atomicity() const { return chosen(Layer::kAtomicity, atomicity_); }
  const Choice& precompute() const { return chosen(Layer::kPrecompute, precompute_); }
  std::vector<const Choice*> operations() const;
  // Returns the choices of all layers.
  std::vector<const Choice*> chosen() const;
  const ChoiceTable& table() const { return *table_; }

  // Returns the durability guarantees of all layers together.
  Promises promises() const {
    return ordering().voids_promises ? Promises{} : ordering().promises | atomicity().promises;
  }

  // Returns nullptr if no choice in the table has such parameters.
  template <class Parameters>
  const Parameters* find_parameters() const {
    for (const ParameterGroup& group : groups_) {
      if (const auto* const found = group.get<Parameters>()) return found;
    }
    return nullptr;
  }
  // Returns the parameters, which a row of the table must list.
  template <class Parameters>
  const Parameters& parameters() const {
    const Parameters* const found = find_parameters<Parameters>();
    if (found == nullptr) throw Error("no implementation in the table lists these parameters");
    return *found;
  }

  template <class Visitor>
  void describe_choices(Visitor& visit) {
    visit(kLayerNames[0], ordering_, {},
          "Layer 1 (ordering): when, and in which order, stores become persistent");
    visit(kLayerNames[1], atomicity_, {},
          "Layer 2 (atomicity): the mechanism that makes a region all-or-nothing");
    visit(kLayerNames[2], backend_, {},
          "Layer 3 (backend): the controller's operations on a write before it is persistent");
    visit(kLayerNames[3], precompute_, {},
          "Layer 4 (precompute): the mechanism that starts backend operations early");
  }
  template <class Visitor>
  void describe_parameters(Visitor& visit) {
    for (ParameterGroup& group : groups_) visit.group(group.name(), group);
  }
  void describe_faults(FaultVisitor& visit) {
    for (ParameterGroup& group : groups_) group.describe_faults(visit);
  }

 private:
  std::vector<std::string_view> names(Layer layer) const;
  // Returns the layer's default, which applies before anything is chosen.
  NamedChoice unchosen(Layer layer) const;
  const Choice& chosen(Layer layer, const NamedChoice& choice) const;
  const Choice& find(Layer layer, std::string_view name) const;

  const ChoiceTable* table_;
  NamedChoice ordering_, atomicity_, precompute_;
  NamedChoices backend_;
  std::vector<ParameterGroup> groups_;
};

// The input from which a design is built: the choices, and the properties of the machine that the
// layers depend on.
struct Blueprint {
  const DesignConfiguration& design;
  std::uint32_t cores;
  const MemoryParameters& pm;
  bool hand_placed_flushes = false;
  // Number of threads that run, each on its own core; 0: not known yet, since no trace is loaded.
  std::uint32_t threads = 0;
  // The kind of log in the trace's program; nothing: not known yet.
  std::optional<trace::ProgramLog> log{};
  std::uint64_t l1_lines = 0;     // lines in one core's L1
  std::uint64_t cache_lines = 0;  // lines in all caches

  Chip chip() const {
    return {cores, pm.channels(), std::uint64_t{pm.channels()} * pm.banks(), l1_lines, cache_lines};
  }

  template <class Parameters>
  const Parameters& parameters() const {
    return design.parameters<Parameters>();
  }
};

}  // namespace pmemsim
