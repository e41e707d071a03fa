// PMDK's copying functions, by their documented flags: they copy within the caches and flush, or
// past the caches if there are PMEM_MOVNT_THRESHOLD bytes or more.
#pragma once

#include <cstddef>

#include "library_calls.hpp"

namespace pmemsim::rt {

// The flags of libpmem.h, libpmem2.h and libpmemobj.h, which are equal.
inline constexpr unsigned kNoDrain = 1u << 0, kNonTemporalCopy = 1u << 1, kTemporalCopy = 1u << 2,
                          kWriteCombining = 1u << 3, kWriteBack = 1u << 4, kNoFlush = 1u << 5;

// Records a copy that has been made; `from` is null for memset.
void record_persistent_copy(LibraryCall& call, void* to, const void* from, std::size_t bytes,
                            unsigned flags);

}  // namespace pmemsim::rt
