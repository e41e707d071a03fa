// pmemsim._core.Configuration: settings, resolved once, and the values that follow from them.
#include "pmemsim/machine/run/configuration.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "bindings.hpp"
#include "pmemsim/designs/combination.hpp"
#include "pmemsim/machine/run/idle_settings.hpp"
#include "record.hpp"

namespace nb = nanobind;

// Converts settings. Python's own class has more fields; any object with these three is accepted.
template <>
struct nanobind::detail::type_caster<pmemsim::Setting> {
  NB_TYPE_CASTER(pmemsim::Setting, const_name("pmemsim.presets.Setting"))

  bool from_python(handle source, std::uint32_t /*flags*/, cleanup_list* /*cleanup*/) noexcept {
    return read(source, "key", value.key) && read(source, "value", value.value) &&
           read(source, "place", value.place);
  }

 private:
  static bool read(handle source, const char* name, std::string& text) noexcept {
    return try_cast(getattr(source, name, none()), text);
  }
};

namespace pmemsim::bindings {
namespace {

// The on-chip storage of a layer's implementation.
struct LayerStorage {
  std::string layer;
  std::vector<Structure> structures;
  std::string unknown;
};

std::vector<LayerStorage> storage(const Configuration& configuration) {
  const Blueprint blueprint = configuration.blueprint();
  std::vector<LayerStorage> found;
  for (const Choice* const choice : blueprint.design.chosen()) {
    if (choice->storage == nullptr) continue;
    Storage storage = choice->storage(blueprint);
    found.push_back({std::string(choice->layer_name()), std::move(storage.structures),
                     std::move(storage.unknown)});
  }
  return found;
}

void bind_configuration_records(nb::module_& module) {
  bind_record<ParameterInfo>(
      module, "Parameter", "A parameter, as it is declared or in a configuration.",
      field("key", &ParameterInfo::key), field("type", &ParameterInfo::type),
      field("value", &ParameterInfo::value, "With its unit."),
      field("limits", &ParameterInfo::limits), field("choices", &ParameterInfo::choices),
      field("description", &ParameterInfo::description),
      field("place", &ParameterInfo::place, "Of the setting that gave it its value."));
  bind_record<Fault>(module, "Fault",
                     "A protective mechanism that can be taken away (the setting "
                     "`pmemsim.faults`).",
                     field("name", &Fault::name), field("what", &Fault::what));
  bind_record<Structure>(
      module, "Structure", "One hardware structure.",
      field("name", &Structure::name, "With what has one: a core, a channel, ..."),
      field("formula", &Structure::formula), field("bytes", &Structure::bytes, "Of one."),
      field("count", &Structure::count, "In the machine."),
      field("where", &Structure::source,
            "The section of the design's paper, or why the structure is there."),
      field("printed", &Structure::printed, "Bytes that the paper prints."),
      field("printed_if", &Structure::printed_if,
            "Bytes by the reading of the formula that gives what is printed, where that is "
            "another."));
  bind_record<LayerStorage>(
      module, "LayerStorage", "What the implementation of a layer takes on the chip.",
      field("layer", &LayerStorage::layer), field("structures", &LayerStorage::structures),
      field("unknown", &LayerStorage::unknown,
            "Why the structures can't be counted; empty if they are."));
}

}  // namespace

void bind_configuration(nb::module_& module) {
  bind_configuration_records(module);
  nb::class_<Configuration>(module, "Configuration",
                            "The values of all parameters. Settings that are not legal are a "
                            "`ConfigError` with every problem.")
      .def(
          "__init__",
          [](Configuration* self, const std::vector<Setting>& settings) {
            new (self) Configuration(configure(settings));
          },
          nb::arg("settings"))
      .def_prop_ro(
          "parameters",
          [](const Configuration& configuration) { return parameters(configuration); },
          "Every parameter with its value and the place of the setting that gave it.")
      .def("idle", &why_idle, nb::arg("key"),
           "Return why a setting of this key changes nothing, or an empty text if it may.")
      .def_prop_ro(
          "notes",
          [](const Configuration& configuration) {
            return combination_notes(configuration.blueprint());
          },
          "What a user has to know of how the design works on this machine, a sentence each.")
      .def_prop_ro("storage", &storage,
                   "What the implementations of the design's layers take on the chip.")
      .def_prop_ro(
          "promises_whole_regions",
          [](const Configuration& configuration) {
            return configuration.design.promises().whole_regions;
          },
          "Whether the design guarantees that a crash leaves each region whole or not at all.")
      .def_prop_ro(
          "runs_redo_logs",
          [](const Configuration& configuration) {
            return configuration.design.atomicity().log == trace::ProgramLog::kRedo;
          },
          "Whether the design runs recordings of programs with a redo log, and no others.");
  module.def(
      "check_values", [](const std::vector<Setting>& settings) { check_values(settings); },
      nb::arg("settings"),
      "Raise a `ConfigError` for settings that are wrong whatever they are combined with.");
  module.def(
      "parameters", [] { return parameters(Configuration{}); },
      "Every declared parameter, with its default value.");
  module.def("faults", &declared_faults, "Every fault that can be injected.");
}

}  // namespace pmemsim::bindings
