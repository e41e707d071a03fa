// Analysis of a recorded recovery as a program of its own: its stores to an image, and its reads of
// data that were possibly lost at the crash. The initial contents of its recording are the image.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "pmemsim/checks/images/allowed_images.hpp"
#include "pmemsim/trace/reader.hpp"

namespace pmemsim {

// The address ranges at which recovery has mapped the crashed program's persistent memory. Each
// range is contiguous in both programs, at addresses that may differ.
class RecoveryRanges {
 public:
  struct Range {
    std::uint64_t begin, end;  // In recovery's recording; both aligned to lines
    std::uint64_t crashed;     // Address in the crashed program
  };
  explicit RecoveryRanges(std::vector<Range> ranges) : ranges_(std::move(ranges)) {}

  // Returns the crashed program's line for a line of recovery's recording; nothing if the line is
  // not in a range.
  std::optional<Line> line_in_crashed_program(Line line) const;

 private:
  std::vector<Range> ranges_;
};

// Recovery's stores to persistent memory.
struct PersistSteps {
  std::uint64_t stores = 0;
  // Hash of the stores, flushes and fences: their instructions and addresses, and the stored and
  // overwritten values.
  std::uint64_t hash = 1;
};
// Returns the persist steps of a recovery. Throws trace::TraceError.
PersistSteps persist_steps(const trace::TraceFile& recovery);

// A load of recovery from a location to which the crashed program had made a store that was visible
// at the crash but possibly lost. `there`: the image contains the store. Otherwise, the load would
// have read the store's value if the store had persisted.
struct OpenRead {
  std::uint32_t load;   // Recovery's site
  std::uint32_t store;  // The crashed program's site
  bool there;
  auto operator<=>(const OpenRead&) const = default;
};
// Returns recovery's reads of possibly lost data from the current image of `images`. Reads of bytes
// that recovery has stored before do not count. Throws trace::TraceError.
std::set<OpenRead> open_reads(const AllowedImages& images, const trace::TraceFile& recovery,
                              const RecoveryRanges& ranges);

}  // namespace pmemsim
