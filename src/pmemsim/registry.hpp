// The only list of designs' parts: what each layer can be, what it needs and what it gives.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pmemsim/atomicity/atomicity.hpp"
#include "pmemsim/backend/backend.hpp"
#include "pmemsim/ordering/ordering.hpp"
#include "pmemsim/precompute/precompute.hpp"
#include "pmemsim/sim/configuration.hpp"

namespace pmemsim {

struct LayerChoice {
  std::string_view layer;  // "ordering", "atomicity", "backend", "precompute"
  std::string_view name;
  std::string_view summary;
  std::vector<std::string_view> needs;  // what it can't work without; another part must give it
  std::vector<std::string_view> gives;
};

// Every choice of every layer, in the order of the choices' enums.
const std::vector<LayerChoice>& layer_choices();

// Why the chosen parts can't work together, a sentence each; empty if they can.
std::vector<std::string> combination_problems(const Configuration& configuration);

// What the design keeps of a recorded program.
Lowering lowering(const Configuration& configuration);

std::unique_ptr<Ordering> make_ordering(const Configuration& configuration);
std::unique_ptr<Atomicity> make_atomicity(const Configuration& configuration);
std::unique_ptr<Backend> make_backend(const Configuration& configuration, Memory& pm);
std::unique_ptr<Precompute> make_precompute(const Configuration& configuration);

}  // namespace pmemsim
