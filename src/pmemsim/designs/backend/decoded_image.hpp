// Decodes a crash image from scratch, using the registers that survived the crash. The hardware
// does the same after power-on, and so does `pmemsim decode`, which has no access to a simulation.
// Crash runs use the same decoders, but apply them to each change of the image instead of to the
// whole image.
#pragma once

#include <string>
#include <vector>

#include "pmemsim/designs/backend/device_image.hpp"
#include "pmemsim/designs/backend/surviving_registers.hpp"

namespace pmemsim {

struct DecodedImage {
  Image plain;                         // decoded lines, as the program wrote them
  std::vector<Line> unreadable;        // lines whose stored MAC doesn't match their contents
  std::uint64_t corrected = 0;         // number of device lines with corrected bit errors
  std::uint64_t duplicated_lines = 0;  // number of lines that share another line's location
  std::string problem;                 // the reason for rejecting the image; empty if it is valid
};

// Throws ConfigError if registers that the operations need are missing.
DecodedImage decode(const DeviceImage& device, const SurvivingRegisters& registers);

}  // namespace pmemsim
