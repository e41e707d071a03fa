// Layer 4, precompute: who starts backend operations early?
//
// Calls come in each core's program order when the instruction retires.
//   Janus     hint() decodes software's pre-execution requests into lines and prepares them; the
//             hint's address range, data and object stand in the mark.
//   PMWeaver  stored() sees every store of the program, volatile ones too, with PC (the site) and
//             value, learns and predicts; written_back() validates.
#pragma once

#include <cstdint>

#include "pmemsim/core/statistics.hpp"
#include "pmemsim/ordering/ordering.hpp"

namespace pmemsim {

class Precompute {
 public:
  virtual ~Precompute() = default;
  virtual std::uint32_t interests() const { return 0; }
  virtual void hint(CoreId, trace::HintKind, std::uint64_t /*object*/, std::uint64_t /*address*/,
                    std::uint32_t /*bytes*/, Picoseconds) {}
  virtual void stored(CoreId, std::uint32_t /*site*/, std::uint64_t /*address*/,
                      const std::byte* /*value*/, std::uint32_t /*size*/, Picoseconds) {}
  virtual void written_back(Line, const LineData&, Picoseconds) {}
  virtual void statistics(StatisticsCollector&) const {}
};

class NoPrecompute final : public Precompute {};

}  // namespace pmemsim
