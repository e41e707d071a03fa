// Layer 4, precompute: who starts backend operations early?
//
// Calls come in each core's program order when the instruction retires.
//   Janus     hint() decodes software's pre-execution requests into lines and prepares them; the
//             hint's address range, data and object stand in the mark.
//   PMWeaver  stored() sees every store of the program, volatile ones too, with PC (the site) and
//             value, and predicts; written_back() is what it learns from.
// Both hand what they know to Backend::prepare(). Whether a result was right is found out where the
// write arrives, in the backend.
#pragma once

#include <cstdint>

#include "pmemsim/core/statistics.hpp"
#include "pmemsim/ordering/ordering.hpp"

namespace pmemsim {

class Precompute {
 public:
  virtual ~Precompute() = default;
  // Once, before the run.
  virtual void connect(const LayerContext&) {}
  virtual std::uint32_t interests() const { return 0; }
  virtual void hint(CoreId, trace::HintKind, std::uint64_t /*object*/, std::uint64_t /*address*/,
                    std::uint32_t /*bytes*/, Picoseconds) {}
  virtual void stored(CoreId, std::uint32_t /*site*/, std::uint64_t /*address*/,
                      const std::byte* /*value*/, std::uint32_t /*size*/, Picoseconds) {}
  // A line of PM has left the caches, by a flush or an eviction: the backend tells.
  virtual void written_back(Line, const LineData&, Picoseconds) {}
  virtual void statistics(StatisticsCollector&) const {}
};

class NoPrecompute final : public Precompute {};

}  // namespace pmemsim
