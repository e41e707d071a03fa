// Records the calls of library functions that contain no instrumentation: what a function stores,
// flushes and fences.
//
// 1. A function has a few sites of its own, in the header that declares it. They are a function of
//    the recording, called where the program calls it, so that findings name the program's line.
// 2. A call is recorded if recorded code makes it, or if a system call changes memory. Calls inside
//    such a function aren't recorded once more.
// 3. A function may leave by longjmp(): the next recorded call then ends its call.
#pragma once

#include <cstddef>
#include <cstdint>

#include "record.hpp"

namespace pmemsim::rt {

// A function of a library. Its sites are made at its first recorded call.
struct LibraryFunction {
  const char* header;  // path of the file that declares it
  const char* name;
  std::uint32_t base = 0;  // its first site; 0: none yet
};

enum class Callers : std::uint8_t {
  kRecorded,  // a call counts only if recorded code makes it
  kAny,       // a call of any code counts: the system executes it
};

// A call that lasts as long as the instance.
class LibraryCall {
 public:
  // `caller` is an address in the calling code.
  explicit LibraryCall(LibraryFunction& function, Callers callers = Callers::kRecorded,
                       const void* caller = __builtin_return_address(0));
  ~LibraryCall();
  LibraryCall(const LibraryCall&) = delete;
  LibraryCall& operator=(const LibraryCall&) = delete;

  bool recorded() const { return base_ != 0; }
  // Record what the function has done. Nothing is recorded if the call isn't.
  void copied(void* to, const void* from, std::size_t bytes);  // `from` may be null
  void copied_past_caches(void* to, const void* from, std::size_t bytes);
  void flush(const void* begin, std::size_t bytes);
  void fence();
  void mark(trace::MarkKind kind, std::uint64_t first, std::uint64_t second = 0);
  // The same, at addresses of the trace that the program may not have mapped.
  void stored_in_file(std::uint64_t trace_address, const void* values, std::size_t bytes);
  void zeroed_in_file(std::uint64_t trace_address, std::size_t bytes);
  void flush_in_file(std::uint64_t trace_address);

 private:
  std::uint32_t base_ = 0;
};

// True if a function of libpmemobj has been recorded, whose own stores to persistent memory aren't.
bool called_libpmemobj();
// True if the call would be recorded: it is worth preparing.
bool records_library_calls();
// While an instance exists, recorded code that a library calls back is recorded as such.
class CallBack {
 public:
  CallBack();
  ~CallBack();
  CallBack(const CallBack&) = delete;
  CallBack& operator=(const CallBack&) = delete;

 private:
  bool inside_;
};

}  // namespace pmemsim::rt
