// pmemsim._core's images that a persistency model or a design's promises allow, and what checkers
// say of them.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bindings.hpp"
#include "checker.hpp"
#include "pmemsim/mem/image_file.hpp"
#include "pmemsim/model/persist_instructions.hpp"
#include "pmemsim/model/whole_images.hpp"
#include "pmemsim/promised/promised_images.hpp"
#include "pmemsim/sim/configuration.hpp"
#include "pmemsim/trace/reader.hpp"
#include "pmemsim/trace/source_place.hpp"

namespace nb = nanobind;

namespace pmemsim::bindings {
namespace {

// Which ones, in which order.
struct WantedImages {
  bool eadr;
  std::optional<Settings> design;  // whose promises allow them, instead of a persistency model
  std::uint64_t seed, most;
  std::optional<std::uint32_t> without;
};

std::unique_ptr<ImageSequence> sequence(const trace::TraceFile& trace, const WantedImages& wanted) {
  if (!wanted.design) {
    return std::make_unique<WholeImages>(
        trace, wanted.eadr ? PersistencyRules::kEadr : PersistencyRules::kPx86, wanted.seed,
        wanted.most, wanted.without.value_or(VisibleOrder::kNothing));
  }
  DesignPromises promises = promises_of(configure(to_settings(*wanted.design)), trace);
  promises.guarantees.without = wanted.without.value_or(ProgramHistory::kNone);
  return std::make_unique<PromisedImages>(trace, promises, wanted.seed, wanted.most);
}

// The images, and checkers that see them.
class ModelImages {
 public:
  ModelImages(const trace::TraceFile& trace, const WantedImages& wanted,
              const CheckerCommand& command, std::size_t jobs)
      : trace_(trace),
        images_(sequence(trace, wanted)),
        library_(command.library),
        checkers_(command, trace.metadata().pm_regions, jobs) {}

  // Shows all from here on, until one is rejected, so many seconds are over (once one has been
  // shown), or there are no more. The number of the first one that was rejected, which they have
  // come to then; 0: there is none.
  std::uint64_t show_all(std::optional<double> seconds, const nb::object& progress) {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point begin = Clock::now();
    const auto in_time = [&] {
      return !seconds || images_->number() == 0 ||
             std::chrono::duration<double>(Clock::now() - begin).count() <= *seconds;
    };
    const CheckerProcess::KeepGoing keep_going = reporter(progress);
    while (checkers_.rejected().empty() && in_time() && images_->next()) {
      checkers_.show(images_->image(), images_->changed(), keep_going);
      keep_going();
    }
    checkers_.finish(keep_going);
    if (checkers_.rejected().empty()) return 0;
    const std::uint64_t number = checkers_.rejected().begin()->first + 1;
    images_->go_to(number);
    return number;
  }

  // What a checker says of the image that they have come to.
  CheckerAnswer judge(const nb::object& progress) {
    return checkers_.judge(images_->image(), images_->changed(), reporter(progress));
  }
  // What it has said of the first one that show_all() has found.
  CheckerAnswer said() const { return checkers_.rejected().begin()->second; }

  // Each region of PM to its file.
  void write(const std::vector<Path>& files) const {
    for (std::size_t i = 0; i < files.size(); ++i) {
      const trace::PmRegion& region = trace_.metadata().pm_regions.at(i);
      write_image(images_->image(), region.begin, region.end, files[i].string());
    }
  }

  bool library() const { return library_; }
  ImageSequence& images() { return *images_; }
  const ImageSequence& images() const { return *images_; }

 private:
  // Tells how many images have been judged.
  CheckerProcess::KeepGoing reporter(const nb::object& progress) const {
    return seldom([&] { report(progress, static_cast<double>(checkers_.judged())); });
  }

  const trace::TraceFile& trace_;
  const std::unique_ptr<ImageSequence> images_;
  const bool library_;
  CheckerPool checkers_;
};

// Each a tuple of site, name, file, line, function and how often it was executed.
nb::list list_persist_instructions(const trace::TraceFile& trace) {
  std::vector<PersistInstruction> found;
  {
    nb::gil_scoped_release release;
    found = persist_instructions(trace);
  }
  nb::list all;
  for (const PersistInstruction& each : found) {
    const trace::SourcePlace place = trace::place_of(trace.sites(), each.site);
    all.append(nb::make_tuple(each.site, each.name, place.file, place.line, place.function,
                              each.executed));
  }
  return all;
}

// Of all images that there are, unless these are more.
std::optional<std::uint64_t> fingerprint(const trace::TraceFile& trace,
                                         const WantedImages& wanted) {
  if (!wanted.design) {  // of which not one has to be made as a whole
    AllowedImages images(trace, wanted.eadr ? PersistencyRules::kEadr : PersistencyRules::kPx86, 1,
                         wanted.most, wanted.without.value_or(VisibleOrder::kNothing));
    while (images.next()) {
    }
    return images.complete() ? std::optional(images.fingerprint()) : std::nullopt;
  }
  const std::unique_ptr<ImageSequence> images = sequence(trace, wanted);
  while (images->next()) {
  }
  return images->complete() ? std::optional(images->fingerprint()) : std::nullopt;
}

nb::object judge(ModelImages& images, const nb::object& progress) {
  const CheckerAnswer answer = [&] {
    nb::gil_scoped_release release;
    return images.judge(progress);
  }();
  return verdict(answer, images.library());
}

}  // namespace

void bind_model(nb::module_& module) {
  const auto released = nb::call_guard<nb::gil_scoped_release>();
  nb::class_<WantedImages>(module, "WantedImages")
      .def(nb::init<bool, std::optional<Settings>, std::uint64_t, std::uint64_t,
                    std::optional<std::uint32_t>>(),
           nb::arg("eadr"), nb::arg("design").none(), nb::arg("seed"), nb::arg("most"),
           nb::arg("without").none());
  nb::class_<ModelImages>(module, "ModelImages")
      .def(nb::init<const trace::TraceFile&, const WantedImages&, const CheckerCommand&,
                    std::size_t>(),
           nb::arg("trace"), nb::arg("wanted"), nb::arg("checker"), nb::arg("jobs"),
           nb::keep_alive<1, 2>(), released)
      .def("show_all", &ModelImages::show_all, nb::arg("seconds").none(),
           nb::arg("progress").none(), released)
      .def("said",
           [](const ModelImages& images) { return verdict(images.said(), images.library()); })
      .def("judge", &judge, nb::arg("progress").none())
      .def(
          "go_to",
          [](ModelImages& images, std::uint64_t number) { return images.images().go_to(number); },
          nb::arg("number"), released)
      .def("write", &ModelImages::write, nb::arg("files"), released)
      .def(
          "story", [](const ModelImages& images) { return images.images().story(); }, released)
      .def("losses", [](const ModelImages& images) { return images.images().losses(); })
      .def(
          "bring_back",
          [](ModelImages& images, const std::vector<std::uint64_t>& losses) {
            images.images().bring_back(losses, true);
          },
          nb::arg("losses"))
      .def(
          "lose_again",
          [](ModelImages& images, const std::vector<std::uint64_t>& losses) {
            images.images().bring_back(losses, false);
          },
          nb::arg("losses"))
      .def_prop_ro("number", [](const ModelImages& images) { return images.images().number(); })
      .def_prop_ro("possible", [](const ModelImages& images) { return images.images().possible(); })
      .def_prop_ro("complete", [](const ModelImages& images) { return images.images().complete(); })
      .def_prop_ro("instants",
                   [](const ModelImages& images) { return images.images().instants(); });
  module.def("persist_instructions", &list_persist_instructions, nb::arg("trace"));
  module.def("fingerprint", &fingerprint, nb::arg("trace"), nb::arg("wanted"), released);
  module.attr("MOST_MODEL_IMAGES") = AllowedImages::kMostAll;
  module.attr("NO_END_OF_MODEL_IMAGES") = AllowedImages::kNoEnd;
}

}  // namespace pmemsim::bindings
