// What an image has lost, and where in the program its crash stands. Flushes and fences of helpers
// have the lines that call those.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "pmemsim/checks/images/allowed_images.hpp"
#include "pmemsim/checks/rules/persist_calls.hpp"
#include "pmemsim/trace/reader.hpp"

namespace pmemsim {

// Of the image that `images` has come to; `calls` are the recording's. Throws trace::TraceError.
std::vector<std::string> image_story(const trace::TraceFile& trace, const AllowedImages& images,
                                     std::span<const check::PersistCall> calls);

}  // namespace pmemsim
