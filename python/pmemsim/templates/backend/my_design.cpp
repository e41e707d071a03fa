#include "my_design.hpp"

namespace my_design {

std::vector<SubOperation> MyDesign::sub_operations() const {  // rule 1
  return {{.name = "M1", .latency = parameters_.latency, .external = {.data = true}}};
}

Choice my_design_row() {
  return {.name = "my-design",
          .summary = "Lines are inspected before they are written",
          .gives = {kSubOperations},
          .parameters = {ParameterGroup::of<BackendParameters>("backend"),
                         ParameterGroup::of<MyDesignParameters>("my_design")},
          .make = [](const Blueprint& blueprint) -> std::unique_ptr<BackendOperation> {
            return std::make_unique<MyDesign>(blueprint.parameters<MyDesignParameters>());
          }};
}

}  // namespace my_design

PMEMSIM_PLUGIN(my_design::my_design_row())
