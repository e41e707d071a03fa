// What parts of the backend call: reads and writes of their metadata, which lie where no program's
// data do.
#pragma once

#include "pmemsim/common/event_queue.hpp"
#include "pmemsim/common/image.hpp"
#include "pmemsim/common/units.hpp"
#include "pmemsim/designs/backend/backend_parameters.hpp"

namespace pmemsim {

class BackendOperation;

class MetadataPort {
 public:
  virtual void read_metadata(Line line, Completion done) = 0;
  // From within accepted() or written() it goes to its queue when they are over: what becomes
  // persistent in one step isn't to be seen in part.
  virtual void write_metadata(Line line, const LineData& data, Completion persisted = {}) = 0;
  // The same for a line of entries once there is room, as the line is then; `persisting` is as that
  // of a Write.
  virtual void write_back_entries(Line line, Completion persisting) = 0;
  // The results for the line, of whatever prediction or write, don't hold any more. Predictions
  // stay if a gate replaces what they have lost.
  virtual void metadata_changed(Line line) = 0;
  // What operations before this one would make of the line, when it has read these data.
  virtual LineData decode_before(const BackendOperation& operation, Line line,
                                 LineData data) const = 0;
  // The operation calls this when what it keeps in persistent registers has changed.
  virtual void survivors_changed() = 0;
  virtual const BackendFaults& faults() const = 0;

 protected:
  virtual ~MetadataPort() = default;
};

}  // namespace pmemsim
