#include "pmemsim/designs/combination.hpp"

#include <algorithm>

#include "pmemsim/designs/backend_problems.hpp"

namespace pmemsim {
namespace {

// A redo-logging program stores in place only when a region ends, and reads through its log. The
// log can't be removed from the program, and no other log can replace it.
std::string log_problem(const Blueprint& blueprint) {
  const Choice& atomicity = blueprint.design.atomicity();
  if (!blueprint.log || *blueprint.log == atomicity.log) return "";
  std::string fitting;
  for (const Choice& choice : blueprint.design.table()) {
    if (choice.layer() != Layer::kAtomicity || choice.log != *blueprint.log) continue;
    fitting += (fitting.empty() ? "" : ", ") + std::string(choice.name);
  }
  const std::string name = "atomicity=" + std::string(atomicity.name);
  if (*blueprint.log == trace::ProgramLog::kRedo) {
    return name +
           " can't run a recording with a redo log, in which a region's stores are at its end; "
           "choose atomicity=" +
           fitting +
           ", or record it with an undo log (a program of your own: without -DPM_REDO_LOG)";
  }
  return name +
         " needs a recording with a redo log: record it with one (a program of your own: compiled "
         "with -DPM_REDO_LOG), or choose another atomicity: " +
         fitting;
}

bool contains(const std::vector<std::string_view>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

std::vector<std::string> combination_notes(const Blueprint& blueprint) {
  std::vector<std::string> notes;
  for (const Choice* const part : blueprint.design.chosen()) {
    if (part->notes == nullptr) continue;
    for (const std::string& note : part->notes(blueprint, *part)) notes.push_back(note);
  }
  return notes;
}

std::vector<std::string> combination_problems(const Blueprint& blueprint) {
  const std::vector<const Choice*> parts = blueprint.design.chosen();
  std::vector<std::string> problems;
  if (const std::string problem = log_problem(blueprint); !problem.empty()) {
    problems.push_back(problem);
  }
  for (const Choice* const part : parts) {
    if (part->problems == nullptr) continue;
    for (const std::string& problem : part->problems(blueprint, *part)) problems.push_back(problem);
  }
  for (const std::string& problem : backend_problems(blueprint)) problems.push_back(problem);
  for (const Choice* const part : parts) {
    for (const std::string_view need : part->needs) {
      const bool given = std::any_of(parts.begin(), parts.end(), [&](const Choice* other) {
        return contains(other->gives, need);
      });
      if (given) continue;
      std::string givers;
      for (const Choice& choice : blueprint.design.table()) {
        if (!contains(choice.gives, need) || choice.voids_promises) continue;
        givers += (givers.empty() ? "" : " or ") + std::string(choice.layer_name()) + "=" +
                  std::string(choice.name);
      }
      problems.push_back(std::string(part->layer_name()) + "=" + std::string(part->name) +
                         " needs " + std::string(need) + ", which no other layer gives; choose " +
                         givers);
    }
  }
  return problems;
}

}  // namespace pmemsim
