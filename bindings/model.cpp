// pmemsim._core's images that a persistency model allows, and what checkers say of them.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bindings.hpp"
#include "checker.hpp"
#include "pmemsim/judging/judged_images.hpp"
#include "pmemsim/mem/image_file.hpp"
#include "pmemsim/model/persist_instructions.hpp"
#include "pmemsim/model/whole_images.hpp"
#include "pmemsim/trace/reader.hpp"
#include "pmemsim/trace/source_place.hpp"

namespace nb = nanobind;

namespace pmemsim::bindings {
namespace {

// The images, and checkers that see them.
class ModelImages {
 public:
  ModelImages(const trace::TraceFile& trace, bool eadr, std::uint64_t seed, std::uint64_t most,
              const CheckerCommand& command, std::size_t jobs, std::optional<std::uint32_t> without,
              bool watch)
      : trace_(trace),
        images_(trace, eadr ? PersistencyRules::kEadr : PersistencyRules::kPx86, seed, most,
                without.value_or(VisibleOrder::kNothing)),
        library_(command.library),
        checkers_(command, trace.metadata().pm_regions, jobs),
        watches_(watch && library_),
        judged_(images_, most, watches_ ? first_image(trace) : nullptr) {}

  // Judges all, until one is rejected, so many seconds are over (once one has been shown), or there
  // are no more. The number of the first one that was rejected, which they have come to then; 0:
  // there is none.
  std::uint64_t show_all(std::optional<double> seconds, const nb::object& progress) {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point begin = Clock::now();
    return judge_upto(UINT64_MAX, progress, [&] {
      return !seconds || images_.number() == 0 ||
             std::chrono::duration<double>(Clock::now() - begin).count() <= *seconds;
    });
  }

  // To the image of this number; if it depends on what the checker reads which that is, they are
  // judged up to there. False: there is none, or one before was rejected.
  bool go_to(std::uint64_t number, const nb::object& progress) {
    const AllowedImages& images = images_.images();
    const bool depends = watches_ && (images.reads_come_first() || images.reads_come_later());
    if (!depends && images_.go_to(number)) return true;
    if (!watches_) return false;
    judge_upto(number, progress, [] { return true; });
    return images_.number() == number;
  }

  // What a checker says of the image that they have come to.
  CheckerAnswer judge(const nb::object& progress) {
    return checkers_.judge(images_.image(), judged_.take_changed(), reporter(progress));
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
  bool watches() const { return watches_; }
  std::uint64_t shown() const { return judged_.shown(); }
  WholeImages& images() { return images_; }
  const WholeImages& images() const { return images_; }

 private:
  // Tells how far the images have come.
  CheckerProcess::KeepGoing reporter(const nb::object& progress) const {
    return seldom([&] { report(progress, static_cast<double>(images_.number())); });
  }

  std::uint64_t judge_upto(std::uint64_t number, const nb::object& progress,
                           const std::function<bool()>& in_time) {
    const CheckerProcess::KeepGoing keep_going = reporter(progress);
    PoolOfCheckers checkers(checkers_, keep_going);
    const auto go_on = [&] {
      keep_going();
      return in_time();
    };
    return judged_.judge(checkers, go_on, number);
  }

  const trace::TraceFile& trace_;
  WholeImages images_;
  const bool library_;
  CheckerPool checkers_;
  const bool watches_;
  JudgedImages judged_;
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
std::optional<std::uint64_t> fingerprint(const trace::TraceFile& trace, bool eadr,
                                         std::uint64_t most, std::optional<std::uint32_t> without) {
  AllowedImages images(trace, eadr ? PersistencyRules::kEadr : PersistencyRules::kPx86, 1, most,
                       without.value_or(VisibleOrder::kNothing));
  if (images.possible() > std::min(static_cast<double>(most), AllowedImages::kMostAll)) {
    return std::nullopt;
  }
  while (images.next()) {
  }
  if (!images.complete()) return std::nullopt;
  return images.fingerprint();
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
  nb::class_<ModelImages>(module, "ModelImages")
      .def(nb::init<const trace::TraceFile&, bool, std::uint64_t, std::uint64_t,
                    const CheckerCommand&, std::size_t, std::optional<std::uint32_t>, bool>(),
           nb::arg("trace"), nb::arg("eadr"), nb::arg("seed"), nb::arg("most"), nb::arg("checker"),
           nb::arg("jobs"), nb::arg("without").none(), nb::arg("watch"), nb::keep_alive<1, 2>(),
           released)
      .def("show_all", &ModelImages::show_all, nb::arg("seconds").none(),
           nb::arg("progress").none(), released)
      .def("said",
           [](const ModelImages& images) { return verdict(images.said(), images.library()); })
      .def("judge", &judge, nb::arg("progress").none())
      .def("go_to", &ModelImages::go_to, nb::arg("number"), nb::arg("progress").none(), released)
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
      .def_prop_ro("shown", &ModelImages::shown)
      .def_prop_ro("watches", &ModelImages::watches)
      .def_prop_ro("exact",
                   [](const ModelImages& images) { return images.images().images().exact(); })
      .def_prop_ro("possible",
                   [](const ModelImages& images) { return images.images().images().possible(); })
      .def_prop_ro("complete",
                   [](const ModelImages& images) { return images.images().images().complete(); })
      .def_prop_ro("instants",
                   [](const ModelImages& images) { return images.images().images().instants(); });
  module.def("persist_instructions", &list_persist_instructions, nb::arg("trace"));
  module.def("fingerprint", &fingerprint, nb::arg("trace"), nb::arg("eadr"), nb::arg("most"),
             nb::arg("without").none(), released);
  module.attr("MOST_MODEL_IMAGES") = AllowedImages::kMostAll;
  module.attr("NO_END_OF_MODEL_IMAGES") = AllowedImages::kNoEnd;
}

}  // namespace pmemsim::bindings
