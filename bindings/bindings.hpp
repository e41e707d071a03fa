// The functions that add the parts of the Python module, one for each part.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pmemsim/common/image.hpp"

namespace pmemsim::bindings {

// Paths are arbitrary bytes, like in the operating system.
using Path = std::filesystem::path;
std::vector<std::string> to_strings(const std::vector<Path>& paths);

// The contents of persistent memory at the begin of a recording; Python only passes them on.
struct Contents {
  std::shared_ptr<const Image::Pages> pages;
};

// Notifies Python of the progress. A signal (Ctrl-C) or an exception in Python ends the run.
using Progress = std::optional<nanobind::typed<nanobind::callable, void(double)>>;
bool report(const Progress& progress, double share);

void bind_errors(nanobind::module_& module);
void bind_configuration(nanobind::module_& module);
void bind_trace(nanobind::module_& module);
void bind_simulator(nanobind::module_& module);
void bind_crash(nanobind::module_& module);
void bind_lint(nanobind::module_& module);
void bind_analysis(nanobind::module_& module);
void bind_check(nanobind::module_& module);
void bind_device(nanobind::module_& module);
void bind_answers(nanobind::module_& module);
void bind_model(nanobind::module_& module);
void bind_recovery(nanobind::module_& module);
void bind_checker(nanobind::module_& module);
void bind_statistics(nanobind::module_& module);
void bind_timeline(nanobind::module_& module);
void bind_imports(nanobind::module_& module);

}  // namespace pmemsim::bindings
