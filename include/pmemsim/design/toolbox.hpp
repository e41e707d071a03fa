// Parts for the implementation of new designs: the log that hardware writes, with its recovery;
// containers whose timing doesn't depend on the host; the contents of a line's copies in other
// caches.
#pragma once

#include "pmemsim/common/bloom_filter.hpp"
#include "pmemsim/common/cache_array.hpp"
#include "pmemsim/common/line_table.hpp"
#include "pmemsim/common/slab.hpp"
#include "pmemsim/designs/atomicity/apply_record.hpp"
#include "pmemsim/designs/atomicity/hardware_log.hpp"
#include "pmemsim/designs/atomicity/hardware_log_row.hpp"
#include "pmemsim/designs/atomicity/hardware_recovery.hpp"
#include "pmemsim/designs/atomicity/log_reader.hpp"
#include "pmemsim/designs/interface/region_id.hpp"
#include "pmemsim/designs/interface/stale_lines.hpp"
