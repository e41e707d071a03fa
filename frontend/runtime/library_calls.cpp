#include "library_calls.hpp"

#include <cstring>
#include <initializer_list>

#include "pmemsim/trace/site_flags.hpp"
#include "pmemsim_rt.h"
#include "scheduler.hpp"
#include "sites.hpp"
#include "status.hpp"
#include "thread.hpp"

namespace pmemsim::rt {
namespace {

using trace::SiteKind;

// The sites of a function, in their order.
enum CallPart : std::uint32_t {
  kEntry,
  kLoad,   // record_copy() needs this order: after kEntry the load,
  kStore,  // then the store
  kNonTemporal,
  kFlush,
  kFence,
  kExit,
};

bool called_pmemobj = false;

void make_sites(LibraryFunction& function) {
  called_pmemobj = called_pmemobj || std::strncmp(function.name, "pmemobj", 7) == 0;
  using enum SiteKind;
  struct Shape {
    SiteKind kind;
    std::uint8_t size, flags;
  };
  function.base = site_count;
  for (const Shape& shape : std::initializer_list<Shape>{
           {kExecute, 0, trace::kSiteNewFunction | trace::kSiteEntry},
           {kCopyLoad, 0, 0},
           {kCopyStore, 0, 0},
           {kNonTemporal, trace::kCopyBytes, 0},
           {kFlush, 0, 0},
           {kFence, 0, 0},
           {kExecute, 0, trace::kSiteExit},
       }) {
    make_site(shape.kind, shape.size, shape.flags, function.header, function.name);
  }
}

std::uint64_t line_of(std::uint64_t address) { return address & ~std::uint64_t{63}; }

}  // namespace

bool called_libpmemobj() { return called_pmemobj; }

bool records_library_calls() { return recording() && active() && !self->in_library; }

LibraryCall::LibraryCall(LibraryFunction& function, Callers callers, const void* caller) {
  if (!recording() || !active()) return;
  if (callers == Callers::kRecorded ? !is_recorded_code(caller) : self->in_library) return;
  if (function.base == 0) make_sites(function);
  base_ = function.base;
  self->in_library = true;
  pmemsim_rt_execute(base_ + kEntry);
}

LibraryCall::~LibraryCall() {
  if (!recorded()) return;
  pmemsim_rt_execute(base_ + kExit);
  self->in_library = false;
}

void LibraryCall::copied(void* to, const void* from, std::size_t bytes) {
  if (!recorded()) return;
  put_copy(base_ + kEntry, static_cast<char*>(to), static_cast<const char*>(from), bytes);
}

void LibraryCall::copied_past_caches(void* to, const void* from, std::size_t bytes) {
  if (!recorded()) return;
  put_copy_past_caches(base_ + kLoad, base_ + kNonTemporal, static_cast<char*>(to),
                       static_cast<const char*>(from), bytes);
}

void LibraryCall::flush(const void* begin, std::size_t bytes) {
  if (!recorded() || bytes == 0) return;
  const auto first = std::uint64_t{reinterpret_cast<std::uintptr_t>(begin)};
  for (std::uint64_t at = line_of(first); at < first + bytes; at += trace::kLineBytes) {
    pmemsim_rt_flush(base_ + kFlush, reinterpret_cast<const void*>(at));
  }
}

void LibraryCall::fence() {
  if (recorded()) pmemsim_rt_fence(base_ + kFence);
}

void LibraryCall::mark(trace::MarkKind kind, std::uint64_t first, std::uint64_t second) {
  if (recorded()) put_mark(kind, first, second);
}

void LibraryCall::stored_in_file(std::uint64_t trace_address, const void* values,
                                 std::size_t bytes) {
  if (!recorded()) return;
  put_file_stores(base_ + kStore, trace_address, static_cast<const char*>(values), bytes);
}

void LibraryCall::zeroed_in_file(std::uint64_t trace_address, std::size_t bytes) {
  static constexpr char kZeros[4096] = {};
  for (std::size_t part = 0; bytes > 0; bytes -= part, trace_address += part) {
    part = bytes < sizeof(kZeros) ? bytes : sizeof(kZeros);
    stored_in_file(trace_address, kZeros, part);
  }
}

void LibraryCall::flush_in_file(std::uint64_t trace_address) {
  if (recorded()) put_file_flush(base_ + kFlush, trace_address);
}

CallBack::CallBack() : inside_(self != nullptr && self->in_library) {
  if (inside_) self->in_library = false;
}
CallBack::~CallBack() {
  if (inside_) self->in_library = true;
}

}  // namespace pmemsim::rt
