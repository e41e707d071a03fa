// pmemsim._core's statistics: what a machine counts, without a run.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <string>
#include <string_view>

#include "bindings.hpp"
#include "pmemsim/machine/run/configuration.hpp"
#include "pmemsim/machine/run/declared_statistics.hpp"

namespace nb = nanobind;

namespace pmemsim::bindings {
namespace {

// The source file as the repository has it.
std::string file_of(const Statistic& statistic) {
  const std::string_view path = statistic.place.file_name();
  const std::size_t root = path.rfind("src/pmemsim/");
  return std::string(path.substr(root == std::string_view::npos ? 0 : root));
}

nb::dict to_dict(const Relation& relation) {
  static constexpr std::array<const char*, 4> kKinds{"part", "share", "origin", "limit"};
  nb::dict entry;
  entry["kind"] = kKinds.at(static_cast<std::size_t>(relation.kind));
  entry["wholes"] = relation.wholes;
  entry["factor"] = relation.factor;
  return entry;
}

nb::list declared_statistics(const Settings& given) {
  nb::list found;
  for (const auto& [statistic, relations] :
       pmemsim::declared_statistics(configure(to_settings(given)))) {
    nb::list related;
    for (const Relation& relation : relations) related.append(to_dict(relation));
    nb::dict entry;
    entry["name"] = statistic.name;
    entry["unit"] = statistic.unit;
    entry["description"] = statistic.description;
    entry["file"] = file_of(statistic);
    entry["line"] = statistic.place.line();
    entry["relations"] = related;
    found.append(entry);
  }
  return found;
}

}  // namespace

void bind_statistics(nb::module_& module) {
  module.def("declared_statistics", &declared_statistics, nb::arg("settings"));
}

}  // namespace pmemsim::bindings
