// What a backend is made of: the chosen operations, the entries that some of them have in common
// (line_entries.hpp), and the time that their sub-operations take (schedule.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "pmemsim/designs/backend/backend_parameters.hpp"
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

  Operations operations;
  std::unique_ptr<LineEntries> entries;         // nullptr: no operation needs them
  std::size_t before_entries = 0;               // so many operations come before the entries
  std::unique_ptr<OperationSchedule> schedule;  // nullptr: there are no sub-operations

 private:
  void add_entries(const MetadataCacheParameters& counter_cache, std::uint32_t cores, bool defers);
};

}  // namespace pmemsim
