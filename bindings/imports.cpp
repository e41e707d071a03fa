// Writing of recordings from other tools' files.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "bindings.hpp"
#include "pmemsim/trace/champsim.hpp"
#include "pmemsim/trace/writer.hpp"

namespace nb = nanobind;

namespace pmemsim::bindings {
namespace {

std::span<const std::byte> bytes_of(const nb::bytes& bytes) {
  return {static_cast<const std::byte*>(bytes.data()), bytes.size()};
}

}  // namespace

void bind_imports(nb::module_& module) {
  nb::class_<trace::Writer>(module, "TraceWriter", "Writes a recording frame by frame.")
      .def(
          "__init__",
          [](trace::Writer* writer, const Path& path) {
            new (writer) trace::Writer(path.string());
          },
          nb::arg("path"))
      .def(
          "frame",
          [](trace::Writer& writer, std::uint8_t kind, const nb::bytes& raw,
             std::uint64_t operations) {
            writer.frame(static_cast<trace::FrameKind>(kind), 0, bytes_of(raw), operations);
          },
          nb::arg("kind"), nb::arg("raw"), nb::arg("operations") = 0,
          "Append a frame of thread 0; docs/reference/trace_format.md has the kinds.")
      .def("finish", &trace::Writer::finish);
  using trace::ChampsimImport;
  nb::class_<ChampsimImport>(module, "ChampsimImport", "Converts a trace of ChampSim.")
      .def(
          "__init__",
          [](ChampsimImport* import, const Path& path, bool cloudsuite, std::uint64_t skip,
             std::uint64_t most) {
            using trace::ChampsimVariant;
            const auto variant =
                cloudsuite ? ChampsimVariant::kCloudsuite : ChampsimVariant::kUsual;
            new (import) ChampsimImport(path.string(), variant, skip, most);
          },
          nb::arg("path"), nb::arg("cloudsuite"), nb::arg("skip"), nb::arg("most"))
      .def(
          "add",
          [](ChampsimImport& import, const nb::bytes& bytes) {
            const auto given = bytes_of(bytes);
            nb::gil_scoped_release release;
            return import.add(given);
          },
          nb::arg("bytes"), "Convert the next bytes; return whether more are wanted.")
      .def("end", &ChampsimImport::end)
      .def("finish", &ChampsimImport::finish, nb::arg("metadata"))
      .def_prop_ro("records", &ChampsimImport::records)
      .def_prop_ro("operations", &ChampsimImport::operations);
}

}  // namespace pmemsim::bindings
