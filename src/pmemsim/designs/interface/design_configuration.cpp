#include "pmemsim/designs/interface/design_configuration.hpp"

#include <algorithm>

namespace pmemsim {
namespace {

// Refuses a row that states something which only other layers' rows may state, and which nothing
// reads in this layer's row.
void check(const Choice& choice) {
  const auto refuse = [&](const std::string& what) {
    throw Error("the row of " + std::string(choice.layer_name()) + "=" + std::string(choice.name) +
                " states " + what);
  };
  const bool atomicity = choice.layer() == Layer::kAtomicity;
  if (choice.recovery != nullptr && !atomicity) {
    refuse("a recovery, which only an atomicity layer has; an operation has a decoder");
  }
  if (choice.promises != Promises{} && !atomicity && choice.layer() != Layer::kOrdering) {
    refuse("guarantees, which only ordering and atomicity have");
  }
}

}  // namespace

DesignConfiguration::DesignConfiguration(const ChoiceTable& table)
    : table_(&table),
      ordering_(unchosen(Layer::kOrdering)),
      atomicity_(unchosen(Layer::kAtomicity)),
      precompute_(unchosen(Layer::kPrecompute)),
      backend_{names(Layer::kBackend), {}} {
  for (const Choice& choice : table) {
    check(choice);
    for (const ParameterGroup& group : choice.parameters) {
      const bool known = std::any_of(groups_.begin(), groups_.end(), [&](const auto& other) {
        return other.name() == group.name();
      });
      if (!known) groups_.push_back(group);
    }
  }
}

std::vector<std::string_view> DesignConfiguration::names(Layer layer) const {
  std::vector<std::string_view> names;
  for (const Choice& choice : *table_) {
    if (choice.layer() == layer) names.push_back(choice.name);
  }
  return names;
}

NamedChoice DesignConfiguration::unchosen(Layer layer) const {
  NamedChoice choice{names(layer)};
  std::size_t index = 0;
  for (const Choice& row : *table_) {
    if (row.layer() != layer) continue;
    if (row.by_default) choice.index = index;
    ++index;
  }
  return choice;
}

const Choice& DesignConfiguration::find(Layer layer, std::string_view name) const {
  return *std::find_if(table_->begin(), table_->end(), [&](const Choice& choice) {
    return choice.layer() == layer && choice.name == name;
  });
}

const Choice& DesignConfiguration::chosen(Layer layer, const NamedChoice& choice) const {
  return find(layer, choice.name());
}

std::vector<const Choice*> DesignConfiguration::operations() const {
  std::vector<const Choice*> found;
  for (const std::size_t index : backend_.indices) {
    found.push_back(&find(Layer::kBackend, backend_.names.at(index)));
  }
  return found;
}

std::vector<const Choice*> DesignConfiguration::chosen() const {
  std::vector<const Choice*> all{&ordering(), &atomicity()};
  for (const Choice* const operation : operations()) all.push_back(operation);
  all.push_back(&precompute());
  return all;
}

}  // namespace pmemsim
