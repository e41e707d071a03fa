// The Python module pmemsim._core: the simulator and the trace reader for python/pmemsim.
#include <nanobind/nanobind.h>

#include <exception>
#include <string>

#include "bindings.hpp"
#include "pmemsim/common/error.hpp"
#include "pmemsim/designs/interface/design_recovery.hpp"
#include "pmemsim/designs/plugins.hpp"
#include "pmemsim/trace/reader.hpp"

namespace nb = nanobind;

namespace pmemsim::bindings {
namespace {

nb::object error_class(const char* name) {
  return nb::module_::import_("pmemsim.errors").attr(name);
}

// Converts a text; bytes that are not UTF-8, as in a path, are escaped.
nb::str to_text(const std::string& text) {
  return nb::steal<nb::str>(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace"));
}

void raise(const char* name, const std::exception& error) {
  PyErr_SetObject(error_class(name).ptr(), to_text(error.what()).ptr());
}

// Reports an exception of a type that only plug-ins throw.
void raise_of_plugin(const char* what) {
  std::string names;
  for (const std::string& path : loaded_plugins()) names += (names.empty() ? "" : ", ") + path;
  const Error error("the plug-in " + names + " has thrown an exception: " + what);
  raise("Error", error);
}

// Translates the exceptions of common/error.hpp into those of pmemsim/errors.py.
void translate(const std::exception_ptr& thrown, void* /*payload*/) {
  try {
    std::rethrow_exception(thrown);
  } catch (const ConfigError& error) {
    const nb::object type = error_class("ConfigError");
    nb::list problems;
    for (const std::string& problem : error.problems()) problems.append(to_text(problem));
    PyErr_SetObject(type.ptr(), type(problems).ptr());
  } catch (const trace::TraceError& error) {
    raise("TraceError", error);
  } catch (const StuckError& error) {
    raise("StuckError", error);
  } catch (const Error& error) {
    raise("Error", error);
  } catch (const std::bad_alloc&) {
    throw;  // becomes a MemoryError
  } catch (const std::exception& error) {
    if (loaded_plugins().empty()) throw;
    raise_of_plugin(error.what());
  } catch (...) {
    raise_of_plugin("something that is no std::exception");
  }
}

}  // namespace

void bind_errors(nb::module_& /*module*/) { nb::register_exception_translator(translate); }

}  // namespace pmemsim::bindings

NB_MODULE(_core, module) {
  module.doc() = "pmemsim's simulator and trace reader";
  pmemsim::bindings::bind_errors(module);
  pmemsim::bindings::bind_configuration(module);
  pmemsim::bindings::bind_trace(module);
  pmemsim::bindings::bind_imports(module);
  pmemsim::bindings::bind_simulator(module);
  pmemsim::bindings::bind_crash(module);
  pmemsim::bindings::bind_lint(module);
  pmemsim::bindings::bind_analysis(module);
  pmemsim::bindings::bind_check(module);
  pmemsim::bindings::bind_device(module);
  pmemsim::bindings::bind_checker(module);
  pmemsim::bindings::bind_answers(module);
  pmemsim::bindings::bind_model(module);
  pmemsim::bindings::bind_recovery(module);
  pmemsim::bindings::bind_statistics(module);
  pmemsim::bindings::bind_timeline(module);
}
