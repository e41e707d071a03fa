// A write that is predicted, so that operations can start on it before it arrives, and the outcome
// of the prediction: Janus's pre-execution requests, PMWeaver's predictions.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>

#include "pmemsim/common/image.hpp"
#include "pmemsim/common/units.hpp"

namespace pmemsim {

struct Prediction {
  CoreId core = 0;           // core whose thread is expected to write
  std::uint64_t number = 0;  // number by which the precompute layer identifies the prediction
  // Empty: not known yet; only results that depend on the data alone can be prepared.
  std::optional<Line> line{};
  LineData data{};
  ByteMask bytes = 0;  // bytes of the data that are known
  // Bytes that are compared with the write's. Fewer than a whole line only with an injected fault.
  ByteMask compared = kWholeLine;

  bool whole() const { return bytes == kWholeLine; }
};

// Identifies the results prepared for a prediction; never used again for another one.
struct PreparedId {
  std::uint64_t number = 0;  // 0: none
  explicit operator bool() const { return number != 0; }
  constexpr auto operator<=>(const PreparedId&) const = default;
};

// The times at which the inputs of a write's operations were known.
struct InputTimes {
  Time address{}, data{};
};

// Prepared results that a write may use.
struct Prepared {
  PreparedId id{};
  // The data, if the write may use all results, which were computed with these data. Empty: it may
  // use only results that depend on the line alone.
  std::optional<LineData> data{};
  Time since{};                   // time of ResultBuffer::prepare()
  bool counter_outdated = false;  // the line's counter has changed since: an injected fault
  // If set, the write's operations count as started when these inputs were known. The results are
  // not those of `id` then (WriteValidator).
  std::optional<InputTimes> known{};
  PreparedId now_used{};  // with `known`: prediction that the write uses as its first one
};

enum class Fate : std::uint8_t {
  kUsed,             // used by a write of that line with those data
  kUsedInPart,       // used by a write of that line with other data, or without all data known
  kTakenBack,        // discarded by the predictor
  kThreadEnded,      // all predictions of the thread were discarded
  kRangeDiscarded,   // all predictions in a range of addresses were discarded
  kMetadataChanged,  // an operation's results were no longer valid
  kTooOld,
  kRunEnded,
};

struct Outcome {
  PreparedId id;
  CoreId core;
  std::uint64_t number;  // number of the prediction
  Fate fate;
  Time when;
  ByteMask differing = 0;  // known bytes that differ from the write's
  LineData written{};      // data of the write
  bool late = false;       // true if some operation still had work to do when the write arrived
};

class PredictionObserver {
 public:
  // Called once for each accepted prediction. It may be called from within a call that discards; it
  // must not prepare, complete or discard anything itself.
  virtual void outcome(const Outcome&) {}

 protected:
  ~PredictionObserver() = default;
};

struct Write;

// Decides which results an arriving write may use, instead of rule 3 of the result buffer. No write
// claims an entry then; the validator discards it.
class WriteValidator {
 public:
  virtual Prepared validate(const Write& write) = 0;
  // Called after the operations have received the write. `late`: they still have work to do for it.
  virtual void validated(bool late) = 0;

 protected:
  ~WriteValidator() = default;
};

}  // namespace pmemsim
