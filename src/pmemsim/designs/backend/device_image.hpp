// The contents of PM's devices: for each line its 64 bytes, and the bits beside them in a ninth
// chip.
//
// A file with these contents begins with 16 bytes that identify it. A record follows for each line
// that isn't all zero, in ascending order. The record begins with the line's number (8 bytes,
// little-endian; the address divided by 64) and its 64 bytes. A byte of check bits for each of its
// words follows, then 8 bytes for the other bits: 1 if the line is compressed.
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

using DeviceImage = std::map<Line, DeviceLine>;  // by the line's location in the devices

// Returns the lines that have any bytes in the image.
DeviceImage device_image(const Image& device);

// Both functions throw Error.
void write_device_image(const DeviceImage& image, const std::string& path);
DeviceImage read_device_image(const std::string& path);

}  // namespace pmemsim
