// Undo logs written by hand, one a thread, for failure-atomic sections that change one range of
// whole lines: four fences a section, as in array_swap_lowlevel and tatp_lowlevel.
//
// A section copies the range to its thread's log, fence; sets the log valid, fence; changes the
// range, fence; sets the log invalid, fence.
//
// In PM: a part of the root object {u64 logs; u64 most_bytes}. `logs` is the address of
// PM_MAX_THREADS logs, or 0. Log {line {u64 valid}; line {u64 place, bytes}; most_bytes of copy}: a
// log whose valid is 1 holds a range that must be copied back to `place`.
//
// No crash leaves a torn log: valid is one word, which persists whole. It becomes 1 only after the
// fence behind the copy, and the next copy begins only after the fence behind its becoming 0. Two
// valid logs never name the same range, because a lock protects it until its log is invalid.
#pragma once

#include <cstdint>
#include <cstring>

#include "pmemsim/pm.h"
#include "workload.hpp"

namespace workload {

class SectionLogs {
 public:
  void create(pm_pool* pool, std::uint64_t most_bytes) {
    most_bytes_ = most_bytes;
    logs_ = static_cast<char*>(require(pm_alloc(pool, PM_MAX_THREADS * log_bytes())));
    for (unsigned thread = 0; thread < PM_MAX_THREADS; ++thread) {
      log_of(thread).valid = 0;
      pm_flush(&log_of(thread), sizeof(std::uint64_t));
    }
  }

  bool exist() const { return logs_ != nullptr; }

  // Begins a section that changes these lines.
  void begin(unsigned thread, void* place, std::uint64_t bytes) {
    Log& log = log_of(thread);
    log.place = place;
    log.bytes = bytes;
    std::memcpy(&log + 1, place, bytes);
    pm_flush(&log.place, PM_LINE_BYTES + bytes);
    pm_order();
    set_valid(log, 1);
    pm_order();
  }

  // Ends a section whose changes the caller has flushed.
  void end(unsigned thread) {
    pm_order();
    set_valid(log_of(thread), 0);
    pm_durable();
  }

  // Undoes the sections that a crash has interrupted; may be interrupted and repeated.
  void take_over() {
    if (!exist()) return;
    for (unsigned thread = 0; thread < PM_MAX_THREADS; ++thread) {
      Log& log = log_of(thread);
      if (log.valid != 1) continue;
      std::memcpy(log.place, &log + 1, log.bytes);
      pm_flush(log.place, log.bytes);
      end(thread);
    }
  }

 private:
  struct Log {
    alignas(PM_LINE_BYTES) std::uint64_t valid;
    alignas(PM_LINE_BYTES) void* place;
    std::uint64_t bytes;
    // The copy follows.
  };

  std::uint64_t log_bytes() const { return sizeof(Log) + padded(most_bytes_); }
  Log& log_of(unsigned thread) { return *reinterpret_cast<Log*>(logs_ + thread * log_bytes()); }

  static void set_valid(Log& log, std::uint64_t valid) {
    log.valid = valid;
    pm_flush(&log.valid, sizeof valid);
  }

  char* logs_;
  std::uint64_t most_bytes_;
};

}  // namespace workload
