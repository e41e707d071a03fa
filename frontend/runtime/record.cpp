// Writes operations: the functions that instrumented code calls for every access, branch and fence.
//
// The fast path of each function is a few instructions: subtract the site's instructions from the
// turn, check that a record fits, write it. While nothing is recorded `hot.limit` is nullptr, so
// that the same check leads to a separate function. This function must be fast, too: programs
// initialise their data before the region of interest, and check them after it.
#include "record.hpp"

#include <cstring>

#include "contents.hpp"
#include "exported.hpp"
#include "external.hpp"
#include "flushes.hpp"
#include "objects.hpp"
#include "output.hpp"
#include "persistent.hpp"
#include "pmemsim_rt.h"
#include "reserved_memory.hpp"
#include "scheduler.hpp"
#include "signals.hpp"
#include "sites.hpp"
#include "status.hpp"
#include "thread.hpp"
#include "trace_addresses.hpp"
#include "turns.hpp"
#include "warm.hpp"

// Symbols of the linker: begin and end of the program's code.
extern "C" const char __executable_start, etext;  // NOLINT(bugprone-reserved-identifier)

namespace pmemsim::rt {

void (*on_submission)(Thread& thread, const std::uint8_t* end) = nullptr;

namespace {

using trace::kHeadBytes;
using trace::SiteKind;
using trace::SyncKind;

#define PMEMSIM_LIKELY(condition) __builtin_expect(static_cast<bool>(condition), 1)
#define PMEMSIM_SLOW __attribute__((noinline, cold))
#define PMEMSIM_APART __attribute__((noinline))

template <class Value>
inline void put(std::uint8_t*& at, Value value) {
  std::memcpy(at, &value, sizeof(value));
  at += sizeof(value);
}
inline void put_head(std::uint8_t*& at, std::uint32_t site, bool flag = false) {
  put<std::uint32_t>(at, (site << 1) | (flag ? 1u : 0u));
}
inline void put_address(std::uint8_t*& at, const volatile void* address) {
  put<std::uint64_t>(at, reinterpret_cast<std::uintptr_t>(address));
}
// Appends the value that an access just stored.
inline void put_value(std::uint8_t*& at, const volatile void* address, std::uint32_t size) {
  const void* from = const_cast<const void*>(address);
  switch (size) {
    case 8:
      std::memcpy(at, from, 8);
      break;
    case 4:
      std::memcpy(at, from, 4);
      break;
    case 1:
      std::memcpy(at, from, 1);
      break;
    default:
      std::memcpy(at, from, size);
  }
  at += size;
}

// Completes the record of this site whose last byte is before `end`.
inline void end_record(std::uint32_t site, std::uint8_t* end) {
  hot.cursor = end;
  ++hot.operations;
  hot.instructions += site_instructions[site];
}

Counts counts;

bool has_address(const trace::SiteRecord& site) {
  if (trace::layout_of(site.kind).access != 0) return true;
  return site.kind == static_cast<std::uint8_t>(SiteKind::kMark) &&
         trace::has_address(static_cast<trace::MarkKind>(site.detail));
}

// Translates the addresses in the records from thread.translated to `end` to those of the trace.
void translate_records_of(Thread& thread, std::uint8_t* end) {
  if (moved_mappings > 0) {
    for (std::uint8_t* at = thread.translated; at < end; at += record_bytes(at)) {
      std::uint32_t head;
      std::memcpy(&head, at, sizeof(head));
      if (!has_address(sites[head >> 1])) continue;
      std::uint64_t address;
      std::memcpy(&address, at + kHeadBytes, sizeof(address));
      address = trace_address_of(address);
      std::memcpy(at + kHeadBytes, &address, sizeof(address));
    }
  }
  thread.translated = end;
}

// Returns the thread's `hot`, which may be saved elsewhere.
const Hot& hot_of(const Thread& thread) {
  if (thread.signals > 0) return thread.hot_before_signal;
  return *thread.hot;
}

// True if the turn may end at this record (rule 1 of schedules.hpp).
bool is_point(const std::uint8_t* record) {
  std::uint32_t head;
  std::memcpy(&head, record, sizeof(head));
  const trace::SiteRecord& site = sites[head >> 1];
  switch (static_cast<SiteKind>(site.kind)) {
    case SiteKind::kNonTemporal:
    case SiteKind::kFlush:
    case SiteKind::kFence:
    case SiteKind::kAtomicLoad:
    case SiteKind::kAtomicStore:
    case SiteKind::kAtomicUpdate:
    case SiteKind::kSync:
      return true;
    case SiteKind::kLoad:
    case SiteKind::kStore:
    case SiteKind::kCopyLoad:
    case SiteKind::kCopyStore: {
      const void* address;
      std::memcpy(&address, record + kHeadBytes, sizeof(address));
      return is_persistent(address);
    }
    default:
      return false;
  }
}

void submit_records(Thread& thread) {
  Hot& its = *thread.hot;
  translate_records_of(thread, its.cursor);
  if (on_submission != nullptr) on_submission(thread, its.cursor);
  counts.operations += its.operations;
  thread.submitted += its.operations;
  counts.instrumented += its.instructions;
  submit(trace::FrameKind::kOperations, thread.index, thread.buffer,
         static_cast<std::size_t>(its.cursor - thread.buffer), its.operations);
  thread.buffer = nullptr;
  its.cursor = its.limit = nullptr;
  its.operations = its.instructions = 0;
}

// Removes the records from `begin` on.
void remove_records(std::uint8_t* begin) {
  for (const std::uint8_t* at = begin; at < hot.cursor; at += record_bytes(at)) {
    std::uint32_t words[2];
    std::memcpy(words, at, sizeof(words));  // a buffer is longer than its used part
    const std::uint32_t site = words[0] >> 1;
    --hot.operations;
    hot.instructions -= site_instructions[site];
    if (site == trace::kExternalSite) {
      counts.external -= words[1];
      if ((words[0] & 1) != 0) counts.unknown -= words[1];
    }
  }
  hot.cursor = begin;
  shorten_turns();
}

// Handles a full buffer, or events that decide whether this record is written.
PMEMSIM_SLOW std::uint8_t* free_record_space_slowly(std::uint32_t site) {
  Thread* thread = self;
  if (thread->signals > 0 && still_in_signal()) return nullptr;
  if (thread->state == State::kOutside) {
    resume_execution();
    if (hot.cursor < hot.limit) return hot.cursor;
  }
  if (!recording()) {
    thread->last_site = site;
    return nullptr;
  }
  if (thread->buffer != nullptr) {
    submit_records(*thread);
    make_records_final(*thread);
  }
  thread->buffer = thread->translated = thread->seen = take_buffer();
  thread->noted = thread->buffer;
  thread->has_operations = true;
  hot.cursor = thread->buffer;
  hot.limit = buffer_limit(*thread);
  return hot.cursor;
}

// Called if the buffer is full, or nothing is recorded. Returns the location of the next record;
// nullptr: there is none.
inline std::uint8_t* free_record_space(std::uint32_t site) {
  if (mode == Mode::kOff || self == nullptr) return nullptr;
  if (recording() || self->signals > 0 || self->state == State::kOutside) {
    return free_record_space_slowly(site);
  }
  self->last_site = site;
  return nullptr;
}

inline std::uint8_t* record_space(std::uint32_t site) {
  if (PMEMSIM_LIKELY(hot.cursor < hot.limit)) return hot.cursor;
  return free_record_space(site);
}

// Subtracts the site's instructions from the turn; called when the record is complete, since the
// turn may end here.
inline void count(std::uint32_t site) {
  hot.budget -= site_instructions[site];
  if (!PMEMSIM_LIKELY(hot.budget >= 0)) quantum_over();
}

inline void touch_only(const volatile void* address, std::uint32_t bytes, bool written) {
  if (mode == Mode::kWarm && self->signals == 0) touch(address, bytes, written);
}

// ---- Slow paths, without space for the record: make space and try again, or write no record
// --------------
//
// Without a thread, the functions don't even read the site: code such as the program's own
// allocator may run before the runtime starts, called by the dynamic linker.

PMEMSIM_APART void load_in_full_buffer(std::uint32_t site, const volatile void* address) {
  if (self == nullptr) return;
  if (free_record_space(site) != nullptr) return pmemsim_rt_load(site, address);
  touch_only(address, sites[site].size, false);
  count(site);
}

PMEMSIM_APART void store_in_full_buffer(std::uint32_t site, volatile void* address,
                                        std::uint32_t size) {
  if (self == nullptr) return;
  if (free_record_space(site) != nullptr) return pmemsim_rt_store(site, address, size);
  touch_only(address, size, true);
  count(site);
}

PMEMSIM_APART void branch_in_full_buffer(std::uint32_t site, int taken) {
  if (self == nullptr) return;
  if (free_record_space(site) != nullptr) return pmemsim_rt_branch(site, taken);
  count(site);
}

PMEMSIM_APART void execute_in_full_buffer(std::uint32_t site) {
  if (self == nullptr) return;
  if (free_record_space(site) != nullptr) return pmemsim_rt_execute(site);
  count(site);
}

// ---- Indirect branches
// -----------------------------------------------------------------------

Map<std::uint32_t> target_numbers;  // from 1
std::uint32_t targets = 0;

// Returns the target's number: targets are numbered when they are first recorded, since their
// addresses differ between recordings of the same program.
std::uint32_t number_of_target(const void* target) {
  std::uint32_t& number = target_numbers[reinterpret_cast<std::uintptr_t>(target)];
  if (number == 0) number = ++targets;
  return number;
}

// ---- Spin-waits -----------------------------------------------------------------------------

SpinCandidate& spin_of(std::uint32_t site) { return self->spins[site % 4]; }

bool same_read(const SpinCandidate& spin, std::uint32_t site, const volatile void* address) {
  return spin.last != nullptr && spin.site == site && spin.address == address;
}

// Detects that a loop around an atomic read has repeated without any difference. It has recorded
// the same bytes as in the previous iteration, and the variable is unchanged. The thread is then
// waiting: its last iteration is removed and its turn ends.
void wait_if_spinning(std::uint32_t site, const volatile void* address, std::uint32_t size) {
  SpinCandidate& spin = spin_of(site);
  if (!same_read(spin, site, address) || spin.previous == nullptr) return;
  const std::ptrdiff_t round = spin.last - spin.previous;
  if (hot.cursor - spin.last != round || only_thread() ||
      std::memcmp(spin.previous, spin.last, static_cast<std::size_t>(round)) != 0 ||
      std::memcmp(const_cast<const void*>(address), spin.value, size) != 0) {
    return;
  }
  remove_records(spin.last);
  yield_until_changed(address, spin.value, size);
}

// Notes a read that changed nothing, whose record begins at `record`.
void note_read(std::uint32_t site, const volatile void* address, std::uint32_t size,
               std::uint8_t* record) {
  SpinCandidate& spin = spin_of(site);
  const bool same = same_read(spin, site, address);
  if (!same) spin.previous = nullptr;
  if (same && spin.last != record) spin.previous = spin.last;
  spin.site = site;
  spin.address = address;
  spin.last = record;
  std::memcpy(spin.value, const_cast<const void*>(address), size);
}

// ---- Atomic accesses ----------------------------------------------------------------------------

constexpr std::uint32_t kMaxAtomicBytes = 16;

void record_atomic(std::uint32_t site, volatile void* address, std::uint32_t size, bool wrote,
                   bool stores_value) {
  if (self == nullptr) return;
  std::uint8_t* record = record_space(site);
  if (record == nullptr) {
    touch_only(address, size, wrote);
    return count(site);
  }
  AtomicVariable& atomic = atomic_at(address);
  note_use(atomic.users);
  note_atomic(atomic.own_lock, site, size, wrote, self->before, const_cast<const void*>(address));
  Numbered& object = atomic.numbered;
  if (wrote) ++object.version;
  std::uint8_t* at = record;
  put_head(at, site,
           wrote && sites[site].kind == static_cast<std::uint8_t>(SiteKind::kAtomicUpdate));
  put_address(at, address);
  put(at, object.number);
  put(at, object.version);
  if (stores_value) put_value(at, address, size);
  end_record(site, at);
  if (!wrote && size <= kMaxAtomicBytes) note_read(site, address, size, record);
  count(site);
}

// ---- Memory intrinsics ------------------------------------------------------------------------

// Segments end at multiples of kCopyBytes of the destination, so that no stored segment crosses a
// line.
std::uint32_t segment_bytes(const char* to, std::uint64_t left) {
  const auto reach = static_cast<std::uint32_t>(
      trace::kCopyBytes - reinterpret_cast<std::uintptr_t>(to) % trace::kCopyBytes);
  return left < reach ? static_cast<std::uint32_t>(left) : reach;
}

void record_load_segment(std::uint32_t site, const char* from, std::uint32_t bytes) {
  std::uint8_t* at = record_space(site);
  if (at == nullptr) {
    touch_only(from, bytes, false);
  } else {
    put_head(at, site);
    put_address(at, from);
    put(at, static_cast<std::uint8_t>(bytes));
    end_record(site, at);
  }
  hot.budget -= site_instructions[site];
}

void record_store_segment(std::uint32_t site, const char* to, std::uint32_t bytes) {
  std::uint8_t* at = record_space(site);
  if (at == nullptr) {
    touch_only(to, bytes, true);
  } else {
    put_head(at, site);
    put_address(at, to);
    put(at, static_cast<std::uint8_t>(bytes));
    put_value(at, to, bytes);
    end_record(site, at);
  }
  hot.budget -= site_instructions[site];
}

// Records the accesses of a copy that has been made; `from` is nullptr for memset.
void record_copy(std::uint32_t site, char* to, const char* from, std::uint64_t bytes) {
  if (self == nullptr) return;
  while (bytes > 0) {
    const std::uint32_t segment = segment_bytes(to, bytes);
    if (from != nullptr) {
      record_load_segment(site + 1, from, segment);
      from += segment;
    }
    record_store_segment(site + 2, to, segment);
    to += segment;
    bytes -= segment;
  }
  if (hot.budget < 0) quantum_over();
}

// Records a write that uninstrumented code has made.
void record_stores(std::uint32_t site, const char* to, std::uint64_t bytes) {
  while (bytes > 0) {
    const std::uint32_t segment = segment_bytes(to, bytes);
    record_store_segment(site, to, segment);
    to += segment;
    bytes -= segment;
  }
  if (hot.budget < 0) quantum_over();
}

}  // namespace

void put_mark(trace::MarkKind kind, std::uint64_t first, std::uint64_t second) {
  const std::uint32_t site = trace::mark_site(kind);
  if (std::uint8_t* at = record_space(site)) {
    put_head(at, site);
    put(at, first);
    put(at, second);
    end_record(site, at);
  }
}

void put_sync(SyncKind kind, const volatile void* address, std::uint32_t object,
              std::uint32_t version, bool annotated) {
  const std::uint32_t site = trace::sync_site(kind);
  if (std::uint8_t* at = record_space(site)) {
    put_head(at, site, annotated);
    put_address(at, address);
    put(at, object);
    put(at, version);
    end_record(site, at);
  }
}

void put_copy(std::uint32_t site, char* to, const char* from, std::uint64_t bytes) {
  record_copy(site, to, from, bytes);
}

// The turn ends only behind the last store, before which another thread could change the values.
void put_copy_past_caches(std::uint32_t load_site, std::uint32_t store_site, char* to,
                          const char* from, std::uint64_t bytes) {
  for (std::uint64_t done = 0; done < bytes; done += trace::kCopyBytes) {
    if (from != nullptr) record_load_segment(load_site, from + done, trace::kCopyBytes);
    if (std::uint8_t* at = record_space(store_site)) {
      put_head(at, store_site);
      put_address(at, to + done);
      put_value(at, to + done, trace::kCopyBytes);
      end_record(store_site, at);
    }
    hot.budget -= site_instructions[store_site];
  }
  if (hot.budget < 0) quantum_over();
}

void put_file_stores(std::uint32_t site, std::uint64_t trace_address, const char* values,
                     std::uint64_t bytes) {
  for (std::uint32_t segment = 0; bytes > 0; bytes -= segment) {
    const auto* to = reinterpret_cast<const char*>(trace_address);
    segment = segment_bytes(to, bytes);
    std::uint8_t* at = record_space(site);
    if (at == nullptr) return;
    translate_records_of(*self, at);
    put_head(at, site);
    put_address(at, to);
    put(at, static_cast<std::uint8_t>(segment));
    put_value(at, values, segment);
    end_record(site, at);
    self->translated = at;
    hot.budget -= site_instructions[site];
    trace_address += segment;
    values += segment;
  }
  make_records_final(*self);
  if (hot.budget < 0) quantum_over();
}

void put_file_flush(std::uint32_t site, std::uint64_t trace_address) {
  std::uint8_t* at = record_space(site);
  if (at == nullptr) return;
  ++flush_count;
  translate_records_of(*self, at);
  put_head(at, site);
  put(at, trace_address);
  end_record(site, at);
  self->translated = at;
  make_records_final(*self);
  hot.budget -= site_instructions[site];
}

void put_external(std::uint64_t instructions, bool unknown) {
  if (instructions == 0) return;
  charge(static_cast<std::int64_t>(instructions));
  if (std::uint8_t* at = record_space(trace::kExternalSite)) {
    put_head(at, trace::kExternalSite, unknown);
    put(at, static_cast<std::uint32_t>(instructions));
    end_record(trace::kExternalSite, at);
    counts.external += instructions;
    if (unknown) counts.unknown += instructions;
  }
}

bool has_recorded_point() {
  if (self->buffer == nullptr || !recording()) return false;
  if (self->seen > hot.cursor) self->seen = hot.cursor;  // records have been removed
  bool found = false;
  for (; self->seen < hot.cursor; self->seen += record_bytes(self->seen)) {
    found = found || is_point(self->seen);
  }
  return found;
}

std::uint64_t recorded_operations(const Thread& thread) {
  return thread.submitted + hot_of(thread).operations;
}

void make_records_final(Thread& thread) {
  for (SpinCandidate& spin : thread.spins) spin.last = nullptr;
}

std::uint8_t* buffer_limit(const Thread& thread) {
  return thread.buffer + kBufferBytes - trace::kMaxRecordBytes;
}

void translate_records() {
  for (Thread* thread : threads) {
    if (thread->buffer == nullptr) continue;
    translate_records_of(*thread, hot_of(*thread).cursor);
    make_records_final(*thread);
  }
}

void begin_recording() {
  begin_epoch();
  mode = Mode::kRecording;
}

void stop_recording_of_thread() {
  if (self->buffer != nullptr) submit_records(*self);
}

void end_recording() {
  mode = Mode::kDone;
  for (Thread* thread : threads) {
    if (thread->buffer != nullptr) submit_records(*thread);
  }
  // Writes the records first, since the disk may have no space for more.
  const Waiting waits;
  drain_output();
  write_contents(0, trace::kMaxAddress);
}

const std::uint8_t* end_of_records(const Thread& thread) { return hot_of(thread).cursor; }

Counts recorded_counts() { return counts; }

// Returns the last site in the program's own source, if there is one; otherwise the last one in a
// system header.
std::uint32_t last_site(const Thread& thread) {
  std::uint32_t last = thread.last_site, last_own = 0;
  for (const std::uint8_t* at = thread.buffer; at != nullptr && at < thread.hot->cursor;
       at += record_bytes(at)) {
    std::uint32_t head;
    std::memcpy(&head, at, sizeof(head));
    const std::uint32_t site = head >> 1;
    if (sites[site].line != 0) last = site;
    if (sites[site].line != 0 && !is_system_file(site)) last_own = site;
  }
  return last_own != 0 ? last_own : last;
}

}  // namespace pmemsim::rt

using namespace pmemsim::rt;

// In these four functions the slow path is a call at the end: the fast path then saves no
// registers.

PMEMSIM_EXPORT void pmemsim_rt_load(std::uint32_t site, const volatile void* address) {
  std::uint8_t* at = hot.cursor;
  if (!PMEMSIM_LIKELY(at < hot.limit)) return load_in_full_buffer(site, address);
  put_head(at, site);
  put_address(at, address);
  end_record(site, at);
  count(site);
}

PMEMSIM_EXPORT void pmemsim_rt_store(std::uint32_t site, volatile void* address,
                                     std::uint32_t size) {
  std::uint8_t* at = hot.cursor;
  if (!PMEMSIM_LIKELY(at < hot.limit)) return store_in_full_buffer(site, address, size);
  put_head(at, site);
  put_address(at, address);
  put_value(at, address, size);
  end_record(site, at);
  count(site);
}

// Records only words that the program's own code pushes. The words that other code pushes, such as
// the C library when it starts a thread, depend on that code's address. Optimized code, such as the
// recorder's, keeps other values in the frame pointer; such a value isn't recorded.
PMEMSIM_EXPORT void pmemsim_rt_pushed(std::uint32_t site, volatile void* address,
                                      const void* caller) {
  constexpr std::uintptr_t kLargestFrame = 1 << 20;
  if (caller < &__executable_start || caller >= &etext) return;
  const std::uintptr_t word = *static_cast<volatile std::uintptr_t*>(address);
  const bool is_frame = word - reinterpret_cast<std::uintptr_t>(address) < kLargestFrame;
  if (is_frame || word == reinterpret_cast<std::uintptr_t>(caller)) {
    pmemsim_rt_store(site, address, sizeof word);
  }
}

PMEMSIM_EXPORT void pmemsim_rt_atomic_before(std::uint32_t site, const volatile void* address) {
  if (!recording() || !active()) return;
  const std::uint32_t size = sites[site].size;
  if (size > kMaxAtomicBytes) return;
  wait_if_spinning(site, address, size);
  if (!only_thread()) end_turn_if_contended(atomic_at(address).users);
  std::memcpy(self->before, const_cast<const void*>(address), size);
}

PMEMSIM_EXPORT void pmemsim_rt_atomic_load(std::uint32_t site, const volatile void* address,
                                           std::uint32_t size) {
  record_atomic(site, const_cast<volatile void*>(address), size, false, false);
}

PMEMSIM_EXPORT void pmemsim_rt_atomic_store(std::uint32_t site, volatile void* address,
                                            std::uint32_t size) {
  record_atomic(site, address, size, true, true);
}

// An update that leaves the value unchanged counts as one that didn't write: a reader can't tell
// the difference. So a loop of exchanges is recognised as a spin-wait, too.
PMEMSIM_EXPORT void pmemsim_rt_atomic_update(std::uint32_t site, volatile void* address,
                                             std::uint32_t size, int wrote) {
  const bool changed =
      wrote != 0 && (self == nullptr || !recording() || size > kMaxAtomicBytes ||
                     std::memcmp(self->before, const_cast<const void*>(address), size) != 0);
  record_atomic(site, address, size, changed, true);
}

PMEMSIM_EXPORT void* pmemsim_rt_memcpy(std::uint32_t site, void* to, const void* from,
                                       std::uint64_t bytes) {
  pmemsim_rt_execute(site);
  std::memmove(to, from, bytes);
  record_copy(site, static_cast<char*>(to), static_cast<const char*>(from), bytes);
  return to;
}

PMEMSIM_EXPORT void* pmemsim_rt_memmove(std::uint32_t site, void* to, const void* from,
                                        std::uint64_t bytes) {
  return pmemsim_rt_memcpy(site, to, from, bytes);
}

PMEMSIM_EXPORT void* pmemsim_rt_memset(std::uint32_t site, void* to, int byte,
                                       std::uint64_t bytes) {
  pmemsim_rt_execute(site);
  std::memset(to, byte, bytes);
  record_copy(site, static_cast<char*>(to), nullptr, bytes);
  return to;
}

PMEMSIM_EXPORT void pmemsim_rt_copied(std::uint32_t site, void* to, const void* from,
                                      std::uint64_t bytes) {
  if (self == nullptr) return;
  if (std::uint8_t* at = record_space(site)) {
    put_head(at, site);
    end_record(site, at);
  }
  hot.budget -= site_instructions[site];  // counts for the turn, but does not end it here
  record_copy(site, static_cast<char*>(to), static_cast<const char*>(from), bytes);
}

PMEMSIM_EXPORT void pmemsim_rt_wrote(std::uint32_t site, void* to, std::uint64_t bytes) {
  if (!active() || !is_persistent(to)) return;
  record_stores(site, static_cast<const char*>(to), bytes);
}

PMEMSIM_EXPORT void pmemsim_rt_wrote_string(std::uint32_t site, char* to) {
  if (to != nullptr) pmemsim_rt_wrote(site, to, std::strlen(to) + 1);
}

PMEMSIM_EXPORT void pmemsim_rt_printed(std::uint32_t site, void* to, std::uint64_t bytes) {
  if (active()) record_stores(site, static_cast<const char*>(to), bytes);
}

PMEMSIM_EXPORT void pmemsim_rt_branch(std::uint32_t site, int taken) {
  std::uint8_t* at = hot.cursor;
  if (!PMEMSIM_LIKELY(at < hot.limit)) return branch_in_full_buffer(site, taken);
  put_head(at, site, taken != 0);
  end_record(site, at);
  count(site);
}

PMEMSIM_EXPORT void pmemsim_rt_indirect_branch(std::uint32_t site, const void* target) {
  if (self == nullptr) return;
  if (record_space(site) == nullptr) return count(site);
  pmemsim_rt_table_jump(site, number_of_target(target));
}

PMEMSIM_EXPORT void pmemsim_rt_table_jump(std::uint32_t site, std::uint32_t target) {
  if (target == PMEMSIM_RT_NO_TARGET || self == nullptr) return;
  if (std::uint8_t* at = record_space(site)) {
    put_head(at, site);
    put(at, target);
    end_record(site, at);
  }
  count(site);
}

PMEMSIM_EXPORT void pmemsim_rt_execute(std::uint32_t site) {
  std::uint8_t* at = hot.cursor;
  if (!PMEMSIM_LIKELY(at < hot.limit)) return execute_in_full_buffer(site);
  put_head(at, site);
  end_record(site, at);
  count(site);
}

PMEMSIM_EXPORT void pmemsim_rt_recurrence(std::uint32_t site, int loop_carried) {
  pmemsim_rt_branch(site, loop_carried);
}

PMEMSIM_EXPORT void pmemsim_rt_flush(std::uint32_t site, const volatile void* address) {
  if (hot.limit != nullptr) note_flush(address);
  pmemsim_rt_load(site, address);
}

PMEMSIM_EXPORT void pmemsim_rt_fence(std::uint32_t site) { pmemsim_rt_execute(site); }
