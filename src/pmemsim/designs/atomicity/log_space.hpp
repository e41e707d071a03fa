// The locations of a hardware log's records in PM. Two allocation policies implement this
// interface: records that follow each other in rings (sequential_log.hpp), and lines that are
// distributed by the banks' load (load_aware_log.hpp).
//
// The first policy assigns a location to a whole record when the record is started. The second
// assigns a location to each header and each entry separately, and later. A chain of headers then
// leads recovery to the records.
#pragma once

#include <cstdint>
#include <optional>

#include "pmemsim/designs/atomicity/header_buffer.hpp"
#include "pmemsim/designs/atomicity/log_survivors.hpp"

namespace pmemsim {

// The location of a header, by its lines. Both are the same if a header has one line.
struct HeaderPlace {
  Line first, second;
};

class LogSpace {
 public:
  virtual ~LogSpace() = default;

  // Starts the core's next record. Returns its location; nothing if the policy locates each line
  // separately.
  virtual std::optional<HeaderPlace> begin_record(CoreId core) = 0;
  // Assigns a location to the header of a record for which begin_record() has returned nothing. The
  // location is in a channel where `buffer` has room (nullptr: in any channel). Returns nothing if
  // there is no such channel.
  virtual std::optional<HeaderPlace> place_header(const HeaderBuffer* /*buffer*/) { return {}; }
  // True if the core's next header has a location in a channel where the buffer has room.
  virtual bool header_fits(CoreId core, const HeaderBuffer& buffer) = 0;
  // True if the core's next header may be located in this channel.
  virtual bool may_go_to(CoreId core, std::uint32_t channel) const = 0;
  // Returns the channel in which the core's next header would be located now.
  virtual std::uint32_t header_channel(CoreId core) = 0;
  // Returns the location of an entry that has reached the controller. `record`: the location of its
  // record, if that has one. `number`: the entry's position in the record, from 0.
  virtual Line entry(const std::optional<HeaderPlace>& record, std::uint32_t number) = 0;

  // Release the lines of a record that isn't needed any more: first its entries, then its header.
  virtual void free_entry(Line) {}
  virtual void free_header(CoreId core, HeaderPlace place) = 0;

  // Appends a header, which has just been located, to the core's chain. Returns the previous
  // header.
  virtual std::optional<Line> append(CoreId, Line /*header*/) { return {}; }
  // Notes that the core's chain is persistent up to this header.
  virtual void link(CoreId, Line /*header*/) {}
  // Notes that the core's chain is persistent up to the last appended header.
  virtual void link_last(CoreId) {}

  // Returns the number of records that fit before the space has to grow.
  virtual std::uint64_t initial_records() const = 0;
  virtual std::uint64_t growths() const = 0;
  // Adds the policy's registers that survive a crash. The caller adds the buffered headers
  // (HardwareLog::survivors()).
  virtual void survive(LogSurvivors& survivors) const = 0;
};

}  // namespace pmemsim
