// pmemsim._core's analyses of recordings, which simulate no time.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "bindings.hpp"
#include "pmemsim/analysis/predictability.hpp"

namespace nb = nanobind;

namespace pmemsim::bindings {
namespace {

nb::dict to_dict(const trace::SourcePlace& place) {
  nb::dict entry;
  entry["file"] = place.file;
  entry["line"] = place.line;
  entry["function"] = place.function;
  return entry;
}

nb::dict to_dict(const Predictable::Found& found) {
  nb::dict entry;
  entry["address"] = found.address;
  entry["data_4_bytes"] = found.chunks;
  entry["data_8_bytes"] = found.words;
  entry["both_4_bytes"] = found.address_and_chunks;
  entry["both_8_bytes"] = found.address_and_words;
  return entry;
}

nb::dict to_dict(const Predictable& found) {
  nb::dict entry;
  entry["write_backs"] = found.write_backs;
  entry["in_all_stores"] = to_dict(found.all);
  entry["without_own_stores"] = to_dict(found.without_own);
  return entry;
}

nb::list by_line(const PredictabilityReport& report) {
  nb::list lines;
  for (const PredictabilityReport::ByLine& line : report.by_line) {
    nb::dict entry = to_dict(line.store);
    entry.update(to_dict(line.found));
    lines.append(entry);
  }
  return lines;
}

nb::list distances(const PredictabilityReport& report) {
  nb::list bins;
  for (std::size_t i = 0; i < report.distances.size(); ++i) {
    nb::dict bin;
    bin["instructions"] = i < kDistanceBounds.size() ? nb::cast(kDistanceBounds[i]) : nb::none();
    bin["write_backs"] = report.distances[i];
    bins.append(bin);
  }
  return bins;
}

nb::list store_sets(const PredictabilityReport& report) {
  nb::list sets;
  for (const PredictabilityReport::StoreSet& set : report.listed_sets) {
    nb::list stores;
    for (const trace::SourcePlace& place : set.stores) stores.append(to_dict(place));
    nb::dict entry;
    entry["write_backs"] = set.write_backs;
    entry["stores"] = stores;
    sets.append(entry);
  }
  return sets;
}

nb::dict predictability(const trace::TraceFile& trace, const nb::object& progress) {
  PredictabilityReport report;
  {
    nb::gil_scoped_release release;
    report = pmemsim::predictability(
        trace, [&](double share) { return bindings::report(progress, share); });
  }
  nb::dict found;
  found["total"] = to_dict(report.total);
  found["by_line"] = by_line(report);
  found["distances"] = distances(report);
  found["store_sets"] = report.store_sets;
  found["most_frequent_sets"] = store_sets(report);
  found["instructions"] = report.instructions;
  found["stores"] = report.stores;
  found["other_flushes"] = report.other_flushes;
  return found;
}

}  // namespace

void bind_analysis(nb::module_& module) {
  module.def("predictability", &predictability, nb::arg("trace"), nb::arg("progress").none());
}

}  // namespace pmemsim::bindings
