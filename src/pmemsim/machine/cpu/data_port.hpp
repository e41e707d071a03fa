// The port between a core and its L1 data cache, if it takes one access at a time.
//
//   1  A load that isn't forwarded, a store that leaves the store queue, or a flush occupies the
//      port from its request to its response: a hit for the L1's latency, a miss until its line
//      arrives, a flush until it is acknowledged. Flushes therefore don't overlap, with or without
//      a fence between them.
//   2  The core computes the times of accesses ahead, and not in the order of these times. An
//      access takes the first gap that is long enough. The end of a miss or of a flush isn't known
//      in advance, so that later accesses wait for release().
//   3  When the port becomes free, the store queue's head is sent first. A load that has found the
//      port occupied is sent again after a latency.
//
// Source: the published gem5 of PMWeaver (github Systems-ShiftLab/pmweaver_pact21_ae,
// gem5/src/mem). Its predictor is a bridge between core and L1. The bridge has no latency of its
// own, and queues of one request and one response (PredictorFrontend.py). An accepted request
// reserves the response's entry until the response has left for the core (predictor_frontend.cc,
// recvTimingReq and trySendTiming). The time of a write-back's operations is added to its response
// inside the bridge (recvTimingResp). The L1 answers a hit after 3 cycles
// (configs/common/Caches.py), so that a hit occupies the port for 3 cycles, the L1's latency. The
// core sends a refused store in the cycle of the response (cpu/o3/lsq_unit_impl.hh, recvRetry). It
// issues a refused load in that cycle and executes it in the next (O3CPU.py, issueToExecuteDelay),
// so that each of several waiting loads takes 4 cycles. The paper doesn't mention this bridge:
// Table I has "Out-of-Order Cores".
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "pmemsim/common/clock.hpp"
#include "pmemsim/common/units.hpp"

namespace pmemsim {

class DataPort {
 public:
  explicit DataPort(bool present) : present_(present) {}
  // False if the core's accesses don't wait for each other.
  bool present() const { return present_; }

  // Returns the begin of an access that is ready at `ready` and takes `length`. It begins `retry`
  // after an access that it has found at the port. Nothing: it waits for release().
  std::optional<Slot> find(Slot ready, Slot length, Slot retry) const {
    Slot begin = ready;
    for (const Access& other : taken_) {
      if (other.end <= begin) continue;
      if (begin + length <= other.begin) break;
      begin = other.end + retry;
    }
    if (begin + length > held_since_) return {};
    return begin;
  }

  // Occupies the port for an access whose end is known.
  void take(Slot begin, Slot end) {
    auto place = taken_.end();
    while (place != taken_.begin() && std::prev(place)->begin > begin) --place;
    taken_.insert(place, {begin, end});
    if (taken_.size() > kMost) taken_.erase(taken_.begin());
  }

  // Occupies the port until release(), for a miss of a line, or for a flush without one.
  void hold(Slot begin, std::optional<Line> line = {}) {
    held_since_ = begin;
    line_ = line;
  }
  bool held() const { return held_since_ != kUnknownSlot; }
  bool held_for(Line line) const { return held() && line_ == line; }
  bool held_for_flush() const { return held() && !line_; }
  void release(Slot end) {
    take(held_since_, std::max(held_since_, end));
    held_since_ = kUnknownSlot;
  }

 private:
  struct Access {
    Slot begin, end;
  };
  // Accesses are computed ahead by at most the entries of the load queue and a store.
  static constexpr std::size_t kMost = 256;

  bool present_;
  std::vector<Access> taken_;  // by begin
  Slot held_since_ = kUnknownSlot;
  std::optional<Line> line_;
};

}  // namespace pmemsim
