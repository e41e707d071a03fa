// The stores of a recorded program to persistent memory, in the order in which they became visible.
// Also the steps at which the stores became guaranteed persistent
// (checks/images/persistency_model.hpp).
//
// With eADR, an ordinary store is guaranteed as soon as it is visible. A memcpy or memset is
// guaranteed as soon as all its segments are visible. (The model guarantees them only at the next
// store. No image shows the difference.)
//
// A step is a visible operation, counted from 1. The crash time of a step is the point in time
// between it and the next step; crash time 0 is before all steps. Segments are parts of stores
// (persistency_model.hpp, rule 1). The segments of all stores together are numbered from 1 as they
// become visible. This number is a segment's order.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "pmemsim/checks/images/persistency_model.hpp"
#include "pmemsim/common/image.hpp"

namespace pmemsim::answers {

class History {
 public:
  static constexpr std::uint64_t kNever = UINT64_MAX;

  struct Segment {
    std::uint64_t address, value;
    std::uint64_t before;      // Value before the store
    std::uint64_t step;        // Step that makes the segment visible
    std::uint64_t guaranteed;  // Step that guarantees the segment
    std::uint64_t number;      // Number of the thread's operation
    std::uint64_t copy;        // Number of its copy; 0: none
    std::uint32_t thread, site;
    std::uint8_t size;
    bool non_temporal;
  };

  // Reads the recording. Throws trace::TraceError.
  History(const trace::TraceFile& trace, PersistencyRules rules);

  std::uint64_t steps() const { return steps_; }
  std::uint64_t segments() const { return segments_.size(); }
  const Segment& segment(std::uint64_t order) const { return segments_[order - 1]; }
  // Returns the number of segments visible at a crash time.
  std::uint64_t order_at(std::uint64_t crash_time) const;
  // Returns the first step that guarantees a segment with a higher order than this.
  std::uint64_t next_guaranteed(std::uint64_t order) const { return next_guaranteed_[order]; }
  // Returns the contents at the start of the recording.
  const Image& initial() const { return initial_; }

 private:
  void take_new(const PersistencyModel& model);
  void note_guaranteed(const PersistencyModel& model);
  void note_before();
  void note_survivors();

  std::vector<Segment> segments_;               // By order
  std::vector<std::uint64_t> next_guaranteed_;  // By order, from 0
  std::uint64_t steps_ = 0;
  Image initial_;
};

// The contents of persistent memory if all segments up to a chosen order have persisted, and no
// later ones.
class LosslessImage {
 public:
  explicit LosslessImage(const History& history);

  // Moves to an order, forwards or backwards.
  const Image& go_to(std::uint64_t order);
  // Returns the current image with these segments added, until the next call.
  const Image& with(const std::vector<std::uint64_t>& orders);
  // Returns the lines in which the image may differ from the image at the last call.
  std::vector<Line> changed();

 private:
  void write(const History::Segment& segment, std::uint64_t value);
  void forget_additions();

  const History& history_;
  Image image_;
  std::uint64_t order_ = 0;
  std::vector<std::pair<std::uint64_t, LineData>> replaced_;  // Lines before with()
  std::set<std::uint64_t> changed_;
};

}  // namespace pmemsim::answers
