#include "pmemsim/designs/log_problems.hpp"

#include "pmemsim/designs/atomicity/asap_parameters.hpp"
#include "pmemsim/designs/atomicity/hardware_log_parameters.hpp"

namespace pmemsim {
namespace {

std::string name_of(const Choice& choice) { return "atomicity=" + std::string(choice.name); }

constexpr std::string_view kLostInTheQueue =
    " in the write pending queue, which with pm.persistence=written doesn't survive a crash; "
    "choose pm.persistence=accepted";

bool adr_buffered(const Blueprint& blueprint) {
  return blueprint.parameters<HardwareLogParameters>().metadata == LogMetadata::kAdrBuffered;
}

// Every thread may be in a region that waits for a lock, and keeps an entry of a channel's list
// until it goes on. Whoever has the lock may need one, too.
void add_if_too_small(std::vector<std::string>& problems, std::string_view list,
                      std::uint32_t entries, const Blueprint& blueprint) {
  if (entries >= blueprint.threads) return;
  const std::string key = std::string(list) + "=";
  problems.push_back(key + std::to_string(entries) + " is too small: each of the " +
                     std::to_string(blueprint.threads) +
                     " threads may keep an entry of a channel while its region waits for a lock; "
                     "choose " +
                     key + std::to_string(blueprint.threads));
}

// What is wrong with headers that stand beside data in the write pending queues.
std::vector<std::string> buffered_header_problems(const Blueprint& blueprint,
                                                  const Choice& choice) {
  std::vector<std::string> problems = log_problems(blueprint, choice);
  if (!adr_buffered(blueprint)) return problems;
  const auto& log = blueprint.parameters<HardwareLogParameters>();
  const std::uint32_t lines = header_lines(log.allocation);
  const std::uint32_t least = blueprint.cores * lines + 1;
  if (blueprint.pm.wpq_entries >= least) return problems;
  problems.push_back(name_of(choice) + " with log.metadata=adr-buffered keeps a header of " +
                     std::to_string(lines) + " line(s) for each of the " +
                     std::to_string(blueprint.cores) +
                     " cores in a channel's write pending queue, beside other writes, and "
                     "pm.wpq_entries=" +
                     std::to_string(blueprint.pm.wpq_entries) +
                     " is too small for that; choose pm.wpq_entries=" + std::to_string(least) +
                     " or log.metadata=collated-header");
  return problems;
}

}  // namespace

std::vector<std::string> log_problems(const Blueprint& blueprint, const Choice&) {
  if (blueprint.pm.persistence == PersistencePoint::kAccepted || !adr_buffered(blueprint)) {
    return {};
  }
  return {"log.metadata=adr-buffered keeps headers" + std::string(kLostInTheQueue) +
          " or log.metadata=collated-header"};
}

std::vector<std::string> asap_problems(const Blueprint& blueprint, const Choice& choice) {
  std::vector<std::string> problems = buffered_header_problems(blueprint, choice);
  const auto& asap = blueprint.parameters<AsapParameters>();
  // Not so the LH-WPQ: the paper has 16 entries for 18 cores (7.4), and few programs stop at fewer.
  add_if_too_small(problems, "asap.dependence_entries", asap.dependence_entries, blueprint);
  return problems;
}

std::vector<std::string> undo_log_problems(const Blueprint& blueprint, const Choice& choice) {
  std::vector<std::string> problems = buffered_header_problems(blueprint, choice);
  if (adr_buffered(blueprint)) return problems;
  const auto& log = blueprint.parameters<HardwareLogParameters>();
  if (log.header_entries == 0) {
    problems.push_back(name_of(choice) +
                       " writes a log header before its entries are persistent, and "
                       "log.header_entries=0 has no place for it until then; choose "
                       "log.header_entries=128");
  } else {
    add_if_too_small(problems, "log.header_entries", log.header_entries, blueprint);
  }
  return problems;
}

std::vector<std::string> lad_problems(const Blueprint& blueprint, const Choice& choice) {
  if (blueprint.pm.persistence == PersistencePoint::kAccepted) return {};
  return {name_of(choice) + " keeps a region's lines" + std::string(kLostInTheQueue)};
}

}  // namespace pmemsim
