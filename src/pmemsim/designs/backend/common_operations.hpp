// What chosen operations need behind them: the entries that some have in common
// (designs/backend/line_entries.hpp), and the time that their sub-operations take
// (designs/backend/schedule.hpp).
#pragma once

#include "pmemsim/designs/backend/backend.hpp"
#include "pmemsim/designs/backend/metadata_cache.hpp"

namespace pmemsim {

void add_common_operations(Backend::Operations& operations, const BackendParameters& parameters,
                           const MetadataCacheParameters& counter_cache, std::uint32_t cores,
                           std::uint32_t unit_scale = 1, bool entries_may_come_later = false);

}  // namespace pmemsim
