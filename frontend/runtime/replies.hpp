// Records what the program sends to others, and when it receives something from them.
//
// 1. A reply consists of the bytes that a call has sent, a mark for each part of memory. It goes to
//    a peer (a socket, a pipe or a device) or to a file (also a terminal). Standard output and
//    standard error count as files, whatever they are: a recording doesn't depend on them.
// 2. A request is what a call has received from a peer, or the end of what the peer sends. Data
//    at standard input are none.
// 3. Only calls of the C library's functions for descriptors are seen. Most of its streams (printf,
//    fopen) write inside the library; those on sockets and pipes don't (streams.hpp).
#pragma once

#include <cstddef>

#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

namespace pmemsim::rt {

// Called after a call that has sent `bytes` bytes from these parts of memory; negative: it failed.
void note_reply(int descriptor, const iovec* parts, std::size_t count, ssize_t bytes);
void note_reply(int descriptor, const void* values, ssize_t bytes);
// Called after a call that has received `bytes` bytes; negative: it failed.
void note_request(int descriptor, const void* values, ssize_t bytes);

}  // namespace pmemsim::rt
