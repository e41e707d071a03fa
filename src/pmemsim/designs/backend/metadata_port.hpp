// The interface of the backend for its parts. They read and write their metadata through it.
// Metadata are stored in lines outside all program data.
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
  // Writes a line of metadata. A call from within accepted() or written() takes effect later: the
  // changes of one step must not be visible in part.
  virtual void write_metadata(Line line, const LineData& data, Completion persisted = {}) = 0;
  // Writes a line of entries once the queues have room, with its contents at that time.
  // `persisting` is called like Write::persisting.
  virtual void write_back_entries(Line line, Completion persisting) = 0;
  // Invalidates all prepared results for the line, those of predictions and those of held writes. A
  // prediction stays in the result buffer if a gate recomputes its results.
  virtual void metadata_changed(Line line) = 0;
  // Decodes data that were read from the line's location, with all operations before `operation`.
  virtual LineData decode_before(const BackendOperation& operation, Line line,
                                 LineData data) const = 0;
  // Called by an operation when its state in persistent registers has changed.
  virtual void survivors_changed() = 0;
  virtual const BackendFaults& injected_faults() const = 0;

 protected:
  virtual ~MetadataPort() = default;
};

}  // namespace pmemsim
