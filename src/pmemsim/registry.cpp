#include "pmemsim/registry.hpp"

#include <algorithm>
#include <array>

#include "pmemsim/atomicity/asap.hpp"
#include "pmemsim/atomicity/hw_redo.hpp"
#include "pmemsim/atomicity/hw_undo.hpp"
#include "pmemsim/atomicity/lad.hpp"
#include "pmemsim/atomicity/none.hpp"
#include "pmemsim/atomicity/software_undo.hpp"
#include "pmemsim/ordering/eadr.hpp"
#include "pmemsim/ordering/none.hpp"
#include "pmemsim/ordering/x86.hpp"

namespace pmemsim {

std::span<const std::string_view> choice_names(OrderingChoice) {
  static constexpr std::string_view kNames[] = {"none", "x86", "eadr"};
  return kNames;
}
std::span<const std::string_view> choice_names(AtomicityChoice) {
  static constexpr std::string_view kNames[] = {"none",    "software-undo", "hw-undo",
                                                "hw-redo", "asap",          "lad"};
  return kNames;
}
std::span<const std::string_view> choice_names(BackendChoice) {
  static constexpr std::string_view kNames[] = {"none"};
  return kNames;
}
std::span<const std::string_view> choice_names(PrecomputeChoice) {
  static constexpr std::string_view kNames[] = {"none"};
  return kNames;
}

const std::vector<LayerChoice>& layer_choices() {
  static const std::vector<LayerChoice> kChoices{
      {"ordering", "none", "No order: lines persist when the caches evict them", {}, {}},
      {"ordering",
       "x86",
       "clwb and sfence: a fence waits until the flushed lines are persistent",
       {},
       {"fences that order", "fences that make durable", "flushes that write back"}},
      {"ordering",
       "eadr",
       "Persistent caches: a store is persistent when it becomes visible",
       {},
       {"fences that order", "fences that make durable"}},
      {"atomicity", "none", "Nothing: a crash may leave a region half done", {}, {}},
      {"atomicity",
       "software-undo",
       "The program's own undo log, as recorded",
       {"fences that order"},
       {"atomic regions"}},
      {"atomicity",
       "hw-undo",
       "Undo log written by hardware, data flushed by the program, synchronous commit (Proteus)",
       {"flushes that write back"},
       {"atomic regions"}},
      {"atomicity",
       "hw-redo",
       "Redo log written by hardware, data in place after a commit that waits for the log (ReDU)",
       {"flushes that write back"},
       {"atomic regions"}},
      {"atomicity",
       "asap",
       "Undo log and data written by hardware, regions commit asynchronously (ASAP)",
       {"flushes that write back"},
       {"atomic regions"}},
      {"atomicity",
       "lad",
       "Lines kept in the controllers' queues until their region commits, logged on overflow (LAD)",
       {"flushes that write back"},
       {"atomic regions"}},
      {"backend", "none", "Nothing: a write counts when the write pending queue has it", {}, {}},
      {"precompute", "none", "Nobody", {}, {}},
  };
  return kChoices;
}

namespace {

template <class Enum>
const LayerChoice& chosen(std::string_view layer, Enum value) {
  const std::string_view name = choice_names(value)[static_cast<std::size_t>(value)];
  const auto& choices = layer_choices();
  return *std::find_if(choices.begin(), choices.end(), [&](const LayerChoice& choice) {
    return choice.layer == layer && choice.name == name;
  });
}

// An undo log's header is persistent before its entries are, so it needs a place that is.
void add_header_problems(const Configuration& configuration, std::vector<std::string>& problems) {
  const AtomicityChoice atomicity = configuration.atomicity;
  const HardwareLogParameters& log = configuration.log;
  if (atomicity != AtomicityChoice::kHwUndo && atomicity != AtomicityChoice::kAsap) return;
  const std::string name = "atomicity=" + std::string(chosen("atomicity", atomicity).name);
  if (log.metadata == LogMetadata::kCollatedHeader) {
    if (log.header_entries > 0 || atomicity != AtomicityChoice::kHwUndo) return;
    problems.push_back(name +
                       " writes a log header before its entries are persistent, and "
                       "log.header_entries=0 has no place for it until then; choose "
                       "log.header_entries=128");
    return;
  }
  const std::uint32_t lines = log.allocation == LogAllocation::kLoadAware ? 2 : 1;
  const std::uint32_t least = configuration.core.count * lines + 1;
  if (configuration.pm.wpq_entries >= least) return;
  problems.push_back(name + " with log.metadata=adr-buffered keeps a header of " +
                     std::to_string(lines) + " line(s) for each of the " +
                     std::to_string(configuration.core.count) +
                     " cores in a channel's write pending queue, beside other writes, and "
                     "pm.wpq_entries=" +
                     std::to_string(configuration.pm.wpq_entries) +
                     " is too small for that; choose pm.wpq_entries=" + std::to_string(least) +
                     " or log.metadata=collated-header");
}

// What a design keeps in the write pending queue must survive there.
void add_persistence_problems(const Configuration& configuration,
                              std::vector<std::string>& problems) {
  if (configuration.pm.persistence == PersistencePoint::kAccepted) return;
  const std::string lost =
      " in the write pending queue, which with pm.persistence=written doesn't survive a crash; "
      "choose pm.persistence=accepted";
  const AtomicityChoice atomicity = configuration.atomicity;
  if (atomicity == AtomicityChoice::kLad) {
    problems.push_back("atomicity=lad keeps a region's lines" + lost);
  } else if (atomicity != AtomicityChoice::kNone && atomicity != AtomicityChoice::kSoftwareUndo &&
             configuration.log.metadata == LogMetadata::kAdrBuffered) {
    problems.push_back("log.metadata=adr-buffered keeps headers" + lost +
                       " or log.metadata=collated-header");
  }
}

}  // namespace

std::vector<std::string> combination_problems(const Configuration& configuration) {
  const std::array<const LayerChoice*, 4> parts{
      &chosen("ordering", configuration.ordering), &chosen("atomicity", configuration.atomicity),
      &chosen("backend", configuration.backend), &chosen("precompute", configuration.precompute)};
  std::vector<std::string> problems;
  add_header_problems(configuration, problems);
  add_persistence_problems(configuration, problems);
  for (const LayerChoice* part : parts) {
    for (const std::string_view need : part->needs) {
      const bool given = std::any_of(parts.begin(), parts.end(), [&](const LayerChoice* other) {
        return std::find(other->gives.begin(), other->gives.end(), need) != other->gives.end();
      });
      if (given) continue;
      std::string givers;
      for (const LayerChoice& choice : layer_choices()) {
        if (std::find(choice.gives.begin(), choice.gives.end(), need) == choice.gives.end())
          continue;
        givers += (givers.empty() ? "" : " or ") + std::string(choice.layer) + "=" +
                  std::string(choice.name);
      }
      problems.push_back(std::string(part->layer) + "=" + std::string(part->name) + " needs " +
                         std::string(need) + ", which no other layer gives; choose " + givers);
    }
  }
  return problems;
}

Lowering lowering(const Configuration& configuration) {
  Lowering lowering =
      make_ordering(configuration)->lowering() & make_atomicity(configuration)->lowering();
  if (configuration.run.hand_placed_flushes) {
    lowering.keeps_the_rest[static_cast<std::size_t>(trace::Purpose::kDataFlush)] = false;
  }
  return lowering;
}

std::unique_ptr<Ordering> make_ordering(const Configuration& configuration) {
  switch (configuration.ordering) {
    case OrderingChoice::kNone:
      return std::make_unique<NoOrdering>();
    case OrderingChoice::kX86:
      return std::make_unique<X86Ordering>(configuration.core.count, configuration.x86_defects);
    case OrderingChoice::kEadr:
      return std::make_unique<EadrOrdering>(configuration.core.count, configuration.eadr_defects);
  }
  return nullptr;
}

namespace {

HardwareLog::Shape log_shape(const Configuration& configuration, LogKind kind,
                             bool from_controllers = false) {
  const MemoryParameters& pm = configuration.pm;
  const std::uint32_t cores = configuration.core.count;
  const std::uint32_t rings = configuration.log.area == LogArea::kShared ? 1 : cores;
  return {kind,
          cores,
          pm.channels(),
          pm.channels() * pm.banks(),
          rings,
          configuration.log.header_entries,
          from_controllers};
}

// Its header queue is the LH-WPQ.
HardwareLog::Shape asap_shape(const Configuration& configuration) {
  HardwareLog::Shape shape = log_shape(configuration, LogKind::kUndo);
  shape.header_entries = configuration.asap.lh_wpq_entries;
  return shape;
}

}  // namespace

std::unique_ptr<Atomicity> make_atomicity(const Configuration& configuration) {
  switch (configuration.atomicity) {
    case AtomicityChoice::kNone:
      return std::make_unique<NoAtomicity>();
    case AtomicityChoice::kSoftwareUndo:
      return std::make_unique<SoftwareUndo>(configuration.software_undo_defects);
    case AtomicityChoice::kHwUndo:
      return std::make_unique<HwUndo>(log_shape(configuration, LogKind::kUndo), configuration.log);
    case AtomicityChoice::kHwRedo:
      return std::make_unique<HwRedo>(log_shape(configuration, LogKind::kRedo),
                                      configuration.hw_redo, configuration.log);
    case AtomicityChoice::kAsap:
      return std::make_unique<Asap>(asap_shape(configuration), configuration.asap,
                                    configuration.log);
    case AtomicityChoice::kLad:
      return std::make_unique<Lad>(log_shape(configuration, LogKind::kUndo, true),
                                   configuration.pm.front_latency, configuration.log);
  }
  return nullptr;
}

std::unique_ptr<Backend> make_backend(const Configuration& configuration, Memory& pm) {
  switch (configuration.backend) {
    case BackendChoice::kNone:
      return std::make_unique<NoBackend>(pm);
  }
  return nullptr;
}

std::unique_ptr<Precompute> make_precompute(const Configuration& configuration) {
  switch (configuration.precompute) {
    case PrecomputeChoice::kNone:
      return std::make_unique<NoPrecompute>();
  }
  return nullptr;
}

}  // namespace pmemsim
