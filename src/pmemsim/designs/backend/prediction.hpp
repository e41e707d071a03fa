// What somebody expects to be written, so that operations can start on it before the write comes,
// and what became of that: Janus's pre-execution requests, PMWeaver's predictions.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>

#include "pmemsim/common/image.hpp"
#include "pmemsim/common/units.hpp"

namespace pmemsim {

struct Prediction {
  CoreId core = 0;             // whose thread will write
  std::uint64_t number = 0;    // whatever the precompute layer knows it by
  std::optional<Line> line{};  // not known yet: only what follows from the data can be prepared
  LineData data{};
  ByteMask bytes = 0;              // of the data that are known
  ByteMask compared = kWholeLine;  // with a write's; fewer would be a defect of who predicts

  bool whole() const { return bytes == kWholeLine; }
};

// Names what is prepared for a prediction; never again for another one.
struct PreparedId {
  std::uint64_t number = 0;  // 0: nothing
  explicit operator bool() const { return number != 0; }
  constexpr auto operator<=>(const PreparedId&) const = default;
};

// What a write may use.
struct Prepared {
  PreparedId id{};
  // All of it, which was worked out with these data; otherwise what follows from the line alone.
  std::optional<LineData> data{};
  Time since{};           // when it was prepared
  bool outlived = false;  // the line's counter has changed since: an injected fault
};

enum class Fate : std::uint8_t {
  kUsed,             // by a write of that line with those data
  kUsedInPart,       // by a write of that line: the data were others, or not known as a whole
  kTakenBack,        // by who had made the prediction
  kThreadEnded,      // all of the thread's were discarded
  kRangeDiscarded,   // all in a range of addresses were
  kMetadataChanged,  // an operation's results didn't hold any more
  kTooOld,
  kRunEnded,
};

struct Outcome {
  PreparedId id;
  CoreId core;
  std::uint64_t number;  // of the prediction
  Fate fate;
  Time when;
  ByteMask differing = 0;  // known bytes that the write had otherwise
  LineData written{};      // by the write
  bool late = false;       // used, but some operation still had something to do for the write
};

class PredictionObserver {
 public:
  // Once for each prediction that was taken. May come from within a call that discards; must not
  // prepare, complete or discard anything itself.
  virtual void outcome(const Outcome&) {}

 protected:
  ~PredictionObserver() = default;
};

}  // namespace pmemsim
