#include "pmemsim/designs/atomicity/hardware_log_row.hpp"

namespace pmemsim {
namespace {

std::string name_of(const Choice& choice) { return "atomicity=" + std::string(choice.name); }

constexpr std::string_view kLostInTheQueue =
    " in the write pending queue, which with pm.persistence=written doesn't survive a crash; "
    "choose pm.persistence=accepted";

bool adr_buffered(const Blueprint& blueprint) {
  return blueprint.parameters<HardwareLogParameters>().metadata == LogMetadata::kAdrBuffered;
}

}  // namespace

HardwareLog::Shape log_shape(const Blueprint& blueprint, LogKind kind, bool from_controllers) {
  const auto& log = blueprint.parameters<HardwareLogParameters>();
  const MemoryParameters& pm = blueprint.pm;
  return {kind,
          blueprint.cores,
          pm.channels(),
          pm.channels() * pm.banks(),
          log.area == LogArea::kShared ? 1 : blueprint.cores,
          log.header_entries,
          from_controllers};
}

std::vector<std::string> log_problems(const Blueprint& blueprint, const Choice&) {
  if (blueprint.pm.persistence == PersistencePoint::kAccepted || !adr_buffered(blueprint)) {
    return {};
  }
  return {"log.metadata=adr-buffered keeps headers" + std::string(kLostInTheQueue) +
          " or log.metadata=collated-header"};
}

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

void add_if_too_small(std::vector<std::string>& problems, std::string_view parameter,
                      std::uint32_t entries, const Blueprint& blueprint) {
  if (entries >= blueprint.threads) return;
  const std::string key = std::string(parameter) + "=";
  problems.push_back(key + std::to_string(entries) + " is too small: each of the " +
                     std::to_string(blueprint.threads) +
                     " threads may keep an entry of a channel while its region waits for a lock; "
                     "choose " +
                     key + std::to_string(blueprint.threads));
}

}  // namespace pmemsim
