// Which of a recording's operations happened before which: program order within a thread, and
// releases of locks and atomic variables before the acquisitions that saw them (vector clocks).
#pragma once

#include <algorithm>
#include <cstdint>
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

  // The latest version that an object has been released with; 0: none yet.
  std::uint32_t version(std::uint32_t object) const {
    const auto& releases = objects_[object];
    return releases.empty() ? 0 : releases.back().first;
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
    auto& releases = objects_[object];
    Clock clock = clocks_[thread];
    if (!releases.empty()) {
      join(clock, releases.back().second);
      version = std::max(version, releases.back().first);
    }
    releases.emplace_back(version, std::move(clock));
    ++clocks_[thread][thread];
  }
  // Sees all releases up to that version.
  void acquire(CoreId thread, std::uint32_t object, std::uint32_t version) {
    const auto& releases = objects_[object];
    const auto later = std::upper_bound(
        releases.begin(), releases.end(), version,
        [](std::uint32_t seen, const auto& release) { return seen < release.first; });
    if (later != releases.begin()) join(clocks_[thread], std::prev(later)->second);
  }

 private:
  // By thread: the last epoch of it that is known.
  using Clock = std::vector<Epoch>;
  static void join(Clock& clock, const Clock& other) {
    for (std::size_t i = 0; i < clock.size(); ++i) clock[i] = std::max(clock[i], other[i]);
  }

  std::vector<Clock> clocks_;
  std::vector<std::vector<std::pair<std::uint32_t, Clock>>> objects_;  // version, what is known
};

}  // namespace pmemsim
