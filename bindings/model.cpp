// pmemsim._core's images that a persistency model allows, and what checkers say of them.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "checker.hpp"
#include "pmemsim/check/persist_calls.hpp"
#include "pmemsim/mem/image_file.hpp"
#include "pmemsim/model/whole_images.hpp"
#include "pmemsim/trace/reader.hpp"
#include "pmemsim/trace/source_place.hpp"

namespace nb = nanobind;

namespace pmemsim::bindings {
namespace {

// Flushes and fences that a program is without; none: it is whole.
struct Without {
  LeftOut operations;
};

// The images, and checkers that see them.
class ModelImages {
 public:
  ModelImages(const trace::TraceFile& trace, bool eadr, std::uint64_t seed, std::uint64_t most,
              const CheckerCommand& command, std::size_t jobs, const Without& without)
      : trace_(trace),
        images_(trace, eadr ? PersistencyRules::kEadr : PersistencyRules::kPx86, seed, most,
                without.operations),
        library_(command.library),
        checkers_(command, trace.metadata().pm_regions, jobs) {}

  // Shows all from here on, until one is rejected, so many seconds are over (once one has been
  // shown), or there are no more. The number of the first one that was rejected, which they have
  // come to then; 0: there is none.
  std::uint64_t show_all(std::optional<double> seconds, const nb::object& progress) {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point begin = Clock::now();
    const auto in_time = [&] {
      return !seconds || images_.number() == 0 ||
             std::chrono::duration<double>(Clock::now() - begin).count() <= *seconds;
    };
    const CheckerProcess::KeepGoing keep_going = reporter(progress);
    while (checkers_.rejected().empty() && in_time() && images_.next()) {
      checkers_.show(images_.image(), images_.changed(), keep_going);
      keep_going();
    }
    checkers_.finish(keep_going);
    if (checkers_.rejected().empty()) return 0;
    const std::uint64_t number = checkers_.rejected().begin()->first + 1;
    images_.go_to(number);
    return number;
  }

  // What a checker says of the image that they have come to.
  CheckerAnswer judge(const nb::object& progress) {
    return checkers_.judge(images_.image(), images_.changed(), reporter(progress));
  }
  // What it has said of the first one that show_all() has found.
  CheckerAnswer said() const { return checkers_.rejected().begin()->second; }

  // Each region of PM to its file.
  void write(const std::vector<Path>& files) const {
    for (std::size_t i = 0; i < files.size(); ++i) {
      const trace::PmRegion& region = trace_.metadata().pm_regions.at(i);
      write_image(images_.image(), region.begin, region.end, files[i].string());
    }
  }

  bool library() const { return library_; }
  WholeImages& images() { return images_; }
  const WholeImages& images() const { return images_; }

 private:
  // Tells how many images have been judged.
  CheckerProcess::KeepGoing reporter(const nb::object& progress) const {
    return seldom([&] { report(progress, static_cast<double>(checkers_.judged())); });
  }

  const trace::TraceFile& trace_;
  WholeImages images_;
  const bool library_;
  CheckerPool checkers_;
};

nb::tuple to_tuple(const trace::SourcePlace& place) {
  return nb::make_tuple(place.file, place.line, place.function);
}

// Each a tuple of what the program would be without, its name, its place, the helpers' calls, and
// how often it was executed.
nb::list list_persist_calls(const trace::TraceFile& trace) {
  std::vector<check::PersistCall> found;
  {
    nb::gil_scoped_release release;
    found = check::persist_calls(trace);
  }
  nb::list all;
  for (check::PersistCall& each : found) {
    nb::list calls;
    for (const trace::SourcePlace& call : each.calls) calls.append(to_tuple(call));
    const std::uint64_t executed = each.executed();
    Without without{std::make_shared<const std::vector<std::vector<std::uint64_t>>>(
        std::move(each.operations))};
    all.append(
        nb::make_tuple(std::move(without), each.name, to_tuple(each.place), calls, executed));
  }
  return all;
}

// The digest of what a crash leaves; and the fingerprint of all images, unless these are more.
std::pair<std::uint64_t, std::optional<std::uint64_t>> fingerprint(const trace::TraceFile& trace,
                                                                   bool eadr, std::uint64_t most,
                                                                   const Without& without) {
  AllowedImages images(trace, eadr ? PersistencyRules::kEadr : PersistencyRules::kPx86, 1, most,
                       without.operations);
  if (images.possible() > static_cast<double>(most)) return {images.digest(), std::nullopt};
  while (images.next()) {
  }
  if (!images.complete()) return {images.digest(), std::nullopt};
  return {images.digest(), images.fingerprint()};
}

std::vector<std::uint64_t> lost_lines(const ModelImages& images) {
  std::vector<std::uint64_t> numbers;
  for (const Line line : images.images().lost_lines()) numbers.push_back(line.number);
  return numbers;
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
  nb::class_<Without>(module, "Without").def(nb::init<>());
  nb::class_<ModelImages>(module, "ModelImages")
      .def(nb::init<const trace::TraceFile&, bool, std::uint64_t, std::uint64_t,
                    const CheckerCommand&, std::size_t, const Without&>(),
           nb::arg("trace"), nb::arg("eadr"), nb::arg("seed"), nb::arg("most"), nb::arg("checker"),
           nb::arg("jobs"), nb::arg("without"), nb::keep_alive<1, 2>(), released)
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
      .def("lost_lines", &lost_lines)
      .def(
          "bring_back",
          [](ModelImages& images, const std::vector<std::uint64_t>& lines) {
            images.images().bring_back(lines, true);
          },
          nb::arg("lines"))
      .def(
          "lose_again",
          [](ModelImages& images, const std::vector<std::uint64_t>& lines) {
            images.images().bring_back(lines, false);
          },
          nb::arg("lines"))
      .def_prop_ro("number", [](const ModelImages& images) { return images.images().number(); })
      .def_prop_ro("possible",
                   [](const ModelImages& images) { return images.images().images().possible(); })
      .def_prop_ro("complete",
                   [](const ModelImages& images) { return images.images().images().complete(); })
      .def_prop_ro("instants",
                   [](const ModelImages& images) { return images.images().images().instants(); });
  module.def("persist_calls", &list_persist_calls, nb::arg("trace"));
  module.def("fingerprint", &fingerprint, nb::arg("trace"), nb::arg("eadr"), nb::arg("most"),
             nb::arg("without"), released);
  module.attr("MOST_MODEL_IMAGES") = AllowedImages::kMostAll;
  module.attr("NO_END_OF_MODEL_IMAGES") = AllowedImages::kNoEnd;
}

}  // namespace pmemsim::bindings
