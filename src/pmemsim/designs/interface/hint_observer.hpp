// The observer of the program's hints: their requests, losses and outcomes.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>

#include "pmemsim/common/units.hpp"
#include "pmemsim/designs/backend/prediction.hpp"

namespace pmemsim {

// Identifies a line that a hint of the program announces.
struct HintedLine {
  CoreId core = 0;
  std::uint32_t hint = 0;  // position among the thread's hints, in program order
  std::uint32_t line = 0;  // position among the call's lines
  constexpr auto operator<=>(const HintedLine&) const = default;
};

struct Announcement {
  HintedLine which;
  std::optional<Line> line;  // the line that will be written, if the call names it
  bool data;                 // true if the call gives the data that will be written
  bool buffered;             // true if the request is buffered until a later call starts it
  std::uint32_t lines;       // number of lines that the call announces
  Time when;
};

// The structure that was full when an announcement was lost.
enum class HintLoss : std::uint8_t { kRequestQueue, kOperationQueue, kResultBuffer };

class HintObserver {
 public:
  virtual ~HintObserver() = default;
  virtual void announced(const Announcement& announcement) = 0;
  // A later call has announced the same line of the same object. `line` identifies the
  // earlier call, which the later one replaces.
  virtual void merged(const HintedLine& line) = 0;
  virtual void lost(const HintedLine& line, HintLoss where) = 0;
  // Operations may start for this line, under this identity. Two calls that announce a line's
  // address and its data separately have the same identity.
  virtual void started(const HintedLine& line, PreparedId id) = 0;
  // The line belongs to a preparation that another call had started, and that is over already.
  virtual void too_late(const HintedLine& line) = 0;
  virtual void outcome(const Outcome& outcome) = 0;
};

}  // namespace pmemsim
