// Decodes a crash image from scratch, with the registers that survived. The hardware does the same
// when it is switched on again, and so does a program without access to the simulation (`pmemsim
// decode`). Crash runs use the same decoders, but follow their image change by change.
#pragma once

#include <string>
#include <vector>

#include "pmemsim/designs/backend/device_image.hpp"
#include "pmemsim/designs/backend/surviving_registers.hpp"

namespace pmemsim {

struct DecodedImage {
  Image plain;                   // lines as programs have written them
  std::vector<Line> unreadable;  // lines whose MAC isn't the MAC of their contents
  std::uint64_t corrected = 0;   // lines of the device that had errors
  std::uint64_t elsewhere = 0;   // lines that deduplication has put at another's place
  std::string problem;           // why the image can't be trusted; empty: it can
};

// Throws ConfigError if the registers don't have what the operations need.
DecodedImage decode(const DeviceImage& device, const SurvivingRegisters& registers);

}  // namespace pmemsim
