// What PM's devices hold: of each line its 64 bytes, and what stands beside them in a ninth chip.
//
// A file of it begins with 16 bytes that say what it is. Then comes, for each line that isn't all
// zero, in ascending order: its number (8 bytes, the lowest first; the address by 64), its 64
// bytes, a byte of check bits for each of its words, and 8 bytes for the other bits: 1 if it is
// compressed.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "pmemsim/common/image.hpp"
#include "pmemsim/designs/backend/secded.hpp"

namespace pmemsim {

struct DeviceLine {
  LineData data{};
  CheckBits check{};
  bool compressed = false;
  bool operator==(const DeviceLine&) const = default;
};

using DeviceImage = std::map<Line, DeviceLine>;  // by place

// Lines of which there are bytes.
DeviceImage device_image(const Image& device);

// Both throw Error.
void write_device_image(const DeviceImage& image, const std::string& path);
DeviceImage read_device_image(const std::string& path);

}  // namespace pmemsim
