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

// Converts settings. Any Python object with these three attributes is accepted; the class of
// pmemsim has more.
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
      module, "Parameter",
      "A declared parameter, with its value in a configuration or its default.",
      field("key", &ParameterInfo::key), field("type", &ParameterInfo::type),
      field("value", &ParameterInfo::value, "Value with its unit."),
      field("limits", &ParameterInfo::limits), field("choices", &ParameterInfo::choices),
      field("description", &ParameterInfo::description),
      field("place", &ParameterInfo::place, "Location of the setting that gave the value."));
  bind_record<Fault>(module, "Fault",
                     "A protective mechanism that can be removed (the setting "
                     "`pmemsim.faults`).",
                     field("name", &Fault::name), field("what", &Fault::what));
  bind_record<Structure>(
      module, "Structure", "One hardware structure.",
      field("name", &Structure::name, "Name with its owner: a core, a channel, ..."),
      field("formula", &Structure::formula),
      field("bytes", &Structure::bytes, "Bytes of one instance."),
      field("count", &Structure::count, "Number of instances in the machine."),
      field("where", &Structure::source,
            "Section of the design's paper, or reason for the structure."),
      field("printed", &Structure::printed, "Bytes that the paper prints."),
      field(
          "printed_if", &Structure::printed_if,
          "Bytes by another interpretation of the structure, if only that interpretation gives the "
          "printed number."));
  bind_record<LayerStorage>(
      module, "LayerStorage", "The on-chip storage of a layer's implementation.",
      field("layer", &LayerStorage::layer), field("structures", &LayerStorage::structures),
      field("unknown", &LayerStorage::unknown,
            "Reason why structures can't be counted; empty if they can."));
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
          "Every parameter with its value and the location of the setting that gave the value.")
      .def("idle", &why_idle, nb::arg("key"),
           "Return why a setting of this key has no effect; empty if it may have one.")
      .def_prop_ro(
          "notes",
          [](const Configuration& configuration) {
            return combination_notes(configuration.blueprint());
          },
          "Notes on how the design works on this machine, each one sentence.")
      .def_prop_ro("storage", &storage, "The on-chip storage of each layer's implementation.")
      .def_prop_ro(
          "promises_whole_regions",
          [](const Configuration& configuration) {
            return configuration.design.promises().whole_regions;
          },
          "True if the design guarantees that a crash leaves all or none of each region's stores.")
      .def_prop_ro(
          "runs_redo_logs",
          [](const Configuration& configuration) {
            return configuration.design.atomicity().log == trace::ProgramLog::kRedo;
          },
          "True if the design runs only recordings of programs with a redo log.");
  module.def(
      "check_values", [](const std::vector<Setting>& settings) { check_values(settings); },
      nb::arg("settings"), "Raise a `ConfigError` for settings that are wrong on their own.");
  module.def(
      "parameters", [] { return parameters(Configuration{}); },
      "Every declared parameter, with its default value.");
  module.def("faults", &declared_faults, "Every fault that can be injected.");
}

}  // namespace pmemsim::bindings
