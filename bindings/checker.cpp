// Checkers in pmemsim._core: programs and libraries that check images.
#include "checker.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "bindings.hpp"

namespace nb = nanobind;

namespace pmemsim::bindings {
namespace {

CheckerCommand command_of(const std::string& name, const Path& host, bool library,
                          const std::vector<Path>& words, double timeout_s, const Path& folder,
                          const std::vector<Path>& environment, bool reader) {
  return {name,
          host.string(),
          library,
          to_strings(words),
          timeout_s,
          folder.string(),
          to_strings(environment),
          reader};
}

const char* name_of(CheckerAnswer::Ending ending) {
  using Ending = CheckerAnswer::Ending;
  if (ending == Ending::kReturned) return "returned";
  if (ending == Ending::kExited) return "exited";
  if (ending == Ending::kTooMuch) return "too much";
  return ending == Ending::kSignal ? "signal" : "too long";
}

}  // namespace

std::optional<CheckerAnswer> rejection(const CheckerAnswer& answer, bool library) {
  if (is_consistent(answer, library)) return {};
  return answer;
}

CheckerProcess::KeepGoing rate_limited(CheckerProcess::KeepGoing report) {
  using Clock = std::chrono::steady_clock;
  return [report = std::move(report), last = Clock::time_point()]() mutable {
    const Clock::time_point now = Clock::now();
    if (now - last < std::chrono::milliseconds(50)) return;
    last = now;
    report();
  };
}

void bind_checker(nb::module_& module) {
  nb::class_<CheckerAnswer>(module, "CheckerAnswer", "The answer of a checker to an image.")
      .def_prop_ro(
          "ending", [](const CheckerAnswer& answer) { return name_of(answer.ending); },
          "How the checker ended: returned, exited, signal, too long or too much.")
      .def_ro("status", &CheckerAnswer::status)
      .def_prop_ro(
          "said",
          [](const CheckerAnswer& answer) { return nb::bytes(answer.said.data(), answer.size); },
          "The last bytes that the checker wrote.")
      .def_ro("seconds", &CheckerAnswer::seconds);
  nb::class_<CheckerCommand>(module, "CheckerCommand")
      .def(
          "__init__",
          [](CheckerCommand* self, const std::string& name, const Path& host, bool library,
             const std::vector<Path>& words, double timeout_s, const Path& folder,
             const std::vector<Path>& environment, bool reader) {
            new (self) CheckerCommand(
                command_of(name, host, library, words, timeout_s, folder, environment, reader));
          },
          nb::arg("name"), nb::arg("host"), nb::arg("library"), nb::arg("words"),
          nb::arg("timeout_s"), nb::arg("folder"), nb::arg("environment") = std::vector<Path>(),
          nb::arg("reader") = false);
}

}  // namespace pmemsim::bindings
