// pmemsim._core's simulator: what can be configured, and one call that runs a recording.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <tuple>
#include <vector>

#include "bindings.hpp"
#include "pmemsim/designs/choices.hpp"
#include "pmemsim/designs/combination.hpp"
#include "pmemsim/designs/plugins.hpp"
#include "pmemsim/machine/run/configuration.hpp"
#include "pmemsim/machine/run/idle_settings.hpp"
#include "pmemsim/machine/run/machine.hpp"
#include "pmemsim/machine/run/simulate.hpp"

namespace nb = nanobind;

namespace pmemsim::bindings {

std::vector<Setting> to_settings(const Settings& given) {
  std::vector<Setting> settings;
  for (const auto& [key, value, place] : given) settings.push_back({key, value, place});
  return settings;
}

std::vector<std::string> to_strings(const std::vector<Path>& paths) {
  return {paths.begin(), paths.end()};
}

bool report(const nb::object& progress, double share) {
  nb::gil_scoped_acquire acquire;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
  if (!progress.is_none()) progress(share);
  return true;
}

namespace {

nb::list list_parameters() {
  nb::list found;
  for (const ParameterInfo& parameter : parameters(Configuration{})) {
    nb::dict entry;
    entry["key"] = parameter.key;
    entry["type"] = parameter.type;
    entry["default"] = parameter.value;
    entry["limits"] = parameter.limits;
    entry["choices"] = parameter.choices;
    entry["description"] = parameter.description;
    found.append(entry);
  }
  return found;
}

// Every fault that can be injected.
nb::list list_faults() {
  nb::list found;
  for (const Fault& fault : declared_faults()) {
    nb::dict entry;
    entry["name"] = fault.name;
    entry["what"] = fault.what;
    found.append(entry);
  }
  return found;
}

nb::list list_layers() {
  nb::list found;
  for (const Choice& choice : choices()) {
    nb::dict entry;
    entry["layer"] = choice.layer_name();
    entry["name"] = choice.name;
    entry["summary"] = choice.summary;
    entry["needs"] = choice.needs;
    entry["gives"] = choice.gives;
    nb::list groups;
    for (const ParameterGroup& group : choice.parameters) groups.append(group.name());
    entry["parameters"] = groups;
    found.append(entry);
  }
  return found;
}

// Every parameter with its value and the place of the setting that won.
nb::list resolved(const Configuration& configuration) {
  nb::list found;
  for (const ParameterInfo& parameter : parameters(configuration)) {
    nb::dict entry;
    entry["key"] = parameter.key;
    entry["value"] = parameter.value;
    entry["place"] = parameter.place;
    entry["description"] = parameter.description;
    found.append(entry);
  }
  return found;
}

nb::list resolve(const Settings& given) { return resolved(configure(to_settings(given))); }

// Whether a design promises that a crash leaves every region whole or not at all.
bool promises_whole_regions(const Settings& given) {
  return configure(to_settings(given)).design.promises().whole_regions;
}

nb::list notes(const Settings& given) {
  nb::list found;
  for (const std::string& note : combination_notes(configure(to_settings(given)).blueprint())) {
    found.append(note);
  }
  return found;
}

nb::dict to_dict(const Structure& structure) {
  nb::dict entry;
  entry["name"] = structure.name;
  entry["formula"] = structure.formula;
  entry["bytes"] = structure.bytes;
  entry["count"] = structure.count;
  entry["where"] = structure.source;
  entry["printed"] = structure.printed;
  entry["printed_if"] = structure.printed_if;
  return entry;
}

// What each chosen implementation takes on the chip: layer, structures, and why they can't be
// counted if that isn't empty.
nb::list storage(const Settings& given) {
  const Configuration configuration = configure(to_settings(given));
  const Blueprint blueprint = configuration.blueprint();
  nb::list found;
  for (const Choice* const choice : blueprint.design.chosen()) {
    if (choice->storage == nullptr) continue;
    const Storage storage = choice->storage(blueprint);
    nb::list structures;
    for (const Structure& structure : storage.structures) structures.append(to_dict(structure));
    found.append(nb::make_tuple(choice->layer_name(), structures, storage.unknown));
  }
  return found;
}

// Settings that change nothing, with a sentence each.
nb::dict idle_settings(const Settings& given) {
  const Configuration configuration = configure(to_settings(given));
  nb::dict found;
  for (const Setting& setting : configuration.settings) {
    if (const std::string why = why_idle(configuration, setting.key); !why.empty()) {
      found[setting.key.c_str()] = why;
    }
  }
  return found;
}

// Whether a design runs recordings of programs with a redo log (it then runs no others).
bool runs_redo_logs(const Settings& given) {
  return configure(to_settings(given)).design.atomicity().log == trace::ProgramLog::kRedo;
}

void check_values(const Settings& given) { pmemsim::check_values(to_settings(given)); }

nb::dict simulate(const trace::TraceFile& trace, const Settings& given, const nb::object& progress,
                  const std::vector<Path>& images, const Contents* contents) {
  const Configuration configuration = configure(to_settings(given));
  RunResult result;
  {
    nb::gil_scoped_release release;
    result = pmemsim::simulate(
        trace, configuration, [&](double share) { return report(progress, share); },
        to_strings(images), contents != nullptr ? contents->pages : nullptr);
  }
  nb::list statistics;
  for (const Statistic& statistic : result.statistics) {
    nb::dict entry;
    entry["name"] = statistic.name;
    entry["value"] = statistic.value;
    entry["unit"] = statistic.unit;
    entry["description"] = statistic.description;
    statistics.append(entry);
  }
  nb::dict run;
  run["instructions"] = result.instructions;
  run["regions"] = result.regions;
  run["pm_write_bytes"] = result.pm_write_bytes;
  run["time_ps"] = result.time.count;
  run["threads"] = result.threads;
  run["wall_s"] = result.wall_s;
  run["resolved"] = resolved(configuration);
  run["statistics"] = statistics;
  run["relations"] = result.relations;
  return run;
}

Contents load_contents(const trace::TraceFile& trace) {
  const nb::gil_scoped_release release;
  return {pmemsim::load_contents(trace)};
}

}  // namespace

void bind_simulator(nb::module_& module) {
  nb::class_<Contents>(module, "Contents");
  nb::list layers;
  for (const std::string_view layer : kLayerNames) layers.append(layer);
  module.attr("layer_names") = nb::tuple(layers);
  module.def("parameters", &list_parameters);
  module.def("faults", &list_faults);
  module.def("layers", &list_layers);
  module.def("check_values", &check_values, nb::arg("settings"));
  module.def("promises_whole_regions", &promises_whole_regions, nb::arg("settings"));
  module.def("idle_settings", &idle_settings, nb::arg("settings"));
  module.def("notes", &notes, nb::arg("settings"));
  module.def("storage", &storage, nb::arg("settings"));
  module.def("runs_redo_logs", &runs_redo_logs, nb::arg("settings"));
  module.def("resolve", &resolve, nb::arg("settings"));
  module.def("load_plugin", &load_plugin, nb::arg("path"), nb::arg("library"));
  module.def("load_contents", &load_contents, nb::arg("trace"));
  module.def("simulate", &simulate, nb::arg("trace"), nb::arg("settings"),
             nb::arg("progress").none(), nb::arg("images"), nb::arg("contents").none());
}

}  // namespace pmemsim::bindings
