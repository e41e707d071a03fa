// Which of a recording's operations happened before which: program order within a thread, and
// releases of locks and atomic variables before the acquisitions that saw them (vector clocks).
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "pmemsim/core/units.hpp"
#include "pmemsim/trace/synchronisation.hpp"

namespace pmemsim {

class HappensBefore {
 public:
  // A thread's operations between two of its releases, counted from 1.
  using Epoch = std::uint32_t;

  HappensBefore(std::uint32_t threads, std::uint32_t objects)
      : clocks_(threads, Clock(threads)), objects_(objects) {
    for (std::uint32_t thread = 0; thread < threads; ++thread) clocks_[thread][thread] = 1;
  }

  // The version of an object up to which all releases have come.
  std::uint32_t version(std::uint32_t object) const {
    return static_cast<std::uint32_t>(objects_[object].known.size());
  }

  // Whether what the operation waits for has come.
  bool may_execute(const trace::Operation& operation) const {
    return !trace::synchronises(operation) ||
           version(operation.object) >= trace::awaited_version(operation);
  }
  // It has been executed; does nothing unless it synchronises.
  void synchronise(CoreId thread, const trace::Operation& operation) {
    if (!trace::synchronises(operation)) return;
    const std::uint32_t object = operation.object, version = operation.version;
    if (!trace::releases(operation)) return acquire(thread, object, version);
    const bool reads = operation.kind == trace::SiteKind::kAtomicUpdate;
    if (reads && version > 0) acquire(thread, object, version - 1);
    release(thread, object, version);
  }

  Epoch now(CoreId thread) const { return clocks_[thread][thread]; }
  // Does what the other thread did in that epoch come before what the thread does now?
  bool before(CoreId other, Epoch epoch, CoreId thread) const {
    return clocks_[thread][other] >= epoch;
  }

  void release(CoreId thread, std::uint32_t object, std::uint32_t version) {
    objects_[object].release(version, clocks_[thread]);
    ++clocks_[thread][thread];
  }
  // Sees all releases up to that version, which have come.
  void acquire(CoreId thread, std::uint32_t object, std::uint32_t version) {
    const std::vector<Clock>& known = objects_[object].known;
    const std::size_t releases = std::min<std::size_t>(version, known.size());
    if (releases > 0) join(clocks_[thread], known[releases - 1]);
  }

 private:
  // By thread: the last epoch of it that is known.
  using Clock = std::vector<Epoch>;
  static void join(Clock& clock, const Clock& other) {
    for (std::size_t i = 0; i < clock.size(); ++i) clock[i] = std::max(clock[i], other[i]);
  }

  struct Object {
    void release(std::uint32_t version, const Clock& clock) {
      if (version > known.size()) early.emplace(version, clock);
      while (!early.empty() && early.begin()->first == known.size() + 1) {
        Clock& next = early.begin()->second;
        if (!known.empty()) join(next, known.back());
        known.push_back(std::move(next));
        early.erase(early.begin());
      }
    }

    std::vector<Clock> known;              // by who sees version 1, 2, ...
    std::map<std::uint32_t, Clock> early;  // of releases that others should have come before
  };

  std::vector<Clock> clocks_;
  std::vector<Object> objects_;
};

}  // namespace pmemsim
