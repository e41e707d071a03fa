// Chip area of operations with metadata.
#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "pmemsim/common/chip_storage.hpp"
#include "pmemsim/designs/backend/metadata_cache.hpp"

namespace pmemsim {

inline Structure metadata_cache(std::string_view name, const MetadataCacheParameters& parameters,
                                const Chip& chip) {
  return {.name = fmt::format("{}, shared, for each core", name),
          .formula = fmt::format("{} B", parameters.size_per_core.count),
          .bytes = static_cast<double>(parameters.size_per_core.count),
          .count = chip.cores,
          .source = "Table 3"};
}

inline Structure persistent_register(std::string_view name) {
  return {.name = fmt::format("{}, a persistent register", name),
          .formula = fmt::format("{} B", kRegisterBytes),
          .bytes = kRegisterBytes,
          .count = 1,
          .source = "4.2"};
}

// Returns the storage of the lines' entries, for all operations that need them.
inline Storage entries_storage(const MetadataCacheParameters& counter_cache, const Chip& chip) {
  return {{metadata_cache("counter cache", counter_cache, chip), persistent_register("counter")}};
}

}  // namespace pmemsim
