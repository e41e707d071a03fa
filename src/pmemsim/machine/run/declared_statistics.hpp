// The statistics that a machine has, listed without a run.
#pragma once

#include <vector>

#include "pmemsim/common/relations.hpp"
#include "pmemsim/common/statistics.hpp"

namespace pmemsim {

struct Configuration;

struct DeclaredStatistic {
  Statistic statistic;  // with its value before anything is counted
  std::vector<Relation> relations;
};

// Returns the statistics of a machine that runs one thread, in the order of declaration. Throws
// ConfigError.
std::vector<DeclaredStatistic> declared_statistics(const Configuration& configuration);

}  // namespace pmemsim
