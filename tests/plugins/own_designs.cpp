// ASAP and PMEM-Spec as a plug-in. Only their names are others.
#include "pmemsim/design/plugin.hpp"
#include "pmemsim/designs/atomicity/asap_row.hpp"
#include "pmemsim/designs/ordering/pmem_spec_row.hpp"

namespace {

pmemsim::Choice named(std::string_view name, pmemsim::Choice row) {
  row.name = name;
  return row;
}

}  // namespace

PMEMSIM_PLUGIN(named("asap-plugin", pmemsim::asap_row()),
               named("pmem-spec-plugin", pmemsim::pmem_spec_row()))
