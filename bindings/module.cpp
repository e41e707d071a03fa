// The Python module pmemsim._core: the simulator and the trace reader, as python/pmemsim uses them.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <exception>

#include "bindings.hpp"
#include "pmemsim/core/error.hpp"
#include "pmemsim/trace/reader.hpp"

namespace nb = nanobind;

namespace pmemsim::bindings {
namespace {

nb::object error_class(const char* name) {
  return nb::module_::import_("pmemsim.errors").attr(name);
}

void raise(const char* name, const char* text) { PyErr_SetString(error_class(name).ptr(), text); }

// The exceptions of core/error.hpp become those of pmemsim/errors.py.
void translate(const std::exception_ptr& thrown, void* /*payload*/) {
  try {
    std::rethrow_exception(thrown);
  } catch (const ConfigError& error) {
    const nb::object type = error_class("ConfigError");
    PyErr_SetObject(type.ptr(), type(nb::cast(error.problems())).ptr());
  } catch (const trace::TraceError& error) {
    raise("TraceError", error.what());
  } catch (const StuckError& error) {
    raise("StuckError", error.what());
  } catch (const Error& error) {
    raise("Error", error.what());
  }
}

}  // namespace

void bind_errors(nb::module_& /*module*/) { nb::register_exception_translator(translate); }

}  // namespace pmemsim::bindings

NB_MODULE(_core, module) {
  module.doc() = "pmemsim's simulator and trace reader";
  pmemsim::bindings::bind_errors(module);
  pmemsim::bindings::bind_trace(module);
  pmemsim::bindings::bind_simulator(module);
  pmemsim::bindings::bind_crash(module);
}
