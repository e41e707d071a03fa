// Runs the parts of a job at the same time, each on a thread of its own.
#pragma once

#include <cstdint>
#include <functional>

namespace pmemsim {

// Receives the share of a part that is done. The part must stop if it returns false.
using PartProgress = std::function<bool(double)>;

// Calls work(part, progress_of_part) for each part, the first one on the calling thread. From
// there, `progress` is called with the share of all parts that is done; if it returns false or
// throws, all parts are stopped. The first exception of any part stops the others and is thrown at
// the end.
void run_parts(std::uint32_t parts, const std::function<bool(double)>& progress,
               const std::function<void(std::uint32_t, const PartProgress&)>& work);

}  // namespace pmemsim
