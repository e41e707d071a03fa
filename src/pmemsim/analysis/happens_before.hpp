// The happens-before relation between a recording's operations (vector clocks). It consists of
// program order within a thread, and of releases of locks and atomic variables before the
// acquisitions that saw them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "pmemsim/common/units.hpp"
#include "pmemsim/trace/sync_operations.hpp"

namespace pmemsim {

class HappensBefore {
 public:
  // A thread's operations between two of its releases, counted from 1.
  using Epoch = std::uint32_t;

  // Constructs the clocks. An acquisition of an object's version sees what the version's releases
  // have seen. The clocks of at least the `remembered` latest versions are kept. An acquisition of
  // a discarded version sees nothing.
  HappensBefore(std::uint32_t threads, std::uint32_t objects,
                std::uint32_t remembered = UINT32_MAX / 2)
      : clocks_(threads, Clock(threads)), objects_(objects), remembered_(remembered) {
    for (std::uint32_t thread = 0; thread < threads; ++thread) clocks_[thread][thread] = 1;
  }

  // Returns the version of an object up to which all releases have happened.
  std::uint32_t version(std::uint32_t object) const {
    return objects_[object].forgotten + known(objects_[object]);
  }

  // True if the version for which the operation waits has been reached.
  bool may_execute(const trace::Operation& operation) const {
    return !trace::synchronises(operation) ||
           version(operation.object) >= trace::awaited_version(operation);
  }
  // Applies an executed operation; does nothing unless it synchronises.
  void synchronise(CoreId thread, const trace::Operation& operation) {
    if (!trace::synchronises(operation)) return;
    acquire(thread, operation.object, acquired_version(operation));
    if (trace::releases(operation)) release(thread, operation.object, operation.version);
  }
  // Returns the version that an operation acquires, which must synchronise; 0: none.
  static std::uint32_t acquired_version(const trace::Operation& operation) {
    if (!trace::releases(operation)) return operation.version;
    const bool reads = operation.kind == trace::SiteKind::kAtomicUpdate;
    return reads && operation.version > 0 ? operation.version - 1 : 0;
  }

  Epoch now(CoreId thread) const { return clocks_[thread][thread]; }
  // True if the other thread's operations in that epoch happen before the thread's current
  // operation.
  bool before(CoreId other, Epoch epoch, CoreId thread) const {
    return clocks_[thread][other] >= epoch;
  }

  void release(CoreId thread, std::uint32_t object, std::uint32_t version) {
    Object& released = objects_[object];
    if (version == this->version(object) + 1) {
      make_known(released, clocks_[thread]);
      while (!released.early.empty() &&
             released.early.begin()->first == this->version(object) + 1) {
        make_known(released, released.early.begin()->second);
        released.early.erase(released.early.begin());
      }
    } else if (version > this->version(object)) {
      if (released.early.size() < remembered_) {
        released.early.emplace(version, clocks_[thread]);
      } else {
        forgot_ = true;
      }
    }
    ++clocks_[thread][thread];
  }
  // Makes the thread see all releases up to that version, all of which have happened.
  void acquire(CoreId thread, std::uint32_t object, std::uint32_t version) {
    const std::span<const Epoch> seen = released(object, version);
    if (!seen.empty()) {
      join(clocks_[thread], seen);
    } else if (version > 0 && this->version(object) > 0) {
      forgot_ = true;
    }
  }
  // True if an operation has happened whose order after others is not known, because it needed a
  // discarded version, or was itself discarded.
  bool forgot() const { return forgot_; }
  // Returns the last epoch of each thread that an acquisition of the version sees; empty: none.
  std::span<const Epoch> released(std::uint32_t object, std::uint32_t version) const {
    const Object& acquired = objects_[object];
    const std::uint32_t seen = std::min(version, this->version(object));
    if (seen <= acquired.forgotten) return {};
    const std::size_t before = seen - acquired.forgotten - 1;
    return std::span(acquired.known).subspan(before * clocks_.size(), clocks_.size());
  }

 private:
  // The last known epoch of each thread.
  using Clock = std::vector<Epoch>;
  struct Object {
    std::uint32_t forgotten = 0;           // number of discarded versions, the oldest ones
    std::vector<Epoch> known;              // what an acquisition of each version sees
    std::map<std::uint32_t, Clock> early;  // clocks of releases that happened too early
  };

  static void join(std::span<Epoch> clock, std::span<const Epoch> other) {
    for (std::size_t i = 0; i < clock.size(); ++i) clock[i] = std::max(clock[i], other[i]);
  }
  // Returns the number of known versions.
  std::uint32_t known(const Object& object) const {
    return static_cast<std::uint32_t>(object.known.size() / clocks_.size());
  }
  // Adds the clock as the next known version.
  void make_known(Object& object, const Clock& clock) const {
    const std::size_t before = object.known.size();
    object.known.insert(object.known.end(), clock.begin(), clock.end());
    if (before == 0) return;
    const std::span<Epoch> all(object.known);
    join(all.subspan(before), all.subspan(before - clocks_.size(), clocks_.size()));
    if (known(object) > 2 * remembered_) forget(object);
  }
  void forget(Object& object) const {
    const std::uint32_t forgotten = known(object) - remembered_;
    object.forgotten += forgotten;
    const auto begin = object.known.begin();
    object.known.erase(begin, begin + static_cast<std::ptrdiff_t>(forgotten * clocks_.size()));
  }

  std::vector<Clock> clocks_;
  std::vector<Object> objects_;
  const std::uint32_t remembered_;
  bool forgot_ = false;
};

}  // namespace pmemsim
