// A recorded program's flushes and fences, by instruction: what may be left out to see whether
// anybody notices (visible_order.hpp, rule 5).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "pmemsim/trace/reader.hpp"

namespace pmemsim {

struct PersistInstruction {
  std::uint32_t site;
  std::string_view name;   // clwb, clflushopt, clflush, sfence, mfence
  std::uint64_t executed;  // of flushes: of lines of persistent memory
};

// In the order of their sites: flushes of persistent memory, and fences of stores, that were
// executed. Throws trace::TraceError.
std::vector<PersistInstruction> persist_instructions(const trace::TraceFile& trace);

}  // namespace pmemsim
