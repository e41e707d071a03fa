// The interface through which an observer follows what happens to the program's hints.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>

#include "pmemsim/common/units.hpp"
#include "pmemsim/designs/backend/prediction.hpp"

namespace pmemsim {

// A line that a call of the program announces.
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
  bool buffered;             // true if the request is buffered until another call
  std::uint32_t lines;       // number of lines of the call
  Time when;
};

// The structure that was full when an announcement was lost.
enum class HintLoss : std::uint8_t { kRequestQueue, kOperationQueue, kResultBuffer };

class HintObserver {
 public:
  virtual ~HintObserver() = default;
  virtual void announced(const Announcement& announcement) = 0;
  // A later call announces the same line of the same object; that call replaces both.
  virtual void merged(const HintedLine& line) = 0;
  virtual void lost(const HintedLine& line, HintLoss where) = 0;
  // Operations may start, under this identity. If two calls announce an address and its data, both
  // have the same identity. If the first call's preparation is over by then, the second call is too
  // late.
  virtual void started(const HintedLine& line, PreparedId id) = 0;
  virtual void too_late(const HintedLine& line) = 0;
  virtual void outcome(const Outcome& outcome) = 0;
};

}  // namespace pmemsim
