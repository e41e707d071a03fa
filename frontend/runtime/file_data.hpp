// System calls that change a file of persistent memory, or make it persistent, without a store or a
// flush of the program's.
//
// 1. A write (write, pwrite, ...) is recorded as stores that nothing has made persistent, unless
//    the file was opened with O_SYNC or O_DSYNC. Truncating a file, punching a hole and zeroing a
//    range are stores of zeros, where the file isn't zero.
// 2. msync(MS_SYNC) makes the pages of its range persistent, fsync and fdatasync the whole file,
//    sync and syncfs everything. msync(MS_ASYNC) and sync_file_range promise nothing.
// 3. Only what the program has mapped is recorded: the rest of a file isn't in the trace.
#pragma once

#include <cstddef>
#include <cstdint>

#include <sys/types.h>

namespace pmemsim::rt {

// Called after msync(MS_SYNC) of the program's addresses.
void note_msync(std::uint64_t begin, std::uint64_t end);
// Called after write() of the calling thread, with its result. Data for other files are a reply.
void note_write_at_position(int descriptor, const void* values, ssize_t bytes);
// Executes system call `number` if it is one of those above; false: it isn't.
bool call_file(long number, const long* arguments, long* result);

}  // namespace pmemsim::rt
