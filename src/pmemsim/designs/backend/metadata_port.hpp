// The interface that parts of the backend call: reads and writes of their metadata, which are
// stored at lines outside all program data.
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
  // Writes a line of metadata. A call from within accepted() or written() takes effect after these,
  // since what becomes persistent in one step must not be visible in part.
  virtual void write_metadata(Line line, const LineData& data, Completion persisted = {}) = 0;
  // Writes a line of entries once there is room, with its contents at that time. `persisting` is
  // called as Write::persisting is.
  virtual void write_back_entries(Line line, Completion persisting) = 0;
  // Invalidates the results for the line, of every prediction and write. Predictions remain if a
  // gate recomputes the results that they have lost.
  virtual void metadata_changed(Line line) = 0;
  // Decodes data that were read from the line's place, with all operations before this one.
  virtual LineData decode_before(const BackendOperation& operation, Line line,
                                 LineData data) const = 0;
  // Called by the operation when its state in persistent registers has changed.
  virtual void survivors_changed() = 0;
  virtual const BackendFaults& faults() const = 0;

 protected:
  virtual ~MetadataPort() = default;
};

}  // namespace pmemsim
