// The functions of libpmemobj (PMDK), as recorded code calls them. The library itself stores a
// pool's metadata, which aren't recorded: only the effect on the program's data is.
//
//  1. An outermost transaction is a region: it begins at pmemobj_tx_begin() and ends when the
//     library has committed or aborted it. A range that it adds is a range that the region logs.
//  2. A commit flushes the ranges that were added or allocated, with a fence. Freed objects may be
//     used until the commit.
//  3. An abort stores the former contents of the ranges that were added, and frees the allocated
//     objects. The library leaves the failed call by longjmp(): the abort is recorded at the
//     transaction's next call.
//  4. A function that allocates stores the address where the program asks for it, and so does one
//     that frees. List functions store the list's head and the entries that are concerned.
#pragma once

#include "replacements.hpp"

namespace pmemsim::rt {

// True if recorded code calls a function that lists a pool's objects, in this execution or another.
bool enumerates_objects();

extern const Replacements kLibpmemobj, kLibpmemobjTransactions, kLibpmemobjAllocation;

}  // namespace pmemsim::rt
