// Analyses of recordings in pmemsim._core, which simulate no time.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "pmemsim/analysis/predictability.hpp"
#include "record.hpp"

namespace nb = nanobind;

namespace pmemsim::bindings {
namespace {

using Report = PredictabilityReport;

// The bounds with the number of write-backs within each; the last entry has no bound.
using Distances = std::vector<std::pair<std::optional<std::uint64_t>, std::uint64_t>>;
Distances distances(const Report& report) {
  Distances found;
  for (std::size_t i = 0; i < report.distances.size(); ++i) {
    std::optional<std::uint64_t> bound;
    if (i < kDistanceBounds.size()) bound = kDistanceBounds[i];
    found.emplace_back(bound, report.distances[i]);
  }
  return found;
}

Report predictability(const trace::TraceFile& trace, const Progress& progress) {
  const nb::gil_scoped_release release;
  return pmemsim::predictability(trace,
                                 [&](double share) { return bindings::report(progress, share); });
}

void bind_analysis_records(nb::module_& module) {
  using Found = Predictable::Found;
  bind_record<Found>(module, "FoundWriteBacks",
                     "Numbers of write-backs whose address or data earlier stores contain.",
                     field("address", &Found::address), field("data_4_bytes", &Found::chunks),
                     field("data_8_bytes", &Found::words),
                     field("both_4_bytes", &Found::address_and_chunks),
                     field("both_8_bytes", &Found::address_and_words));
  bind_record<Predictable>(
      module, "Predictable",
      "Number of write-backs, and numbers of those that earlier stores predict.",
      field("write_backs", &Predictable::write_backs), field("in_all_stores", &Predictable::all),
      field("without_own_stores", &Predictable::without_own,
            "The same without the line's own stores since its last write-back."));
  bind_record<Report::ByLine>(
      module, "PredictableLine", "Write-backs by the last store to the line.",
      field("store", &Report::ByLine::store), field("found", &Report::ByLine::found));
  bind_record<Report::StoreSet>(
      module, "StoreSet",
      "Store instructions that were the first to store a write-back's address and data.",
      field("write_backs", &Report::StoreSet::write_backs),
      field("stores", &Report::StoreSet::stores));
}

}  // namespace

void bind_analysis(nb::module_& module) {
  bind_analysis_records(module);
  nb::class_<Report>(module, "PredictabilityReport")
      .def_ro("total", &Report::total)
      .def_ro("by_line", &Report::by_line)
      .def_prop_ro("distances", &distances)
      .def_ro("store_sets", &Report::store_sets)
      .def_ro("most_frequent_sets", &Report::listed_sets)
      .def_ro("instructions", &Report::instructions)
      .def_ro("stores", &Report::stores)
      .def_ro("other_flushes", &Report::other_flushes);
  module.def("predictability", &predictability, nb::arg("trace"), nb::arg("progress").none());
}

}  // namespace pmemsim::bindings
