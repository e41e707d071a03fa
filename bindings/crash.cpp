// pmemsim._core's crashes: one call that verifies a design on a recording.
#include "pmemsim/crash/crash.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "device.hpp"
#include "pmemsim/mem/image_file.hpp"
#include "pmemsim/sim/configuration.hpp"
#include "pmemsim/sim/simulate.hpp"
#include "pmemsim/trace/reader.hpp"

namespace nb = nanobind;

namespace pmemsim::bindings {
namespace {

// Writes each region of PM to its file, and asks Python what it thinks of them.
std::string inspect(const Image& image, const trace::TraceFile& trace,
                    const std::vector<std::string>& files, const nb::object& check) {
  for (std::size_t i = 0; i < files.size(); ++i) {
    const trace::PmRegion& region = trace.metadata().pm_regions.at(i);
    write_image(image, region.begin, region.end, files[i]);
  }
  nb::gil_scoped_acquire acquire;
  return nb::cast<std::string>(check());
}

nb::object told(const std::optional<CrashStory>& story) {
  if (!story) return nb::none();
  nb::dict told;
  told["point"] = story->point;
  told["time_ps"] = story->when.count;
  told["lines"] = story->lines;
  return told;
}

nb::dict crash(const Path& path, const Settings& given, std::uint64_t sample, std::uint64_t seed,
               std::optional<std::int64_t> at_ps, std::uint64_t subsets, std::uint64_t inspections,
               const std::vector<Path>& paths, const nb::object& check,
               const std::optional<Path>& device_path, const nb::object& progress) {
  const std::vector<Setting> settings = to_settings(given);
  const std::vector<std::string> files = to_strings(paths);
  CrashResult result;
  SurvivingRegisters left;
  {
    nb::gil_scoped_release release;
    const Configuration configuration = configure(settings);
    const trace::TraceFile trace(path.string());
    check_fit(trace, configuration, settings);
    CrashOptions options{
        .sample = sample, .seed = seed, .subsets = subsets, .inspections = inspections};
    if (at_ps) options.at = Picoseconds{*at_ps};
    if (device_path) {
      options.save = [&](const DeviceImage& device, const SurvivingRegisters& registers) {
        write_device_image(device, device_path->string());
        left = registers;
      };
    }
    options.inspect = [&](const Image& image) { return inspect(image, trace, files, check); };
    result = pmemsim::crash(trace, configuration, options,
                            [&](double share) { return report(progress, share); });
  }
  nb::dict run;
  run["points"] = result.points;
  run["all_points"] = result.all_points;
  run["images"] = result.images;
  run["repaired"] = result.repaired;
  run["restarts"] = result.restarts;
  run["inspected"] = result.inspected;
  run["violations"] = result.violations;
  run["wall_s"] = result.wall_s;
  run["story"] = told(result.story);
  run["registers"] = device_path ? bindings::told(left) : nb::none();
  return run;
}

}  // namespace

void bind_crash(nb::module_& module) {
  module.def("crash", &crash, nb::arg("trace"), nb::arg("settings"), nb::arg("sample"),
             nb::arg("seed"), nb::arg("at_ps").none(), nb::arg("subsets"), nb::arg("inspections"),
             nb::arg("files"), nb::arg("check").none(), nb::arg("device").none(),
             nb::arg("progress").none());
}

}  // namespace pmemsim::bindings
