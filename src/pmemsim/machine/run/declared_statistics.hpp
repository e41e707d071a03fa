// The statistics that a machine counts, without a run.
#pragma once

#include <vector>

#include "pmemsim/common/relations.hpp"
#include "pmemsim/common/statistics.hpp"

namespace pmemsim {

struct Configuration;

struct DeclaredStatistic {
  Statistic statistic;  // before anything was counted
  std::vector<Relation> relations;
};

// In the order of declaration, of a machine that runs one thread. Throws ConfigError.
std::vector<DeclaredStatistic> declared_statistics(const Configuration& configuration);

}  // namespace pmemsim
