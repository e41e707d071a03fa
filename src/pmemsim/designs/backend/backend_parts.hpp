// What a backend is made of: the chosen operations, the entries that some of them have in common
// (line_entries.hpp), and the time that their sub-operations take (schedule.hpp). What is asked of
// a backend as a whole is asked of each of them, in the order in which they work on a line.
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

  BackendParts(Operations operations = {});  // without what they share
  BackendParts(BackendParts&&) noexcept;
  BackendParts& operator=(BackendParts&&) noexcept;
  ~BackendParts();

  // Adds what the operations share, before the backend is made.
  void add_shared(const BackendParameters& parameters, const MetadataCacheParameters& counter_cache,
                  std::uint32_t cores, std::uint32_t unit_scale = 1,
                  bool entries_may_come_later = false);

  bool empty() const { return operations.empty(); }
  template <class Visit>
  void for_each(Visit visit) const {
    for (std::size_t i = 0; i < operations.size(); ++i) {
      visit(*operations[i]);
      if (entries != nullptr && i + 1 == before_entries) visit(*entries);
    }
  }

  // ---- Writes and reads.

  // `order`: of the write's arrival.
  Encoded encode(const Write& write, const Prepared& prepared, std::uint64_t order) const;
  void sent(const Write& write, const Encoded& encoded) const;
  void accepted(const Write& write, const Encoded& encoded) const;
  void dropped(const Write& write, const Encoded& encoded, bool accepted) const;
  void written(const Write& write, const Encoded& encoded) const;
  // The schedule works predictions out that the write outdates.
  void schedule_accepted(const Write& write, const Encoded& encoded) const;
  Line place(Line line) const;
  LineData decode(Line line, const LineData& data) const { return decode(line, data, nullptr); }
  // What the operations before this one would make of it; before nullptr: all of them.
  LineData decode(Line line, LineData data, const BackendOperation* before) const;

  // ---- For designs whose crashes may leave lines that can't be read, and that recovery restores.

  void stored(Line line, EntryNeed need) const;
  // Before a commit that isn't a write. True: what has been accepted could be read after a crash;
  // otherwise `done` will be called when it could.
  bool publish(Completion done) const;
  // What a crash would leave to be read if the line had just been accepted because the caches have
  // evicted it; nothing if it would have to wait.
  std::optional<LineData> evicted(Line line, const LineData& data) const;

  // Before the run: the device's contents are as they would be if they had been written here.
  void format(Image& device) const;
  // Instead: nobody will look at them.
  void leave_unsealed() const;

  // ---- What a crash now would leave, and what makes images of it.

  // nullptr if images are as programs have written them.
  std::unique_ptr<ImageDecoder> decoder() const;
  // Beside the bytes of the device.
  SurvivingRegisters registers() const;
  void add_spare_bits(DeviceImage& device) const;

  void statistics(StatisticsCollector& collector) const;
  std::vector<std::string> pending() const;

  Operations operations;
  std::unique_ptr<LineEntries> entries;         // nullptr: no operation needs them
  std::size_t before_entries = 0;               // so many operations come before the entries
  std::unique_ptr<OperationSchedule> schedule;  // nullptr: there are no sub-operations

 private:
  void add_entries(const MetadataCacheParameters& counter_cache, std::uint32_t cores, bool defers);
};

}  // namespace pmemsim
