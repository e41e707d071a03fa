// Streams of the C library on a socket or a pipe: what they send and receive is seen.
//
// 1. fdopen() of a socket or a pipe returns a stream that sends and receives by the runtime's
//    write() and read(). So a reply is recorded when the stream's buffer is sent: at fflush(), at a
//    line's end, when the buffer is full, or at fclose().
// 2. Text and data that recorded code puts into such a stream's buffer are recorded as stores, so
//    that their data flow is known. Those that are sent within the same call aren't.
// 3. Any other stream is the library's own: on standard output, standard error and files, and those
//    of fopen() and popen().
#pragma once
