// The durability guarantees of a design, for an analysis that does not depend on a machine.
#pragma once

#include "pmemsim/crash/program_history.hpp"
#include "pmemsim/designs/interface/lowering.hpp"
#include "pmemsim/trace/reader.hpp"

namespace pmemsim {

struct Configuration;

struct DesignGuarantees {
  Lowering lowering;
  ProgramHistory::Guarantees guarantees;
};

// Returns the design's guarantees. Throws ConfigError if the design guarantees nothing or can't run
// the recording.
DesignGuarantees guarantees_of(const Configuration& configuration, const trace::TraceFile& trace);

}  // namespace pmemsim
