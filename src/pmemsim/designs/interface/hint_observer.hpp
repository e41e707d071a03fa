// What becomes of the program's hints, for whoever judges them.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>

#include "pmemsim/common/units.hpp"
#include "pmemsim/designs/backend/prediction.hpp"

namespace pmemsim {

// A line that a call of the program has announced.
struct HintedLine {
  CoreId core = 0;
  std::uint32_t hint = 0;  // which of the thread's, in program order
  std::uint32_t line = 0;  // which of the call's
  constexpr auto operator<=>(const HintedLine&) const = default;
};

struct Announcement {
  HintedLine which;
  std::optional<Line> line;  // if the call says which one will be written
  bool data;                 // does it say what will be?
  bool buffered;             // does it wait for another call?
  std::uint32_t lines;       // of the call
  Time when;
};

// Where there was no room for what was announced.
enum class HintLoss : std::uint8_t { kRequestQueue, kOperationQueue, kResultBuffer };

class HintObserver {
 public:
  virtual ~HintObserver() = default;
  virtual void announced(const Announcement& announcement) = 0;
  // A later call announces the same line of the same object; that one stands for both.
  virtual void merged(const HintedLine& line) = 0;
  virtual void lost(const HintedLine& line, HintLoss where) = 0;
  // Operations may start, under this identity. Of an address and its data, announced by two calls,
  // both have it; if the first one's is over by then, the second one is too late.
  virtual void started(const HintedLine& line, PreparedId id) = 0;
  virtual void too_late(const HintedLine& line) = 0;
  virtual void outcome(const Outcome& outcome) = 0;
};

}  // namespace pmemsim
