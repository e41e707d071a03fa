// Where the records of a hardware log stand in PM: the business of two allocation policies, one
// after the other in rings (sequential_log.hpp), or by the banks' load (load_aware_log.hpp).
//
// A record has a place as a whole from its beginning, or its header and each of its entries get one
// by themselves, later. In the latter case a chain of headers leads to them.
#pragma once

#include <cstdint>
#include <optional>

#include "pmemsim/designs/atomicity/header_buffer.hpp"
#include "pmemsim/designs/atomicity/log_survivors.hpp"

namespace pmemsim {

// Both are the same if headers have one line.
struct HeaderPlace {
  Line first, second;
};

class LogSpace {
 public:
  virtual ~LogSpace() = default;

  // The place of the core's next record, if it has one from its beginning.
  virtual std::optional<HeaderPlace> begin_record(CoreId core) = 0;
  // For the header of a record that hasn't: the place it gets now, among those of channels where
  // `buffer` has room (nullptr: among all), if there is one.
  virtual std::optional<HeaderPlace> place_header(const HeaderBuffer* /*buffer*/) { return {}; }
  // Of the core's next header: has it a place where the buffer has room, may it go to this channel
  // at all, and to which one would it go now?
  virtual bool header_fits(CoreId core, const HeaderBuffer& buffer) = 0;
  virtual bool may_go_to(CoreId core, std::uint32_t channel) const = 0;
  virtual std::uint32_t header_channel(CoreId core) = 0;
  // The place of an entry that has reached the controller, by its record's and its number there.
  virtual Line entry(const std::optional<HeaderPlace>& record, std::uint32_t number) = 0;

  // A record isn't needed any more: first its entries, then the rest.
  virtual void free_entry(Line) {}
  virtual void free_header(CoreId core, HeaderPlace place) = 0;

  // The core's chain. append(): the header has got its place; gives the one before. link(): up to
  // this header all is persistent; link_last(): up to the one appended last.
  virtual std::optional<Line> append(CoreId, Line /*header*/) { return {}; }
  virtual void link(CoreId, Line /*header*/) {}
  virtual void link_last(CoreId) {}

  // That fit in before the space has to grow.
  virtual std::uint64_t initial_records() const = 0;
  virtual std::uint64_t growths() const = 0;
  // Adds all but the headers.
  virtual void survive(LogSurvivors& survivors) const = 0;
};

}  // namespace pmemsim
