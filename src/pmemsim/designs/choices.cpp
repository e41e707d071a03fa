// One row a choice: what it is called, what it needs, gives and promises, what can be configured of
// it, how it is made, and which procedure recovers it. To add one is to add its row.
#include "pmemsim/designs/choices.hpp"

#include <fmt/format.h>

#include "pmemsim/designs/atomicity/asap.hpp"
#include "pmemsim/designs/atomicity/asap_recovery.hpp"
#include "pmemsim/designs/atomicity/hardware_recovery.hpp"
#include "pmemsim/designs/atomicity/hw_redo.hpp"
#include "pmemsim/designs/atomicity/hw_redo_recovery.hpp"
#include "pmemsim/designs/atomicity/hw_undo.hpp"
#include "pmemsim/designs/atomicity/hw_undo_recovery.hpp"
#include "pmemsim/designs/atomicity/lad.hpp"
#include "pmemsim/designs/atomicity/lad_recovery.hpp"
#include "pmemsim/designs/atomicity/no_atomicity.hpp"
#include "pmemsim/designs/atomicity/software_log_recovery.hpp"
#include "pmemsim/designs/atomicity/software_redo.hpp"
#include "pmemsim/designs/atomicity/software_undo.hpp"
#include "pmemsim/designs/backend/compression.hpp"
#include "pmemsim/designs/backend/deduplication.hpp"
#include "pmemsim/designs/backend/encryption.hpp"
#include "pmemsim/designs/backend/error_correction.hpp"
#include "pmemsim/designs/backend/integrity.hpp"
#include "pmemsim/designs/backend/metadata_storage.hpp"
#include "pmemsim/designs/backend/oram.hpp"
#include "pmemsim/designs/backend/wear_leveling.hpp"
#include "pmemsim/designs/design_configuration.hpp"
#include "pmemsim/designs/log_problems.hpp"
#include "pmemsim/designs/ordering/dpo.hpp"
#include "pmemsim/designs/ordering/eadr.hpp"
#include "pmemsim/designs/ordering/free.hpp"
#include "pmemsim/designs/ordering/hops.hpp"
#include "pmemsim/designs/ordering/no_ordering.hpp"
#include "pmemsim/designs/ordering/pmem_spec.hpp"
#include "pmemsim/designs/ordering/x86.hpp"
#include "pmemsim/designs/precompute/janus.hpp"
#include "pmemsim/designs/precompute/pmweaver.hpp"

namespace pmemsim {
namespace {

// What one layer needs and another gives, in words.
constexpr std::string_view kOrderingFences = "fences that order";
constexpr std::string_view kDurableFences = "fences that make durable";
constexpr std::string_view kWritingFlushes = "flushes that write back";
constexpr std::string_view kAtomicRegions = "atomic regions";
constexpr std::string_view kSubOperations = "operations made of sub-operations";

HardwareLog::Shape log_shape(const Blueprint& blueprint, LogKind kind,
                             bool from_controllers = false) {
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

// Its header queue is the LH-WPQ.
HardwareLog::Shape asap_shape(const Blueprint& blueprint) {
  HardwareLog::Shape shape = log_shape(blueprint, LogKind::kUndo);
  shape.header_entries = blueprint.parameters<AsapParameters>().lh_wpq_entries;
  return shape;
}

PmemSpecOrdering::Surroundings pmem_spec_surroundings(const Blueprint& blueprint) {
  const MemoryParameters& pm = blueprint.pm;
  const bool far = pm.queue_place == QueuePlace::kDevice;
  return {.cores = blueprint.cores,
          .controllers = pm.channels(),
          .acknowledgement = pm.front_latency + (far ? pm.link_latency : Picoseconds{0}),
          .regions = blueprint.design.atomicity().promises.whole_regions,
          .before_commit = blueprint.design.atomicity().log == trace::ProgramLog::kRedo
                               ? trace::Purpose::kLog
                               : trace::Purpose::kDataFlush};
}

std::vector<std::string> pmem_spec_problems(const Blueprint& blueprint, const Choice&) {
  const bool published =
      blueprint.parameters<PmemSpecParameters>().controllers == SpecControllers::kPublished;
  const std::uint32_t controllers = blueprint.pm.channels();
  if (!published || controllers == 1) return {};
  return {
      "pmem_spec.controllers=published has nothing that orders stores to different controllers "
      "(PMEM-Spec, 7), and this machine's PM has " +
      std::to_string(controllers) +
      " channels with queues of their own; choose pmem_spec.controllers=ordered or a machine "
      "with one"};
}

std::vector<std::string> pmem_spec_notes(const Blueprint& blueprint, const Choice&) {
  const std::uint32_t controllers = blueprint.pm.channels();
  if (controllers == 1) return {};
  return {"PMEM-Spec is for one PM controller (section 7); the " + std::to_string(controllers) +
          " channels with queues of their own of this machine run an extension that keeps a core's "
          "stores in order (docs/model.md)"};
}

std::vector<std::string> compression_problems(const Blueprint& blueprint, const Choice&) {
  if (blueprint.pm.persistence == PersistencePoint::kAccepted) return {};
  return {
      "backend=compression makes a line of which a crash leaves some words, as it may with "
      "pm.persistence=written, unreadable; choose pm.persistence=accepted"};
}

std::vector<std::string> pmweaver_problems(const Blueprint& blueprint, const Choice&) {
  const auto& parameters = blueprint.parameters<PmWeaverParameters>();
  std::vector<std::string> problems;
  const auto check = [&](std::string_view name, std::uint32_t entries, std::uint32_t ways) {
    if (entries % ways == 0) return;
    problems.push_back(
        fmt::format("pmweaver.{0}_entries={1} is no multiple of pmweaver.{0}_ways={2}; make it one",
                    name, entries, ways));
  };
  check("history", parameters.history_entries, parameters.history_ways);
  check("table", parameters.table_entries, parameters.table_ways);
  if (parameters.as_artifact() && (parameters.next_pointers || parameters.value_deltas)) {
    problems.push_back(
        "pmweaver.variant=artifact has a table of its own, in which pmweaver.next_pointers and "
        "value_deltas have no place; choose pmweaver.variant=paper, or leave both false");
  }
  return problems;
}

// What sub-operations take is added for all of them together (work_energy.hpp).
void encryption_energy(const Blueprint&, const EnergyBill& bill, Energy& energy) {
  energy.pads += bill.counted("encryption.read_pads", bill.prices().pad);
}

void integrity_energy(const Blueprint&, const EnergyBill& bill, Energy& energy) {
  energy.metadata_caches += bill.look_ups("tree_cache", bill.prices().metadata_cache);
  energy.tree_hashes += bill.counted("integrity.nodes_verified", bill.prices().sha1);
}

void deduplication_energy(const Blueprint&, const EnergyBill& bill, Energy& energy) {
  energy.metadata_caches += bill.look_ups("fingerprint_cache", bill.prices().metadata_cache);
}

void pmweaver_energy(const Blueprint&, const EnergyBill& bill, Energy& energy) {
  const EnergyParameters& each = bill.prices();
  energy.predictor_power += bill.over_core_time(each.predictor);
  energy.predictor += bill.counted("core.stores", each.predictor_store) +
                      bill.counted("pmweaver.write_backs", each.predictor_flush) +
                      bill.counted("pmweaver.by_stores", each.prediction) +
                      bill.counted("pmweaver.by_timeout", each.prediction) +
                      bill.counted("backend.writes", each.validation);
}

Storage deduplication_storage(const Blueprint& blueprint) {
  Storage storage =
      entries_storage(blueprint.parameters<MetadataCacheParameters>(), blueprint.chip());
  storage.structures.push_back(metadata_cache("fingerprint cache",
                                              blueprint.parameters<DeduplicationParameters>().cache,
                                              blueprint.chip()));
  return storage;
}

Storage integrity_storage(const Blueprint& blueprint) {
  Storage storage =
      entries_storage(blueprint.parameters<MetadataCacheParameters>(), blueprint.chip());
  storage.structures.push_back(metadata_cache(
      "Merkle tree cache", blueprint.parameters<IntegrityParameters>().cache, blueprint.chip()));
  storage.structures.push_back(persistent_register("root of the tree"));
  return storage;
}

template <class Design>
std::unique_ptr<Recovery> hardware_recovery(
    const Atomicity& design, typename HardwareRecovery<Design>::Procedure& procedure) {
  return std::make_unique<HardwareRecovery<Design>>(dynamic_cast<const Design&>(design), procedure);
}

std::unique_ptr<Recovery> software_recovery(const Atomicity&, const trace::TraceFile& trace) {
  return std::make_unique<SoftwareLogRecovery>(trace.metadata().pm_regions);
}

ChoiceTable make_table() {
  using Groups = std::vector<ParameterGroup>;
  const auto log = ParameterGroup::of<HardwareLogParameters>("log");
  const auto backend = ParameterGroup::of<BackendParameters>("backend");
  const auto counter_cache = ParameterGroup::of<MetadataCacheParameters>("counter_cache");
  return {
      // Ordering.
      {.name = "none",
       .summary = "No order: lines persist when the caches evict them",
       .make = [](const Blueprint&) -> std::unique_ptr<Ordering> {
         return std::make_unique<NoOrdering>();
       }},
      {.name = "x86",
       .summary = "clwb and sfence: a fence waits until the flushed lines are persistent",
       .by_default = true,
       .gives = {kOrderingFences, kDurableFences, kWritingFlushes},
       .promises = {.fences = FencePromise::kFlushed},
       .parameters = Groups{ParameterGroup::of<X86Parameters>("x86")},
       .make = [](const Blueprint& blueprint) -> std::unique_ptr<Ordering> {
         return std::make_unique<X86Ordering>(blueprint.cores,
                                              blueprint.parameters<X86Parameters>().faults);
       }},
      {.name = "free",
       .summary = "clwb and sfence that wait for nothing, and promise nothing",
       .gives = {kOrderingFences, kDurableFences, kWritingFlushes},
       .voids_promises = true,
       .make = [](const Blueprint&) -> std::unique_ptr<Ordering> {
         return std::make_unique<FreeOrdering>();
       }},
      {.name = "eadr",
       .summary = "Persistent caches: a store is persistent when it becomes visible",
       .gives = {kOrderingFences, kDurableFences},
       .promises = {.stores_in_order = true,
                    .reads_in_order = true,
                    .caches_persist = true,
                    .fences = FencePromise::kStores},
       .parameters = Groups{ParameterGroup::of<EadrParameters>("eadr")},
       .make = [](const Blueprint& blueprint) -> std::unique_ptr<Ordering> {
         return std::make_unique<EadrOrdering>(blueprint.cores,
                                               blueprint.parameters<EadrParameters>().faults);
       }},
      {.name = "dpo",
       .summary = "Persist buffers in the coherence domain, written one store at a time (DPO)",
       .gives = {kOrderingFences, kDurableFences},
       .promises = {.stores_in_order = true,
                    .reads_in_order = true,
                    .fences = FencePromise::kStores},
       .parameters = Groups{ParameterGroup::of<DpoParameters>("dpo")},
       .storage =
           [](const Blueprint& blueprint) {
             return DpoOrdering::storage(blueprint.parameters<DpoParameters>(), blueprint.chip());
           },
       .make = [](const Blueprint& blueprint) -> std::unique_ptr<Ordering> {
         return std::make_unique<DpoOrdering>(
             blueprint.cores, blueprint.pm.persistence == PersistencePoint::kAccepted,
             blueprint.parameters<DpoParameters>());
       }},
      {.name = "hops",
       .summary = "Persist buffers that are written epoch by epoch, ofence and dfence (HOPS)",
       .gives = {kOrderingFences, kDurableFences},
       .promises = {.reads_in_order = true,
                    .fences = FencePromise::kStores,
                    .regions = RegionPromise::kWhenDeclared},
       .parameters = Groups{ParameterGroup::of<HopsParameters>("hops")},
       .storage =
           [](const Blueprint& blueprint) {
             return HopsOrdering::storage(blueprint.parameters<HopsParameters>(), blueprint.chip());
           },
       .make = [](const Blueprint& blueprint) -> std::unique_ptr<Ordering> {
         return std::make_unique<HopsOrdering>(blueprint.cores,
                                               blueprint.parameters<HopsParameters>());
       }},
      {.name = "pmem-spec",
       .summary = "Stores go to PM past the caches, speculation keeps their order (PMEM-Spec)",
       .needs = {kRegionsAgain},
       .gives = {kOrderingFences, kDurableFences},
       .promises = {.stores_in_order = true,
                    .reads_in_order = true,
                    .fences = FencePromise::kStores,
                    .regions = RegionPromise::kWhenDeclared},
       .parameters = Groups{ParameterGroup::of<PmemSpecParameters>("pmem_spec")},
       .problems = pmem_spec_problems,
       .notes = pmem_spec_notes,
       .storage =
           [](const Blueprint& blueprint) {
             return PmemSpecOrdering::storage(blueprint.parameters<PmemSpecParameters>(),
                                              blueprint.chip());
           },
       .make = [](const Blueprint& blueprint) -> std::unique_ptr<Ordering> {
         return std::make_unique<PmemSpecOrdering>(pmem_spec_surroundings(blueprint),
                                                   blueprint.parameters<PmemSpecParameters>());
       }},

      // Atomicity.
      {.name = "none",
       .summary = "Nothing: a crash may leave a region half done",
       .gives = {kRegionsAgain},
       .make = [](const Blueprint&) -> std::unique_ptr<Atomicity> {
         return std::make_unique<NoAtomicity>();
       }},
      {.name = "software-undo",
       .summary = "The program's own undo log, as recorded",
       .by_default = true,
       .needs = {kOrderingFences},
       .gives = {kAtomicRegions, kRegionsAgain},
       .promises = {.whole_regions = true, .regions = RegionPromise::kAtEnd},
       .parameters = Groups{ParameterGroup::of<SoftwareUndoParameters>("software_undo")},
       .make = [](const Blueprint& blueprint) -> std::unique_ptr<Atomicity> {
         return std::make_unique<SoftwareUndo>(
             blueprint.parameters<SoftwareUndoParameters>().faults);
       },
       .recovery = software_recovery},
      {.name = "software-redo",
       .summary = "The program's own redo log, as recorded (Mnemosyne)",
       .needs = {kOrderingFences},
       .gives = {kAtomicRegions, kRegionsAgain},
       .promises = {.whole_regions = true, .regions = RegionPromise::kAtEnd},
       .log = trace::ProgramLog::kRedo,
       .parameters = Groups{ParameterGroup::of<SoftwareRedoParameters>("software_redo")},
       .make = [](const Blueprint& blueprint) -> std::unique_ptr<Atomicity> {
         return std::make_unique<SoftwareRedo>(
             blueprint.parameters<SoftwareRedoParameters>().faults);
       },
       .recovery = software_recovery},
      {.name = "hw-undo",
       .summary = "Undo log written by hardware, data flushed by the program, synchronous commit "
                  "(Proteus)",
       .needs = {kWritingFlushes},
       .gives = {kAtomicRegions},
       .promises = {.whole_regions = true, .regions = RegionPromise::kAtEnd},
       .parameters = Groups{log},
       .problems = undo_log_problems,
       .storage =
           [](const Blueprint& blueprint) {
             return HwUndo::storage(blueprint.parameters<HardwareLogParameters>(),
                                    blueprint.chip());
           },
       .make = [](const Blueprint& blueprint) -> std::unique_ptr<Atomicity> {
         return std::make_unique<HwUndo>(log_shape(blueprint, LogKind::kUndo),
                                         blueprint.parameters<HardwareLogParameters>());
       },
       .recovery =
           [](const Atomicity& design, const trace::TraceFile&) {
             return hardware_recovery<HwUndo>(design, recover_undo_log);
           }},
      {.name = "hw-redo",
       .summary = "Redo log written by hardware, data in place after a commit that waits for the "
                  "log (ReDU)",
       .needs = {kWritingFlushes},
       .gives = {kAtomicRegions},
       .promises = {.whole_regions = true,
                    .commits_cover_flushes = true,
                    .regions = RegionPromise::kAtEnd},
       .parameters = Groups{log, ParameterGroup::of<HwRedoParameters>("hw_redo")},
       .problems = log_problems,
       .storage =
           [](const Blueprint& blueprint) {
             return HwRedo::storage(blueprint.parameters<HwRedoParameters>(),
                                    blueprint.parameters<HardwareLogParameters>(),
                                    blueprint.chip());
           },
       .make = [](const Blueprint& blueprint) -> std::unique_ptr<Atomicity> {
         return std::make_unique<HwRedo>(log_shape(blueprint, LogKind::kRedo),
                                         blueprint.parameters<HwRedoParameters>(),
                                         blueprint.parameters<HardwareLogParameters>());
       },
       .recovery = [](const Atomicity& design,
                      const trace::TraceFile&) -> std::unique_ptr<Recovery> {
         return std::make_unique<RedoRecovery>(dynamic_cast<const HwRedo&>(design));
       }},
      {.name = "asap",
       .summary = "Undo log and data written by hardware, regions commit asynchronously (ASAP)",
       .needs = {kWritingFlushes},
       .gives = {kAtomicRegions},
       .promises = {.whole_regions = true, .regions = RegionPromise::kWhenDeclared},
       .parameters = Groups{log, ParameterGroup::of<AsapParameters>("asap")},
       .problems = asap_problems,
       .storage =
           [](const Blueprint& blueprint) {
             return Asap::storage(blueprint.parameters<AsapParameters>(), blueprint.chip());
           },
       .make = [](const Blueprint& blueprint) -> std::unique_ptr<Atomicity> {
         return std::make_unique<Asap>(asap_shape(blueprint),
                                       blueprint.parameters<AsapParameters>(),
                                       blueprint.parameters<HardwareLogParameters>());
       },
       .recovery =
           [](const Atomicity& design, const trace::TraceFile&) {
             return hardware_recovery<Asap>(design, recover_asap);
           }},
      {.name = "lad",
       .summary = "Lines kept in the controllers' queues until their region commits, logged on "
                  "overflow (LAD)",
       .needs = {kWritingFlushes},
       .gives = {kAtomicRegions},
       .promises = {.whole_regions = true,
                    .commits_cover_flushes = true,
                    .regions = RegionPromise::kAtEnd},
       .parameters = Groups{log},
       .problems = lad_problems,
       .storage =
           [](const Blueprint& blueprint) {
             return Lad::storage(blueprint.parameters<HardwareLogParameters>(), blueprint.chip());
           },
       .make = [](const Blueprint& blueprint) -> std::unique_ptr<Atomicity> {
         return std::make_unique<Lad>(log_shape(blueprint, LogKind::kUndo, true),
                                      blueprint.pm.front_latency,
                                      blueprint.parameters<HardwareLogParameters>());
       },
       .recovery =
           [](const Atomicity& design, const trace::TraceFile&) {
             return hardware_recovery<Lad>(design, recover_lad);
           }},

      // Backend.
      {.name = kNoChoice,
       .summary = "Nothing: a write counts when the write pending queue has it",
       .make = Choice::MakeOperation{}},
      {.name = "encryption",
       .summary = "Lines are encrypted in counter mode",
       .gives = {kSubOperations},
       .parameters =
           Groups{backend, ParameterGroup::of<EncryptionParameters>("encryption"), counter_cache},
       .storage =
           [](const Blueprint& blueprint) {
             return entries_storage(blueprint.parameters<MetadataCacheParameters>(),
                                    blueprint.chip());
           },
       .energy = encryption_energy,
       .place = 3,
       .make = [](const Blueprint& blueprint) -> std::unique_ptr<BackendOperation> {
         return std::make_unique<Encryption>(blueprint.parameters<EncryptionParameters>());
       }},
      {.name = "deduplication",
       .summary = "Data that PM has already aren't written again",
       .gives = {kSubOperations},
       .parameters = Groups{backend, ParameterGroup::of<DeduplicationParameters>("deduplication"),
                            counter_cache},
       .storage = deduplication_storage,
       .energy = deduplication_energy,
       .place = 2,
       .make = [](const Blueprint& blueprint) -> std::unique_ptr<BackendOperation> {
         return std::make_unique<Deduplication>(blueprint.parameters<DeduplicationParameters>(),
                                                blueprint.cores);
       }},
      {.name = "integrity",
       .summary = "Lines have a MAC, and a Bonsai Merkle tree stands over their counters",
       .gives = {kSubOperations},
       .parameters =
           Groups{backend, ParameterGroup::of<IntegrityParameters>("integrity"), counter_cache},
       .storage = integrity_storage,
       .energy = integrity_energy,
       .place = 4,
       .make = [](const Blueprint& blueprint) -> std::unique_ptr<BackendOperation> {
         return std::make_unique<Integrity>(blueprint.parameters<IntegrityParameters>(),
                                            blueprint.cores);
       }},
      {.name = "compression",
       .summary = "Lines are compressed (base-delta-immediate)",
       .parameters = Groups{backend, ParameterGroup::of<CompressionParameters>("compression")},
       .problems = compression_problems,
       .place = 1,
       .make = [](const Blueprint& blueprint) -> std::unique_ptr<BackendOperation> {
         return std::make_unique<Compression>(blueprint.parameters<CompressionParameters>());
       }},
      {.name = "error-correction",
       .summary = "Words have check bits that correct one wrong bit and detect two (SECDED)",
       .parameters =
           Groups{backend, ParameterGroup::of<ErrorCorrectionParameters>("error_correction")},
       .place = 5,
       .make = [](const Blueprint& blueprint) -> std::unique_ptr<BackendOperation> {
         return std::make_unique<ErrorCorrection>(
             blueprint.parameters<ErrorCorrectionParameters>());
       }},
      {.name = "wear-leveling",
       .summary = "Lines move, so that none is worn out before the others (Start-Gap)",
       .parameters = Groups{backend, ParameterGroup::of<WearLevelingParameters>("wear_leveling")},
       .storage =
           [](const Blueprint&) {
             return Storage{.unknown =
                                "Start and Gap are two registers for each region of PM, "
                                "whose size no machine has"};
           },
       .place = 6,
       .make = [](const Blueprint& blueprint) -> std::unique_ptr<BackendOperation> {
         return std::make_unique<WearLeveling>(blueprint.parameters<WearLevelingParameters>());
       }},
      {.name = "oram",
       .summary = "Accesses take the time and the traffic of those of an oblivious RAM (Path ORAM)",
       .parameters = Groups{backend, ParameterGroup::of<OramParameters>("oram")},
       .storage =
           [](const Blueprint&) {
             return Storage{.unknown =
                                "ORAM's stash and position map aren't modelled, only its "
                                "time and traffic"};
           },
       .make = [](const Blueprint& blueprint) -> std::unique_ptr<BackendOperation> {
         return std::make_unique<Oram>(blueprint.parameters<OramParameters>());
       }},

      // Precompute.
      {.name = kNoChoice,
       .summary = "Nobody",
       .by_default = true,
       .make = [](const Blueprint&) -> std::unique_ptr<Precompute> {
         return std::make_unique<NoPrecompute>();
       }},
      {.name = "janus",
       .summary = "Operations start on what the program's pre-execution calls announce (Janus)",
       .needs = {kSubOperations},
       .parameters = Groups{ParameterGroup::of<JanusParameters>("janus")},
       .storage =
           [](const Blueprint& blueprint) {
             return Janus::storage(blueprint.parameters<JanusParameters>(), blueprint.chip());
           },
       .make = [](const Blueprint& blueprint) -> std::unique_ptr<Precompute> {
         return std::make_unique<Janus>(blueprint.parameters<JanusParameters>(), blueprint.cores);
       }},
      {.name = "pmweaver",
       .summary = "Operations start on writes that the cores' earlier stores predict (PMWeaver)",
       .needs = {kSubOperations},
       .parameters = Groups{ParameterGroup::of<PmWeaverParameters>("pmweaver")},
       .problems = pmweaver_problems,
       .storage =
           [](const Blueprint& blueprint) {
             return PmWeaver::storage(blueprint.parameters<PmWeaverParameters>(), blueprint.chip());
           },
       .energy = pmweaver_energy,
       .make = [](const Blueprint& blueprint) -> std::unique_ptr<Precompute> {
         return std::make_unique<PmWeaver>(blueprint.parameters<PmWeaverParameters>(),
                                           blueprint.cores);
       }},
  };
}

}  // namespace

const ChoiceTable& choices() {
  static const ChoiceTable kTable = make_table();
  return kTable;
}

}  // namespace pmemsim
