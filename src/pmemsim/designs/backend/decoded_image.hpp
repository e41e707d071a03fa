// Reads what a crash has left with the surviving registers, from nothing: as the hardware does it
// when it is switched on again, and as a program that knows nothing of the simulation can
// (`pmemsim decode`). Crash runs follow their image change by change instead, with the same
// decoders.
#pragma once

#include <string>
#include <vector>

#include "pmemsim/designs/backend/device_image.hpp"
#include "pmemsim/designs/backend/surviving_registers.hpp"

namespace pmemsim {

struct DecodedImage {
  Image plain;                   // as programs have written it
  std::vector<Line> unreadable;  // lines whose MAC isn't that of what they hold
  std::uint64_t corrected = 0;   // lines of the device that had errors
  std::uint64_t elsewhere = 0;   // lines that deduplication has put at another's place
  std::string problem;           // why nothing of it is to be believed; empty: nothing is wrong
};

// Throws ConfigError if the registers don't have what the operations need.
DecodedImage decode(const DeviceImage& device, const SurvivingRegisters& registers);

}  // namespace pmemsim
