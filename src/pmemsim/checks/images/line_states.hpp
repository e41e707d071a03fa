// Which of a line's open pieces may be there together (persistency_model.hpp, rules 1, 2, 5 and 8).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "pmemsim/checks/images/persistency_model.hpp"

namespace pmemsim {

// How many ways there are with the pieces up to this one alone, as a number that may be large.
double count_states(const PersistencyModel::Pieces& pieces, std::uint64_t last_order);

// By index: is the piece there? Sure ones always are.
using Presence = std::vector<bool>;
// Calls visit for each way, the empty one first. Only for lines that have few.
void for_each_state(const PersistencyModel::Pieces& pieces,
                    const std::function<void(const Presence&)>& visit);

// Are both in the same stretch of a copy's pieces, so that either may be there without the other?
inline bool unordered(const PersistencyModel::Piece& a, const PersistencyModel::Piece& b) {
  return a.copy != 0 && a.copy == b.copy;
}

}  // namespace pmemsim
