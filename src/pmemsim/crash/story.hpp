// A finding explains itself: what the image held, what it should have held and why, and what had
// happened to that line before.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pmemsim/crash/crash_story.hpp"
#include "pmemsim/crash/oracle.hpp"
#include "pmemsim/machine/run/configuration.hpp"

namespace pmemsim {

// What is wrong with a point: what the oracle found, another problem, or both.
struct Violation {
  std::uint64_t point = 0;
  Time when{};
  std::optional<Oracle::Finding> finding{};
  std::uint64_t before_recovery = 0;  // what the finding's word held
  std::string problem{};
  std::vector<Line> evicted{};  // dirty lines taken for written although they weren't
  std::optional<Line> torn{};   // a line taken for written in part
  bool promised_since = false;  // right at the point, until the program was promised more
};

// Runs the simulation again up to the point, to see what led there.
CrashStory tell_story(const Violation& violation, const Configuration& configuration,
                      const trace::TraceFile& trace, const ProgramHistory& history);

}  // namespace pmemsim
