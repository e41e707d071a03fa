#include "pmemsim/designs/backend_rows.hpp"

#include "pmemsim/designs/backend/compression.hpp"
#include "pmemsim/designs/backend/deduplication.hpp"
#include "pmemsim/designs/backend/encryption.hpp"
#include "pmemsim/designs/backend/error_correction.hpp"
#include "pmemsim/designs/backend/integrity.hpp"
#include "pmemsim/designs/backend/metadata_storage.hpp"
#include "pmemsim/designs/backend/oram.hpp"
#include "pmemsim/designs/backend/wear_leveling.hpp"
#include "pmemsim/designs/interface/design_configuration.hpp"

namespace pmemsim {
namespace {

ParameterGroup backend_group() { return ParameterGroup::of<BackendParameters>("backend"); }

ParameterGroup counter_cache_group() {
  return ParameterGroup::of<MetadataCacheParameters>("counter_cache");
}

std::vector<std::string> compression_problems(const Blueprint& blueprint, const Choice&) {
  if (blueprint.pm.persistence == PersistencePoint::kAccepted) return {};
  return {
      "backend=compression makes lines unreadable of which a crash leaves only some words, as with "
      "pm.persistence=written; choose pm.persistence=accepted"};
}

// Checks the cache of an operation; `prefix` is that of its parameters.
template <class Parameters>
std::vector<std::string> cache_problems(const Blueprint& blueprint, const std::string& prefix) {
  const std::string problem =
      metadata_cache_problem(prefix, blueprint.parameters<Parameters>().cache, blueprint.cores);
  if (problem.empty()) return {};
  return {problem};
}

std::vector<std::string> deduplication_problems(const Blueprint& blueprint, const Choice&) {
  return cache_problems<DeduplicationParameters>(blueprint, "deduplication.cache");
}

std::vector<std::string> integrity_problems(const Blueprint& blueprint, const Choice&) {
  return cache_problems<IntegrityParameters>(blueprint, "integrity.cache");
}

// The energy of sub-operations is added for all operations together (work_energy.hpp).
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

Choice no_backend_row() {
  return {.name = kNoChoice,
          .summary = "None: a write is persistent when the write pending queue accepts it",
          .make = Choice::MakeOperation{}};
}

Choice encryption_row() {
  return {.name = "encryption",
          .summary = "Lines are encrypted in counter mode",
          .gives = {kSubOperations},
          .parameters = {backend_group(), ParameterGroup::of<EncryptionParameters>("encryption"),
                         counter_cache_group()},
          .storage =
              [](const Blueprint& blueprint) {
                return entries_storage(blueprint.parameters<MetadataCacheParameters>(),
                                       blueprint.chip());
              },
          .energy = encryption_energy,
          .place = 3,
          .make = [](const Blueprint& blueprint) -> std::unique_ptr<BackendOperation> {
            return std::make_unique<Encryption>(blueprint.parameters<EncryptionParameters>());
          }};
}

Choice deduplication_row() {
  return {
      .name = "deduplication",
      .summary = "Data that are already in PM are not written again",
      .gives = {kSubOperations},
      .parameters = {backend_group(), ParameterGroup::of<DeduplicationParameters>("deduplication"),
                     counter_cache_group()},
      .problems = deduplication_problems,
      .storage = deduplication_storage,
      .energy = deduplication_energy,
      .place = 2,
      .make = [](const Blueprint& blueprint) -> std::unique_ptr<BackendOperation> {
        return std::make_unique<Deduplication>(blueprint.parameters<DeduplicationParameters>(),
                                               blueprint.cores);
      }};
}

Choice integrity_row() {
  return {.name = "integrity",
          .summary = "Lines have a MAC, and a Bonsai Merkle tree protects their counters",
          .gives = {kSubOperations},
          .parameters = {backend_group(), ParameterGroup::of<IntegrityParameters>("integrity"),
                         counter_cache_group()},
          .problems = integrity_problems,
          .storage = integrity_storage,
          .energy = integrity_energy,
          .place = 4,
          .make = [](const Blueprint& blueprint) -> std::unique_ptr<BackendOperation> {
            return std::make_unique<Integrity>(blueprint.parameters<IntegrityParameters>(),
                                               blueprint.cores);
          }};
}

Choice compression_row() {
  return {.name = "compression",
          .summary = "Lines are compressed (base-delta-immediate)",
          .parameters = {backend_group(), ParameterGroup::of<CompressionParameters>("compression")},
          .problems = compression_problems,
          .place = 1,
          .make = [](const Blueprint& blueprint) -> std::unique_ptr<BackendOperation> {
            return std::make_unique<Compression>(blueprint.parameters<CompressionParameters>());
          }};
}

Choice error_correction_row() {
  return {
      .name = "error-correction",
      .summary = "Words have check bits that correct one wrong bit and detect two (SECDED)",
      .parameters = {backend_group(),
                     ParameterGroup::of<ErrorCorrectionParameters>("error_correction")},
      .place = 5,
      .make = [](const Blueprint& blueprint) -> std::unique_ptr<BackendOperation> {
        return std::make_unique<ErrorCorrection>(blueprint.parameters<ErrorCorrectionParameters>());
      }};
}

Choice wear_leveling_row() {
  return {
      .name = "wear-leveling",
      .summary = "Lines move, so that all wear out evenly (Start-Gap)",
      .parameters = {backend_group(), ParameterGroup::of<WearLevelingParameters>("wear_leveling")},
      .storage =
          [](const Blueprint&) {
            return Storage{.unknown =
                               "Start and Gap are two registers for each region of PM, and "
                               "machines don't define the size of PM"};
          },
      .place = 6,
      .make = [](const Blueprint& blueprint) -> std::unique_ptr<BackendOperation> {
        return std::make_unique<WearLeveling>(blueprint.parameters<WearLevelingParameters>());
      }};
}

Choice oram_row() {
  return {.name = "oram",
          .summary = "Accesses have the time and the traffic of an oblivious RAM (Path ORAM)",
          .parameters = {backend_group(), ParameterGroup::of<OramParameters>("oram")},
          .storage =
              [](const Blueprint&) {
                return Storage{.unknown =
                                   "The model contains only the time and traffic of ORAM, not its "
                                   "stash and position map"};
              },
          .make = [](const Blueprint& blueprint) -> std::unique_ptr<BackendOperation> {
            return std::make_unique<Oram>(blueprint.parameters<OramParameters>());
          }};
}

}  // namespace

std::vector<Choice> backend_rows() {
  return {no_backend_row(),  encryption_row(),       deduplication_row(), integrity_row(),
          compression_row(), error_correction_row(), wear_leveling_row(), oram_row()};
}

}  // namespace pmemsim
