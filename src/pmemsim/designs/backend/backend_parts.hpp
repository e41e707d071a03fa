// The parts of a backend: the chosen operations, the entries that some of them share
// (line_entries.hpp), and the schedule of their sub-operations (schedule.hpp). A request to the
// backend as a whole is passed to each part, in the order in which the parts work on a line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pmemsim/designs/backend/backend_parameters.hpp"
#include "pmemsim/designs/backend/deferred_entries.hpp"
#include "pmemsim/designs/backend/metadata_cache.hpp"
#include "pmemsim/designs/backend/operation.hpp"

namespace pmemsim {

class LineEntries;
class OperationSchedule;

struct BackendParts {
  using Operations = std::vector<std::unique_ptr<BackendOperation>>;

  BackendParts(Operations operations = {});  // without the shared parts
  BackendParts(BackendParts&&) noexcept;
  BackendParts& operator=(BackendParts&&) noexcept;
  ~BackendParts();

  // Adds the parts that the operations share, before the backend is made.
  void add_shared(const BackendParameters& parameters, const MetadataCacheParameters& counter_cache,
                  std::uint32_t cores, std::uint32_t unit_scale = 1,
                  bool entries_may_be_deferred = false);

  bool empty() const { return operations.empty(); }
  template <class Visit>
  void for_each(Visit visit) const {
    for (std::size_t i = 0; i < operations.size(); ++i) {
      visit(*operations[i]);
      if (entries != nullptr && i + 1 == before_entries) visit(*entries);
    }
  }

  // ---- Writes and reads.

  // `order`: the order of the write's arrival.
  Encoded encode(const Write& write, const Prepared& prepared, std::uint64_t order) const;
  void sent(const Write& write, const Encoded& encoded) const;
  void accepted(const Write& write, const Encoded& encoded) const;
  void dropped(const Write& write, const Encoded& encoded, bool accepted) const;
  void written(const Write& write, const Encoded& encoded) const;
  // Notifies the schedule, which recomputes predictions that the write outdates.
  void schedule_accepted(const Write& write, const Encoded& encoded) const;
  Line place(Line line) const;
  LineData decode(Line line, const LineData& data) const { return decode(line, data, nullptr); }
  // Decodes with all operations that come before this one; nullptr: with all operations.
  LineData decode(Line line, LineData data, const BackendOperation* before) const;

  // ---- For designs whose crashes may leave unreadable lines that recovery restores.

  void stored(Line line, EntryNeed need) const;
  // Prepares for a commit that isn't a write. Returns true if a crash now would leave all accepted
  // data readable. Otherwise `done` will be called once, when that is so.
  bool publish(Completion done) const;
  // Returns the contents that a crash would leave if the caches evicted the line, and it was
  // accepted at once. Returns nothing if its acceptance would have to wait.
  std::optional<LineData> evicted(Line line, const LineData& data) const;

  // Called before the run. Encodes the device's contents as if this backend had written them.
  void format(Image& device) const;
  // Called instead of format() if the device's contents won't be read.
  void skip_sealing() const;

  // ---- The state that a crash at this time would leave, and the decoder of its images.

  // Returns the decoder; nullptr if no operation changes lines.
  std::unique_ptr<ImageDecoder> decoder() const;
  // Returns the registers that survive in addition to the bytes of the device.
  SurvivingRegisters registers() const;
  void add_spare_bits(DeviceImage& device) const;

  void statistics(StatisticsCollector& collector) const;
  std::vector<std::string> pending() const;
  // Returns the names of the operations' sub-operations, by their numbers in the log.
  std::vector<std::string> sub_operation_names() const;

  Operations operations;
  std::unique_ptr<LineEntries> entries;         // nullptr: no operation needs entries
  std::size_t before_entries = 0;               // number of operations before the entries
  std::unique_ptr<OperationSchedule> schedule;  // nullptr: there are no sub-operations

 private:
  void add_entries(const MetadataCacheParameters& counter_cache, std::uint32_t cores, bool defers);
};

}  // namespace pmemsim
