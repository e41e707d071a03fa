// The recording runtime from the inside: what its parts share.
//
// One rule carries everything: of the recorded program's threads only the holder of a token runs;
// the scheduler moves it. So the state below needs no locks, and what is recorded depends on the
// program alone, not on the machine's timing.
//
// Who may call whom: each file only those above it and those of its own entry (a test compares).
//   status, memory, real, kernel_mappings
//                                messages; memory of its own; the C library's functions
//   operators, heap, stacks, processes
//                                know nothing of recording
//   scheduler, schedules, meetings, turns, objects, own_locks, record, sites, output, places,
//   persistent, contents, mapping, flushes, warm, external, threads, processor, signals, watchdog
//                                the recorder. A turn that ends stops stepping and reaps threads, a
//                                record may end a turn or a buffer: these call each other.
//   clock, locks, waits, blocking, metadata    what waits for time, threads or descriptors
//   annotated_locks              what the program says of locks of its own
//   pthread, once, c11_threads, exec           what the program calls in place of the C library
//   region_of_interest           begins and ends recording
//   lifecycle                    begin and end of the program
// What the program calls, too (exit(), pthread_testcancel(), ...), anybody may call as it does.
//
// The runtime lives in the user's program, which may be C: it uses neither exceptions nor the C++
// library, and no memory but its own (memory.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <alloca.h>
#include <pthread.h>
#include <sched.h>

#include "memory.hpp"
#include "pmemsim/trace/format.hpp"
#include "pmemsim/trace/layout.hpp"
#include "pmemsim_rt.h"

#define PMEMSIM_EXPORT extern "C" __attribute__((visibility("default")))

namespace pmemsim::trace {
class FrameFile;
}

namespace pmemsim::rt {

// ---- Threads --------------------------------------------------------------------------------

// What every recorded operation touches, in thread-local storage. (Without constinit each access
// would first ask whether another file has a constructor for it.)
struct Hot {
  std::uint8_t* cursor;  // where the next record goes
  std::uint8_t* limit;   // from here on a record might not fit; nullptr while nothing is recorded
  std::int64_t budget;   // instructions left of the quantum
  // What the buffer holds.
  std::uint64_t operations, instructions;
};
extern constinit thread_local Hot hot __attribute__((tls_model("initial-exec")));

enum class State : std::uint8_t {
  kRunnable,
  kSpinning,  // runnable again when the bytes that it looks at change
  kPolling,   // runnable again when a file descriptor is ready
  kBlocked,   // until another thread wakes it, or its deadline passes
  kOutside,   // asleep in code that the runtime doesn't see; has lost the token (watchdog.cpp)
  kEnded,
};

// Where a spin-wait may be going on: two iterations of a loop that reads one atomic variable.
struct SpinCandidate {
  std::uint32_t site;
  const volatile void* address;
  std::uint8_t* previous;  // the record of the last read but one; nullptr: none
  std::uint8_t* last;      // the record of the last read
  std::uint8_t value[16];
};

struct Range {
  std::uint64_t begin, end;  // addresses
};

struct SyncObject;

struct Thread {
  std::uint32_t index;  // in order of creation; main is 0
  std::uint32_t slot;   // in the scheduler's list
  State state;
  bool detached, cancelled;
  bool cancellable;   // the current wait is a cancellation point
  bool timed_out;     // the last wait ended by its deadline
  std::int32_t turn;  // futex: 1 when the token is here
  Hot* hot;           // once it has run
  pid_t kernel_id;
  std::uint64_t deadline;  // of the current wait, in virtual nanoseconds; 0: none
  std::uint64_t progress;  // in instructions, up to the current turn (scheduler.cpp)

  // Spinning and polling.
  const volatile void* watched;
  std::uint32_t watched_bytes;
  std::uint8_t watched_value[16];
  int descriptor;
  short events;

  // Waiting: for what, and the queue it stands in.
  const char* waits_for;  // "the mutex", for messages
  SyncObject* waits_at;
  Thread* next_waiter;
  std::uint32_t wake_version;  // of the release that ended the wait
  std::uint32_t wake_request;  // what the waiter asked for (reader or writer)

  // Recording.
  std::uint8_t* buffer;  // begin of the current one; nullptr: none
  std::uint8_t* seen;    // up to here its records have been looked at for points
  std::uint8_t* placed;  // up to here its records have the addresses that the trace is to have
  SpinCandidate spins[4];
  std::uint8_t before[16];  // of the atomic access that is about to happen
  std::uint32_t last_site;  // while nothing is recorded, for messages
  bool has_operations;
  std::uint64_t submitted;  // operations in frames of their own already
  bool in_region_of_interest;

  // Its turns (turns.cpp).
  trace::Turn* turns;  // nullptr: none to be written
  std::uint32_t turn_count;
  std::uint64_t turns_end;  // of the last turn that is in a frame

  // Signal handlers: nothing is recorded inside.
  std::uint64_t repeated_call;  // system call that the watchdog interrupted; 0: none
  std::uint32_t signals;
  std::uintptr_t signal_frame;
  std::uintptr_t signal_stack_begin, signal_stack_end;
  Hot hot_before_signal;

  // Calls of code that is not instrumented.
  std::uint32_t external_site;
  bool stepping;
  std::uint64_t steps, steps_in_call;
  std::uintptr_t caller, caller_stack;  // next instruction, stack pointer; 0 until it is there
  Hot hot_before_stepping;

  // The real thread underneath.
  pthread_t handle;
  void* (*start)(void*);
  void* argument;
  void* result;
  std::uint32_t ending;  // rounds of the key's destructor
  void* stack;           // of the runtime's own; nullptr: the program gave one
  std::size_t stack_bytes;
  SyncObject* object;  // creation and end, as a synchronisation object
  cpu_set_t affinity;  // what the program asked for; empty: nothing
};

extern constinit thread_local Thread* self __attribute__((tls_model("initial-exec")));

// ---- The whole (status.cpp) -------------------------------------------------------------------

enum class Mode : std::uint8_t {
  kOff,       // not being recorded: every function behaves as if the runtime weren't there
  kStarting,  // before main()
  kWarm,      // before the region of interest: lines touched are noted
  kRecording,
  kDone,  // after the region of interest
};

extern Mode mode;
void come_back();
// Is the caller a recorded thread outside a signal handler? If so, it has the token from here on.
inline bool active() {
  if (mode == Mode::kOff || self == nullptr || self->signals != 0) return false;
  if (__builtin_expect(self->state == State::kOutside, 0)) come_back();
  return true;
}
inline bool recording() { return mode == Mode::kRecording; }

extern const char* program_name;
extern pid_t recorded_process;
// Not a child of it, which may share its memory.
bool is_recorded_process();
// Recorded is what a checker does to an image: all of its run, with whatever status it ends, and
// without the instructions of code that isn't instrumented, whose count nobody needs.
extern bool records_checker;

// Ends the program with exit code 2 and leaves no trace behind.
[[noreturn]] __attribute__((format(printf, 1, 2))) void fail(const char* format, ...);
// One line on standard error, "pmemsim: ...".
__attribute__((format(printf, 1, 2))) void say(const char* format, ...);
// Ends the process at once.
[[noreturn]] void leave(int status);
// What is being written (output.cpp); nullptr: nothing.
extern trace::FrameFile* output_file;
void abandon_output();  // async-signal-safe

// ---- Scheduler (scheduler.cpp) --------------------------------------------------------------

extern std::int64_t quantum;
extern List<Thread*, 1u << 20> threads;

// From the environment; `quantum` is known.
void configure_turns();
void add_thread(Thread* thread);  // which may have a turn from now on
void keep_only_self();            // in a forked child
// The calling thread waits for its first turn.
void await_turn();
// Lets the others run, and returns at the caller's next turn.
void yield();
// Has the caller executed more than another thread, so much that where they meet it may matter?
bool is_ahead();
// Lets those run that the caller is ahead of.
void let_others_catch_up();
// The same, until `bytes` bytes at `address` differ from `value`.
void yield_until_changed(const volatile void* address, const void* value, std::uint32_t bytes);
// Until poll() says that the descriptor is ready, or the deadline has passed (false).
bool yield_until_ready(int descriptor, short events, std::uint64_t deadline);
// Until wake() or the deadline (0: none). False: the deadline has passed.
bool block(const char* what, SyncObject* object, std::uint64_t deadline);
void wake(Thread* thread);
// The caller will never run again. It isn't the last thread.
void end_thread();
bool only_thread();
// The number of the current turn.
std::uint64_t turn_number();
// Gives the token away in the middle of code that the runtime doesn't see. The thread gets it again
// by come_back(), which its next record leads to. Does nothing if nobody else could run.
void lose_token();
// How often that has happened.
std::uint64_t tokens_lost();
// Where the holder of the token is; thread 0 while the runtime itself may be waiting.
struct Progress {
  pid_t thread;
  std::uint64_t turn;
  std::int64_t budget;
  const std::uint8_t* cursor;
  bool operator==(const Progress&) const = default;
};
Progress progress();
// While one of these exists, the runtime itself is waiting for something.
class Waiting {
 public:
  Waiting();
  ~Waiting();
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
};
// Called when hot.budget is used up.
void quantum_over();
inline void charge(std::int64_t instructions) {
  hot.budget -= instructions;
  if (hot.budget < 0) quantum_over();
}

// The program's clock while it is recorded: one nanosecond an instruction, and what it sleeps.
std::uint64_t now();

// ---- Threads (threads.cpp; the rest is in threads.hpp) ----------------------------------------

void attach_main_thread();
Thread* find_thread(pthread_t handle);  // nullptr: not one of those recorded
// Waits until the real thread is gone. Called by the next holder of the token, because what the C
// library cleans up at a thread's end would otherwise depend on timing.
void reap(Thread* ended);

// ---- Sites (sites.cpp) ----------------------------------------------------------------------

extern trace::SiteRecord* sites;
extern std::uint32_t* site_instructions;
extern std::uint8_t* site_lengths;  // trace::packed_length()
extern std::uint32_t site_count;
// Unless they are made.
void make_site_tables();
inline std::size_t record_bytes(const std::uint8_t* record) {
  std::uint32_t head;
  std::memcpy(&head, record, sizeof(head));
  const std::size_t packed = site_lengths[head >> 1];
  const std::size_t fixed = packed & (trace::kLengthVaries - 1);
  return packed < trace::kLengthVaries ? fixed : fixed + record[12];
}
void write_sites();
// Is it in the program itself, or in a shared library that has instrumented code?
bool is_instrumented_object(const void* begin, const void* end);
bool is_system_file(std::uint32_t site);
// "file:line" of a site into `text`; "an unknown place" if it has none.
void describe_site(std::uint32_t site, char* text, std::size_t bytes);

// ---- Recording (record.cpp) -----------------------------------------------------------------

void put_mark(trace::MarkKind kind, std::uint64_t first, std::uint64_t second);
void put_sync(trace::SyncKind kind, const volatile void* address, std::uint32_t object,
              std::uint32_t version, bool annotated = false);
void begin_recording();  // of all threads, from now on
void end_recording();
std::uint8_t* end_of_room(const Thread& thread);  // the limit that goes with its buffer
void stop_recording_of_thread();                  // the calling one; it is about to end
// What has been recorded of the threads that have stopped.
struct Counts {
  std::uint64_t operations, instrumented, external;
};
Counts recorded_counts();
// How many operations of the thread have been recorded, and not taken back.
std::uint64_t recorded_operations(const Thread& thread);
// None of what has been recorded will be taken back.
void keep_records(Thread& thread);
// Where things stand in the trace is about to change; it counts for what is recorded from now on.
void place_records();
// Is there a point of schedules.hpp, rule 1, in what the calling thread has recorded since the last
// time that this was asked?
bool has_passed_point();
// The site that a thread has recorded last, for messages.
std::uint32_t last_site(const Thread& thread);

// ---- Turns (turns.cpp) ----------------------------------------------------------------------

// The thread's turn, of this number, ends.
void note_turn(Thread& thread, std::uint64_t number);
// Some of what the calling thread has recorded has been taken back.
void shorten_turns();
// In a child of the recorded process, which records nothing.
void forget_turns();
void write_turns();

// ---- Output (output.cpp) --------------------------------------------------------------------

inline constexpr std::size_t kBufferBytes = 256 * 1024;
void open_output(const char* path);
std::uint8_t* take_buffer();
// Compresses and writes in the background; the buffer is gone.
void submit(trace::FrameKind kind, std::uint32_t thread, std::uint8_t* buffer, std::size_t bytes,
            std::uint64_t operations);
void return_buffer(std::uint8_t* buffer);
// Bytes of one kind of frame, any number of them.
class Stream {
 public:
  explicit Stream(trace::FrameKind kind) : kind_(kind) {}
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { end_frame(); }
  void put(const void* bytes, std::size_t count);
  // The next so many bytes are to stand in one frame.
  void keep_together(std::size_t bytes);

 private:
  void end_frame();

  trace::FrameKind kind_;
  std::uint8_t* buffer_ = nullptr;
  std::size_t used_ = 0;
};
// Waits for everything submitted.
void drain_output();
// Gives the recorded threads consecutive numbers, in order of creation.
void finish_output(const std::uint32_t* thread_numbers);

// ---- Where memory stands in the trace (places.cpp) ---------------------------------------------

inline constexpr std::uint32_t kVolatile = UINT32_MAX;
struct Mapping {
  std::uint64_t begin, end;
  std::uint64_t place;   // where the trace has it
  std::uint64_t offset;  // in the memory
  std::uint32_t memory;  // into `memories`, or kVolatile
  bool moved() const { return place != begin; }
};
// What the runtime has to know of, by address. The rest stands in the trace where it is mapped.
extern List<Mapping, 1u << 20> mappings;
extern std::size_t moved_mappings;
Mapping* find_mapping(std::uint64_t address);  // nullptr: it isn't in `mappings`
void add_mapping(const Mapping& mapping);      // in place of what was there
void remove_mappings(std::uint64_t begin, std::uint64_t end);
void move_mappings(std::uint32_t memory, std::uint64_t place);
std::uint64_t moved_place(std::uint64_t address);
inline std::uint64_t place_of(std::uint64_t address) {
  return __builtin_expect(moved_mappings == 0, 1) ? address : moved_place(address);
}
inline std::uint64_t place_of(const volatile void* address) {
  return place_of(std::uint64_t{reinterpret_cast<std::uintptr_t>(address)});
}
// Addresses of the trace that nothing has in the program.
std::uint64_t take_room(std::uint64_t bytes);
bool is_in_room(std::uint64_t address);

// ---- What the kernel has mapped (kernel_mappings.cpp) -----------------------------------------

struct MappedRange {
  Range range;
  bool readable, shared;
  const char* name;  // a file's path, "[heap]", ...
};
// Calls visit(data, mapping) for each.
void visit_mappings(void (*visit)(void*, const MappedRange&), void* data);
template <class Visit>
void for_each_mapping(Visit visit) {
  visit_mappings(
      [](void* data, const MappedRange& mapping) { (*static_cast<Visit*>(data))(mapping); },
      &visit);
}

// ---- Persistent memory (persistent.cpp, mapping.cpp, heap.cpp, operators.cpp) ----------------

// A file that is mapped, or other memory that persists.
struct Memory {
  std::uint64_t device = 0, inode = 0;  // 0: not a file
  std::uint64_t place = 0;              // in the trace; 0: none yet
  std::uint64_t bytes = 0;              // from `place` on that have been mapped
  std::uint64_t room = 0;               // from `place` on that nothing else has
  std::uint32_t source = 0;             // into memory_sources, if it is persistent
  bool persistent = false;
  bool is_range = false;  // persistent by address, whatever is mapped there
  bool is_hint = false;   // what is asked for at `place`, one behind the other
};
extern List<Memory, 1u << 20> memories;
extern List<char, 1u << 24> memory_sources;

// Before there is a second thread: then the kernel takes ten milliseconds for a table of
// descriptors that has room for those of the files.
void make_room_for_descriptors();
// From the environment; ends the program if that says something impossible.
void configure_persistent_memory();
// The contents of all persistent memory, when recording begins.
void write_images();
bool is_persistent(const void* address);
bool is_zero_page(const void* page);
// Is any of the program's addresses [begin, end) persistent? The heap that counts as PM isn't
// meant.
bool has_persistent(std::uint64_t begin, std::uint64_t end);
// Calls visit(data, place, page) for each page of these that can be read; `place` is the trace's.
void visit_persistent_pages(std::uint64_t begin, std::uint64_t end,
                            void (*visit)(void*, std::uint64_t, const void*), void* data);
template <class Visit>
void for_each_persistent_page(std::uint64_t begin, std::uint64_t end, Visit visit) {
  visit_persistent_pages(
      begin, end,
      [](void* data, std::uint64_t place, const void* page) {
        (*static_cast<Visit*>(data))(place, page);
      },
      &visit);
}
// Into `found`: the persistent memory of the trace that has the address; false: none has.
bool find_persistent(std::uint64_t place, Range& found);
// Where to map a file, so that nothing has to be moved; 0: anywhere, since it isn't persistent.
std::uint64_t preferred_address(int descriptor, std::uint64_t offset, std::uint64_t bytes);
// The program has mapped a file, other memory, or other memory that is persistent.
void file_mapped(std::uint64_t begin, std::uint64_t end, int descriptor, std::uint64_t offset,
                 bool asked);
void memory_mapped(std::uint64_t begin, std::uint64_t end);
void persistent_memory_mapped(std::uint64_t begin, std::uint64_t end, const char* source,
                              bool asked);
std::uint32_t add_source(const char* source);
// Where to map what the program asks for at an address: there, unless --pm-hint names it and
// something of it is there.
std::uint64_t preferred_to(std::uint64_t asked);
// The program has asked for memory at an address, which --pm-hint may name; it is at [begin, end).
void hint_mapped(std::uint64_t asked, std::uint64_t begin, std::uint64_t end);
// What was mapped at `old` is at [begin, end) now, too.
void remapped(const Mapping& old, std::uint64_t begin, std::uint64_t end);
// What `address` is in; of memory that isn't persistent: nothing in particular.
Mapping mapping_at(std::uint64_t address);
// Calls visit(begin, end) for what the trace has of persistent memory in [begin, end).
template <class Visit>
void for_each_place_in(std::uint64_t begin, std::uint64_t end, Visit visit) {
  for (const Memory& memory : memories) {
    const std::uint64_t first = begin > memory.place ? begin : memory.place;
    const std::uint64_t last =
        end < memory.place + memory.bytes ? end : memory.place + memory.bytes;
    if (first < last) visit(memory, first, last);
  }
}
// Memory that the program has asked for at an address without getting that one.
struct Displaced {
  Range range;
  std::uint64_t asked;
};
const Displaced* find_displaced(std::uint64_t address);  // nullptr: the address is in none
// Does system call `number` if it is one that maps memory; false: it isn't.
bool call_mapping(long number, const long* arguments, long* result);
// If nothing is mapped there, nothing comes to stand there unless the program asks for it.
bool keep_vacant(std::uint64_t begin, std::uint64_t end);
void configure_heap();
// Operators new and delete lead to what the program has, or to the heap that counts as PM.
void find_operators();
void use_operators_of_heap();
// Up to where the heap that counts as PM has been used; 0 if it doesn't count.
std::uint64_t heap_end();

// ---- What persistent memory holds at the end (contents.cpp) -------------------------------------

// From the environment.
void configure_contents();
// The image has this page, which isn't zero.
void note_image_page(std::uint64_t place, const void* page);
// [begin, end) of the program is about to be unmapped, or recording has ended.
void write_contents(std::uint64_t begin, std::uint64_t end);

// ---- Flushes of other memory (flushes.cpp) ----------------------------------------------------

enum class FlushedKind : std::uint8_t {
  kAnonymous,
  kHeap,
  kStack,
  kFile,
  kPrivate,  // mapping of a file
  kShared,   // by processes, but of no file
  kData,     // of the program, or a library
};
struct FlushedMemory {
  Range range;
  FlushedKind kind;
  std::uint64_t asked;  // where the program wanted it; 0: it is there, or it was left to the system
  std::uint32_t source;  // into memory_sources: the file's path
  std::uint64_t flushes;
};
extern std::uint64_t flush_count;  // all
inline constexpr std::size_t kMostFlushed = 4096;
extern List<FlushedMemory, kMostFlushed> flushed_memory;
void note_flush(const volatile void* address);

extern std::uint64_t msync_count;  // calls of persistent memory, while recording (mapping.cpp)

// ---- Metadata (metadata.cpp) ------------------------------------------------------------------

// Checks what PMEMSIM_METADATA says; it must be a JSON object.
void configure_metadata(const char* json, int argument_count, char** arguments);
void write_metadata(const Counts& counts, std::uint32_t thread_count);

// ---- Watchdog (watchdog.cpp) -------------------------------------------------------------------

void start_watchdog();
// In the handler of the watchdog's signal: is the thread where the watchdog saw it asleep? It then
// goes on sleeping after the handler, also in a call that a signal would end.
bool resume_sleep(void* context);
// In the handler of another signal, which would have ended that call if it hadn't been interrupted.
void end_sleep(void* context);

// ---- Processors (processor.cpp) ---------------------------------------------------------------

int usable_processors();
// The calling thread, and those that it creates, run on one processor from now on.
void share_processor();
void stop_sharing_processor();

// ---- Stacks (stacks.cpp) ----------------------------------------------------------------------

void* take_stack(std::size_t bytes);
bool is_stack(std::uint64_t address);
void return_stack(void* begin, std::size_t bytes);

// ---- Lines touched before the region of interest (warm.cpp) ------------------------------------

// In the tables of thread numbers: a thread without operations.
inline constexpr std::uint32_t kNotRecorded = UINT32_MAX;
void touch(const volatile void* address, std::uint32_t bytes, bool written);
void write_warm_lines(const std::uint32_t* thread_numbers);

// ---- Code that is not instrumented (external.cpp) -----------------------------------------------

void configure_stepping();
void stop_stepping();
// While one of these exists, what the runtime does for itself in such code isn't counted as its.
class NotStepping {
 public:
  NotStepping();
  ~NotStepping();
  NotStepping(const NotStepping&) = delete;
  NotStepping& operator=(const NotStepping&) = delete;

 private:
  bool was_stepping_;
};
const char* external_method();  // for the metadata
void put_external(std::uint64_t instructions);

// ---- Region of interest (region_of_interest.cpp) -----------------------------------------------

// From the environment; ends the program if that says something impossible.
void configure_region_of_interest();
// What main() does from here on is recorded if the whole run is of interest, else noted as warm.
void main_begins();

// ---- Processes (processes.cpp) ------------------------------------------------------------------

// If not, it has been noted for the user, as what children of a recorded process do is.
bool is_to_be_recorded();
void find_recorder();
// `pmemsim record`, if it is known which process that is.
bool recorder_lives();
void note_fork();  // in the child
void note_exec();  // of a child that becomes another program
// The environment for what a recorded process starts, in which instrumented programs find where to
// note that they ran. `room` has the bytes that the first function says.
std::size_t bytes_of_childs_environment(char* const* environment);
char** childs_environment(char* const* environment, void* room);
#define PMEMSIM_CHILDS_ENVIRONMENT(environment) \
  childs_environment(environment, alloca(bytes_of_childs_environment(environment)))

// ---- Signals (signals.cpp) ----------------------------------------------------------------------

// From here on, a program that dies of a signal leaves no trace.
void watch_signals();
// Is the thread still in a signal handler, or has a longjmp left it?
bool still_in_signal();
void install_alternate_stack();

}  // namespace pmemsim::rt
