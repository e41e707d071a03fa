// What operations of the backend are made of (Janus, 3.1 and 4.2): sub-operations, the nodes of one
// graph.
#pragma once

#include <string>
#include <vector>

#include "pmemsim/core/units.hpp"

namespace pmemsim {

// Of a write, what a sub-operation works on.
struct Inputs {
  bool address = false;
  bool data = false;

  friend constexpr Inputs operator|(Inputs one, Inputs other) {
    return {one.address || other.address, one.data || other.data};
  }
  // Are they all there?
  constexpr bool within(Inputs known) const {
    return (!address || known.address) && (!data || known.data);
  }
};

struct SubOperation {
  std::string name;  // as the paper has it: E1
  Picoseconds latency{0};
  Inputs external{};  // not those that come by way of `after`
  // Whose results it needs. Names of operations that aren't chosen stand for nothing.
  std::vector<std::string> after{};
  bool finds_duplicates = false;  // tells whether the line's data are elsewhere already
  bool unless_duplicate = false;  // falls away if they are
};

}  // namespace pmemsim
