// pmemsim._core's crashes: one call that verifies a design on a recording.
#include "pmemsim/crash/crash.hpp"
#include "pmemsim/designs/backend/surviving_registers.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "checker.hpp"
#include "device.hpp"
#include "pmemsim/common/image_file.hpp"
#include "pmemsim/machine/run/configuration.hpp"
#include "pmemsim/machine/run/simulate.hpp"
#include "pmemsim/trace/reader.hpp"

namespace nb = nanobind;

namespace pmemsim::bindings {
namespace {

// Checkers that see images, and Python, which puts in words what they say.
class Checkers final : public ImageJudge {
 public:
  Checkers(const CheckerCommand& command, const trace::TraceFile& trace, std::size_t jobs,
           const nb::object& words, CheckerProcess::KeepGoing keep_going)
      : library_(command.library),
        pool_(command, trace.metadata().pm_regions, jobs),
        words_(words),
        keep_going_(std::move(keep_going)) {}

  void show(const Image& image) override { pool_.show(image, keep_going_); }

  std::map<std::uint64_t, std::string> wrong() override {
    pool_.finish(keep_going_);
    nb::gil_scoped_acquire acquire;
    std::map<std::uint64_t, std::string> found;
    for (const auto& [number, answer] : pool_.rejected()) {
      found[number] = nb::cast<std::string>(words_(verdict(answer, library_)));
    }
    return found;
  }

 private:
  const bool library_;
  CheckerPool pool_;
  const nb::object& words_;
  const CheckerProcess::KeepGoing keep_going_;
};

// A copy of an image, which goes on changing.
class KeptImage {
 public:
  KeptImage(const Image& image, std::vector<trace::PmRegion> regions)
      : regions_(std::move(regions)) {
    image.for_each_page([this](std::uint64_t address, const std::byte* page) {
      image_.write(address, page, Image::kPageBytes);
    });
  }
  KeptImage(const KeptImage&) = delete;
  KeptImage& operator=(const KeptImage&) = delete;
  // A file for each region.
  void write(const std::vector<Path>& files) const {
    for (std::size_t i = 0; i < files.size(); ++i) {
      write_image(image_, regions_.at(i).begin, regions_.at(i).end, files[i].string());
    }
  }

 private:
  Image image_;
  const std::vector<trace::PmRegion> regions_;
};

nb::object told(const std::optional<CrashStory>& story) {
  if (!story) return nb::none();
  nb::dict told;
  told["point"] = story->point;
  told["time_ps"] = story->when.count;
  told["lines"] = story->lines;
  return told;
}

nb::dict crash(const Path& path, const Configuration& configuration, std::uint64_t sample,
               std::uint64_t seed, std::optional<std::int64_t> at_ps, std::uint64_t subsets,
               std::optional<std::uint64_t> inspections,
               const std::optional<CheckerCommand>& checker, std::size_t jobs,
               const nb::object& words, const std::optional<Path>& device_path, bool keep,
               const nb::object& progress) {
  CrashResult result;
  SurvivingRegisters left;
  std::unique_ptr<KeptImage> kept;
  {
    nb::gil_scoped_release release;
    const trace::TraceFile trace(path.string());
    check_fit(trace, configuration);
    double share = 0;
    std::optional<Checkers> checkers;
    if (checker) {
      checkers.emplace(*checker, trace, jobs, words, seldom([&] { report(progress, share); }));
    }
    CrashOptions options{.sample = sample,
                         .seed = seed,
                         .subsets = subsets,
                         .judge = checkers ? &*checkers : nullptr,
                         .inspections = inspections.value_or(CrashOptions::kAllImages)};
    if (at_ps) options.at = Time{*at_ps};
    if (device_path) {
      options.save = [&](const DeviceImage& device, const SurvivingRegisters& registers) {
        write_device_image(device, device_path->string());
        left = registers;
      };
    }
    if (keep) {
      options.keep = [&](const Image& image) {
        kept = std::make_unique<KeptImage>(image, trace.metadata().pm_regions);
      };
    }
    result = pmemsim::crash(trace, configuration, options, [&](double done) {
      share = done;
      return report(progress, done);
    });
  }
  nb::dict run;
  run["points"] = result.points;
  run["all_points"] = result.all_points;
  run["images"] = result.images;
  run["repaired"] = result.repaired;
  run["restarts"] = result.restarts;
  run["inspected"] = result.inspected;
  run["different"] = result.different;
  run["violations"] = result.violations;
  run["wall_s"] = result.wall_s;
  run["story"] = told(result.story);
  run["registers"] = device_path ? bindings::told(left) : nb::none();
  run["kept"] = nb::cast(std::move(kept));
  return run;
}

}  // namespace

void bind_crash(nb::module_& module) {
  nb::class_<KeptImage>(module, "KeptImage")
      .def("write", &KeptImage::write, nb::arg("files"), nb::call_guard<nb::gil_scoped_release>());
  module.def("crash", &crash, nb::arg("trace"), nb::arg("configuration"), nb::arg("sample"),
             nb::arg("seed"), nb::arg("at_ps").none(), nb::arg("subsets"),
             nb::arg("inspections").none(), nb::arg("checker").none(), nb::arg("jobs"),
             nb::arg("words").none(), nb::arg("device").none(), nb::arg("keep"),
             nb::arg("progress").none());
}

}  // namespace pmemsim::bindings
