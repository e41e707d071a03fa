// What can be configured of a design: the choice for each layer, and the parameters of all choices.
// Names, places and groups follow from the table of choices.
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
  // The table must outlive it. Throws Error if a row states what nobody reads there.
  explicit DesignConfiguration(const ChoiceTable& table);

  const Choice& ordering() const { return chosen(Layer::kOrdering, ordering_); }
  const Choice& atomicity() const { return chosen(Layer::kAtomicity, atomicity_); }
  const Choice& precompute() const { return chosen(Layer::kPrecompute, precompute_); }
  std::vector<const Choice*> operations() const;
  // The choices of all layers.
  std::vector<const Choice*> chosen() const;
  const ChoiceTable& table() const { return *table_; }

  // What the layers promise together.
  Promises promises() const {
    return ordering().voids_promises ? Promises{} : ordering().promises | atomicity().promises;
  }

  // nullptr if no choice in the table has such parameters.
  template <class Parameters>
  const Parameters* find_parameters() const {
    for (const ParameterGroup& group : groups_) {
      if (const auto* const found = group.get<Parameters>()) return found;
    }
    return nullptr;
  }
  // Of a choice in the table, whose row lists them.
  template <class Parameters>
  const Parameters& parameters() const {
    const Parameters* const found = find_parameters<Parameters>();
    if (found == nullptr) throw Error("no row of the table of choices lists these parameters");
    return *found;
  }

  template <class Visitor>
  void describe_choices(Visitor& visit) {
    visit(kLayerNames[0], ordering_, {}, "Layer 1: when stores become persistent, in which order");
    visit(kLayerNames[1], atomicity_, {}, "Layer 2: what makes a region all-or-nothing");
    visit(kLayerNames[2], backend_, {},
          "Layer 3: what the controller does to a write before it counts");
    visit(kLayerNames[3], precompute_, {}, "Layer 4: who starts backend operations early");
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
  // What a layer has before anything is chosen.
  NamedChoice unchosen(Layer layer) const;
  const Choice& chosen(Layer layer, const NamedChoice& choice) const;
  const Choice& find(Layer layer, std::string_view name) const;

  const ChoiceTable* table_;
  NamedChoice ordering_, atomicity_, precompute_;
  NamedChoices backend_;
  std::vector<ParameterGroup> groups_;
};

// What a design is built from: what was chosen, and what it needs to know of the machine.
struct Blueprint {
  const DesignConfiguration& design;
  std::uint32_t cores;
  const MemoryParameters& pm;
  bool hand_placed_flushes = false;
  // That run, each on a core of its own; 0: not known yet, since no trace is there.
  std::uint32_t threads = 0;
  // In the program of the trace; nothing: not known yet.
  std::optional<trace::ProgramLog> log{};
  std::uint64_t l1_lines = 0;     // of a core
  std::uint64_t cache_lines = 0;  // of all caches

  Chip chip() const {
    return {cores, pm.channels(), std::uint64_t{pm.channels()} * pm.banks(), l1_lines, cache_lines};
  }

  template <class Parameters>
  const Parameters& parameters() const {
    return design.parameters<Parameters>();
  }
};

}  // namespace pmemsim
