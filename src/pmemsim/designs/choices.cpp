#include "pmemsim/designs/choices.hpp"

#include <fmt/format.h>

#include "pmemsim/designs/atomicity/atomicity_rows.hpp"
#include "pmemsim/designs/backend_rows.hpp"
#include "pmemsim/designs/interface/design_configuration.hpp"
#include "pmemsim/designs/ordering/ordering_rows.hpp"
#include "pmemsim/designs/precompute/precompute_rows.hpp"

namespace pmemsim {
namespace {

ChoiceTable make_table() {
  ChoiceTable table;
  for (auto* const rows : {ordering_rows, atomicity_rows, backend_rows, precompute_rows}) {
    for (const Choice& row : rows()) table.push_back(row);
  }
  return table;
}

ChoiceTable& table() {
  static ChoiceTable table = make_table();
  return table;
}

void refuse_names_of(const Choice& other, const Choice& row) {
  if (row.layer() == other.layer() && row.name == other.name) {
    throw Error(fmt::format("{}={} already exists; give the implementation another name",
                            row.layer_name(), row.name));
  }
  for (const ParameterGroup& group : row.parameters) {
    for (const ParameterGroup& known : other.parameters) {
      if (group.name() == known.name() && !group.has_type_of(known)) {
        throw Error(fmt::format(
            "{}={} has a group of parameters '{}', whose name {}={} has given to others; rename it",
            row.layer_name(), row.name, group.name(), other.layer_name(), other.name));
      }
    }
  }
}

}  // namespace

const ChoiceTable& choices() { return table(); }

void add_choices(const std::vector<Choice>& rows) {
  ChoiceTable together = table();
  for (const Choice& row : rows) {
    for (const Choice& other : together) refuse_names_of(other, row);
    together.push_back(row);
  }
  const DesignConfiguration checked(
      together);  // throws if a row sets a field that its layer doesn't have
  for (const Choice& row : rows) table().push_back(row);
}

}  // namespace pmemsim
