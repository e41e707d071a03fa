// What an image has lost, and where in the program its crash stands.
#pragma once

#include <string>
#include <vector>

#include "pmemsim/model/allowed_images.hpp"
#include "pmemsim/trace/reader.hpp"

namespace pmemsim {

// Of the image that `images` has come to. Throws trace::TraceError.
std::vector<std::string> image_story(const trace::TraceFile& trace, const AllowedImages& images);

}  // namespace pmemsim
