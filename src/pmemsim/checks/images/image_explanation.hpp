// Explanation of an image: its losses, and the position of the crash in the program. Flushes and
// fences of helper functions are reported at the lines that call the helpers.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "pmemsim/checks/images/allowed_images.hpp"
#include "pmemsim/checks/rules/persist_calls.hpp"
#include "pmemsim/trace/reader.hpp"

namespace pmemsim {

// Explains the current image of `images`; `calls` are the recording's persist calls. Throws
// trace::TraceError.
std::vector<std::string> explain_image(const trace::TraceFile& trace, const AllowedImages& images,
                                       std::span<const check::PersistCall> calls);

}  // namespace pmemsim
