// The locations of a hardware log's records in PM. Two allocation policies implement it: one record
// after the other in rings (sequential_log.hpp), or by the banks' load (load_aware_log.hpp).
//
// Either a record as a whole has a location from its beginning, or its header and each of its
// entries get their own locations later. In the latter case a chain of headers leads to them.
#pragma once

#include <cstdint>
#include <optional>

#include "pmemsim/designs/atomicity/header_buffer.hpp"
#include "pmemsim/designs/atomicity/log_survivors.hpp"

namespace pmemsim {

// The lines of a header. Both are the same if headers have one line.
struct HeaderPlace {
  Line first, second;
};

class LogSpace {
 public:
  virtual ~LogSpace() = default;

  // Returns the location of the core's next record, if it has one from its beginning.
  virtual std::optional<HeaderPlace> begin_record(CoreId core) = 0;
  // Returns the location that the header of another kind of record gets now, if there is one. It is
  // in a channel where `buffer` has room (nullptr: in any channel).
  virtual std::optional<HeaderPlace> place_header(const HeaderBuffer* /*buffer*/) { return {}; }
  // header_fits(): true if the core's next header has a location where the buffer has room.
  // may_go_to(): true if it may go to this channel at all. header_channel(): the channel it would
  // go to now.
  virtual bool header_fits(CoreId core, const HeaderBuffer& buffer) = 0;
  virtual bool may_go_to(CoreId core, std::uint32_t channel) const = 0;
  virtual std::uint32_t header_channel(CoreId core) = 0;
  // Returns the location of an entry that has reached the controller, by its record's location and
  // its number in the record.
  virtual Line entry(const std::optional<HeaderPlace>& record, std::uint32_t number) = 0;

  // Releases a record that isn't needed any more: first its entries, then the rest.
  virtual void free_entry(Line) {}
  virtual void free_header(CoreId core, HeaderPlace place) = 0;

  // The core's chain. append(): the header has got its location; returns the previous header.
  // link(): the chain is persistent up to this header; link_last(): up to the last appended one.
  virtual std::optional<Line> append(CoreId, Line /*header*/) { return {}; }
  virtual void link(CoreId, Line /*header*/) {}
  virtual void link_last(CoreId) {}

  // Returns the number of records that fit before the space has to grow.
  virtual std::uint64_t initial_records() const = 0;
  virtual std::uint64_t growths() const = 0;
  // Adds all survivors except the headers.
  virtual void survive(LogSurvivors& survivors) const = 0;
};

}  // namespace pmemsim
