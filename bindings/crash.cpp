// Crash verification in pmemsim._core: one call that verifies a design on a recording.
#include "pmemsim/crash/crash.hpp"
#include "pmemsim/designs/backend/surviving_registers.hpp"

#include <atomic>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "checker.hpp"
#include "pmemsim/common/image_file.hpp"
#include "pmemsim/designs/plugins.hpp"
#include "pmemsim/machine/run/configuration.hpp"
#include "pmemsim/machine/run/simulate.hpp"
#include "pmemsim/trace/reader.hpp"
#include "record.hpp"

namespace nb = nanobind;

namespace pmemsim::bindings {
namespace {

// A Python function that describes a checker's answer in words.
using Words = std::optional<nb::typed<nb::callable, std::string(CheckerAnswer)>>;

// Checkers of images, and the Python function that describes their answers.
class Checkers final : public ExternalChecker {
 public:
  Checkers(const CheckerCommand& command, const trace::TraceFile& trace, std::size_t jobs,
           const Words& words, CheckerProcess::KeepGoing keep_going)
      : pool_(command, trace.metadata().pm_regions, jobs),
        words_(words),
        keep_going_(std::move(keep_going)) {}

  void show(const Image& image) override { pool_.show(image, keep_going_); }

  std::map<std::uint64_t, std::string> wrong() override {
    pool_.finish(keep_going_);
    nb::gil_scoped_acquire acquire;
    std::map<std::uint64_t, std::string> found;
    for (const auto& [number, answer] : pool_.rejected()) {
      found[number] = nb::cast<std::string>((*words_)(answer));
    }
    return found;
  }

 private:
  CheckerPool pool_;
  const Words& words_;
  const CheckerProcess::KeepGoing keep_going_;
};

// A copy of an image that changes later.
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
  KeptImage(KeptImage&&) = default;
  KeptImage& operator=(KeptImage&&) = default;
  ~KeptImage() = default;
  // Writes each region to its file.
  void write(const std::vector<Path>& files) const {
    for (std::size_t i = 0; i < files.size(); ++i) {
      write_image(image_, regions_.at(i).begin, regions_.at(i).end, files[i].string());
    }
  }

 private:
  Image image_;
  std::vector<trace::PmRegion> regions_;
};

// The result of the run, and the state that it was asked to keep.
struct Crashed : CrashResult {
  std::optional<SurvivingRegisters> registers;
  std::optional<KeptImage> kept;
};

Crashed crash(const Path& path, const Configuration& configuration, std::uint64_t sample,
              std::uint64_t seed, std::optional<Time> at, std::uint64_t subsets,
              std::optional<std::uint64_t> inspections,
              const std::optional<CheckerCommand>& checker, std::uint32_t jobs, const Words& words,
              const std::optional<Path>& device_path, bool keep, const Progress& progress) {
  const nb::gil_scoped_release release;
  const HandlerStack room;
  const trace::TraceFile trace(path.string());
  check_fit(trace, configuration);
  std::atomic<double> share = 0;  // Parts of the run report it from their threads
  std::optional<Checkers> checkers;
  if (checker) {
    checkers.emplace(*checker, trace, jobs, words, rate_limited([&] { report(progress, share); }));
  }
  Crashed found;
  CrashOptions options{.sample = sample,
                       .seed = seed,
                       .at = at,
                       .subsets = subsets,
                       .parts = jobs,
                       .external_checker = checkers ? &*checkers : nullptr,
                       .inspections = inspections.value_or(CrashOptions::kAllImages)};
  if (device_path) {
    options.save = [&](const DeviceImage& device, const SurvivingRegisters& registers) {
      write_device_image(device, device_path->string());
      found.registers = registers;
    };
  }
  if (keep) {
    options.keep = [&](const Image& image) {
      found.kept.emplace(image, trace.metadata().pm_regions);
    };
  }
  static_cast<CrashResult&>(found) =
      pmemsim::crash(trace, configuration, options, [&](double done) {
        share = done;
        return report(progress, done);
      });
  return found;
}

}  // namespace

void bind_crash(nb::module_& module) {
  bind_record<CrashExplanation>(
      module, "CrashExplanation", "The first violation of the run, explained.",
      field("point", &CrashExplanation::point, "Number of the crash point, from 1."),
      field("time_ps", &CrashExplanation::when), field("lines", &CrashExplanation::lines));
  nb::class_<Crashed>(module, "CrashResult")
      .def_ro("points", &Crashed::points)
      .def_ro("all_points", &Crashed::all_points)
      .def_ro("images", &Crashed::images)
      .def_ro("repaired", &Crashed::repaired)
      .def_ro("restarts", &Crashed::restarts)
      .def_ro("inspected", &Crashed::inspected)
      .def_ro("different", &Crashed::different)
      .def_ro("violations", &Crashed::violations)
      .def_ro("wall_s", &Crashed::wall_s)
      .def_ro("story", &Crashed::explanation)
      .def_ro("registers", &Crashed::registers)
      .def_ro("kept", &Crashed::kept);
  nb::class_<KeptImage>(module, "KeptImage")
      .def("write", &KeptImage::write, nb::arg("files"), nb::call_guard<nb::gil_scoped_release>());
  module.def("crash", &crash, nb::arg("trace"), nb::arg("configuration"), nb::arg("sample"),
             nb::arg("seed"), nb::arg("at_ps").none(), nb::arg("subsets"),
             nb::arg("inspections").none(), nb::arg("checker").none(), nb::arg("jobs"),
             nb::arg("words").none(), nb::arg("device").none(), nb::arg("keep"),
             nb::arg("progress").none());
}

}  // namespace pmemsim::bindings
