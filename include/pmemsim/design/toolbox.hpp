// Parts that designs are made of, for designs of one's own: the log that hardware writes, with its
// recovery; containers whose time doesn't depend on the host; what a line's copies in other caches
// hold. docs/layers.md says which one is for what.
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
