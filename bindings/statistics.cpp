// Statistics in pmemsim._core: the declarations of a machine's statistics, without a run.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "bindings.hpp"
#include "pmemsim/machine/run/configuration.hpp"
#include "pmemsim/machine/run/declared_statistics.hpp"
#include "record.hpp"

namespace nb = nanobind;

namespace pmemsim::bindings {
namespace {

struct DeclaredRelation {
  std::string kind;
  std::vector<std::string> wholes;
  double factor;
};

struct Declaration {
  std::string name, unit, description, file;
  std::uint32_t line;
  std::vector<DeclaredRelation> relations;
};

// Returns the path of the source file within the repository.
std::string file_of(const Statistic& statistic) {
  const std::string_view path = statistic.place.file_name();
  const std::size_t root = path.rfind("src/pmemsim/");
  return std::string(path.substr(root == std::string_view::npos ? 0 : root));
}

DeclaredRelation declared(const Relation& relation) {
  static constexpr std::array<const char*, 4> kKinds{"part", "share", "origin", "limit"};
  return {kKinds.at(static_cast<std::size_t>(relation.kind)), relation.wholes, relation.factor};
}

std::vector<Declaration> declared_statistics(const Configuration& configuration) {
  std::vector<Declaration> found;
  for (const auto& [statistic, relations] : pmemsim::declared_statistics(configuration)) {
    found.push_back({statistic.name,
                     statistic.unit,
                     statistic.description,
                     file_of(statistic),
                     statistic.place.line(),
                     {}});
    for (const Relation& relation : relations) {
      found.back().relations.push_back(declared(relation));
    }
  }
  return found;
}

}  // namespace

void bind_statistics(nb::module_& module) {
  bind_record<DeclaredRelation>(
      module, "StatisticRelation",
      "A relation of a statistic to other statistics (common/relations.hpp).",
      field("kind", &DeclaredRelation::kind, "part, share, origin or limit"),
      field("wholes", &DeclaredRelation::wholes), field("factor", &DeclaredRelation::factor));
  bind_record<Declaration>(
      module, "StatisticDeclaration", "A statistic as its component declares it.",
      field("name", &Declaration::name), field("unit", &Declaration::unit),
      field("description", &Declaration::description), field("file", &Declaration::file),
      field("line", &Declaration::line), field("relations", &Declaration::relations));
  module.def("declared_statistics", &declared_statistics, nb::arg("configuration"),
             "The statistics of a machine, in the order of declaration.");
}

}  // namespace pmemsim::bindings
