#include "model.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pmemsim/checks/images/design_images.hpp"
#include "pmemsim/checks/images/whole_images.hpp"
#include "pmemsim/checks/rules/persist_calls.hpp"
#include "pmemsim/common/image_file.hpp"
#include "pmemsim/trace/source_location.hpp"

namespace nb = nanobind;

namespace pmemsim::bindings {
namespace {

PersistencyRules rules_of(const WantedImages& wanted) {
  return wanted.eadr ? PersistencyRules::kEadr : PersistencyRules::kPx86;
}

Variation variation_of(const WantedImages& wanted) {
  return {wanted.without.operations,
          wanted.delayed.value_or(Variation::kNoThread),
          {wanted.hosts, wanted.failed}};
}

std::unique_ptr<ImageSequence> sequence(const trace::TraceFile& trace, const WantedImages& wanted) {
  if (!wanted.design) {
    return std::make_unique<WholeImages>(trace, rules_of(wanted), wanted.seed, wanted.most,
                                         variation_of(wanted));
  }
  DesignGuarantees design = guarantees_of(*wanted.design, trace);
  design.guarantees.without = wanted.without.operations;
  return std::make_unique<DesignImages>(trace, design, wanted.seed, wanted.most);
}

}  // namespace

class ModelImages::Checkers final : public PoolOfCheckers {
 public:
  Checkers(ModelImages& images, CheckerProcess::KeepGoing keep_going)
      : PoolOfCheckers(images.checkers_, std::move(keep_going)), images_(images) {}
  void show(const Image&, std::span<const Line> changed, bool watched) override {
    const Seen now = images_.seen({changed.begin(), changed.end()});
    PoolOfCheckers::show(now.image, now.changed, watched);
  }

 private:
  ModelImages& images_;
};

ModelImages::ModelImages(const trace::TraceFile& trace, const trace::TraceFile& shown_as,
                         const WantedImages& wanted, const CheckerCommand& command,
                         std::size_t jobs)
    : trace_(trace),
      shown_as_(shown_as),
      images_(sequence(trace, wanted)),
      library_(command.library),
      checkers_(command, shown_as.metadata().pm_regions, jobs),
      watches_(wanted.watch),
      checked_(*images_, wanted.most, watches_ ? first_image(trace) : nullptr) {}

std::uint64_t ModelImages::show_all(std::optional<double> seconds, const Progress& progress) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  return check_up_to(UINT64_MAX, progress, [&] {
    if (images_->number() >= limit()) return false;
    return !seconds || images_->number() == 0 ||
           std::chrono::duration<double>(Clock::now() - begin).count() <= *seconds;
  });
}

bool ModelImages::go_to(std::uint64_t number, const Progress& progress) {
  const bool depends = watches_ && images_->depend_on_reads();
  if (!depends && images_->go_to(number)) return true;
  if (!watches_) return false;
  check_up_to(number, progress, [] { return true; });
  return images_->number() == number;
}

std::optional<CheckerAnswer> ModelImages::check_image(const Progress& progress) {
  const Seen now = seen(checked_.take_changed());
  return rejection(checkers_.check_image(now.image, now.changed, reporter(progress)), library_);
}

void ModelImages::write(const std::vector<Path>& files) {
  for (std::size_t i = 0; i < files.size(); ++i) {
    const trace::PmRegion& region = regions().at(i);
    write_image(image(), region.begin, region.end, files[i].string());
  }
}

// Returns a function that reports the number of images reached so far.
CheckerProcess::KeepGoing ModelImages::reporter(const Progress& progress) const {
  return rate_limited([&] { report(progress, static_cast<double>(images_->number())); });
}

std::uint64_t ModelImages::check_up_to(std::uint64_t number, const Progress& progress,
                                       const std::function<bool()>& in_time) {
  const CheckerProcess::KeepGoing report_progress = reporter(progress);
  Checkers checkers(*this, report_progress);
  const auto keep_going = [&] {
    report_progress();
    return in_time();
  };
  return checked_.check_image(checkers, keep_going, number);
}

namespace {

using check::PersistCall;

Without without(const PersistCall& call) {
  return {std::make_shared<const std::vector<std::vector<std::uint64_t>>>(call.operations)};
}

std::optional<std::uint64_t> digest_of(const ModelImages& images) {
  const auto* const whole = dynamic_cast<const WholeImages*>(&images.images());
  if (whole == nullptr) return {};
  return whole->images().digest();
}

// The digest of the images that a persistency model allows (nothing for a design), and the
// fingerprint of all images (nothing if there are too many).
using Fingerprints = std::pair<std::optional<std::uint64_t>, std::optional<std::uint64_t>>;
Fingerprints fingerprint(const trace::TraceFile& trace, const WantedImages& wanted) {
  const double most = static_cast<double>(std::min(wanted.most, ImageSearch::kMostAll));
  if (!wanted.design) {  // no image has to be built as a whole
    AllowedImages images(trace, rules_of(wanted), 1, wanted.most, variation_of(wanted));
    const ImageSearch& search = images.search();
    if (search.possible() > most) return {images.digest(), std::nullopt};
    while (images.next()) {
    }
    if (!search.complete()) return {images.digest(), std::nullopt};
    return {images.digest(), search.fingerprint()};
  }
  const std::unique_ptr<ImageSequence> images = sequence(trace, wanted);
  if (images->possible() > most) return {};
  while (images->next()) {
  }
  if (!images->complete()) return {};
  return {std::nullopt, images->fingerprint()};
}

}  // namespace

void bind_model(nb::module_& module) {
  const auto released = nb::call_guard<nb::gil_scoped_release>();
  nb::class_<Without>(module, "Without",
                      "Flushes and fences that are left out of a program; none by default.")
      .def(nb::init<>());
  nb::class_<PersistCall>(module, "PersistCall", "A flush or a fence of a program.")
      .def_ro("name", &PersistCall::name)
      .def_ro("place", &PersistCall::place)
      .def_ro("calls", &PersistCall::calls, "Calls of the helper functions, the innermost first.")
      .def_prop_ro("executed", &PersistCall::executed, "Number of executions.")
      .def_prop_ro("without", &without, "The `Without` that leaves this call out of the program.");
  nb::class_<WantedImages>(module, "WantedImages", "Selection and order of the images.")
      .def(nb::init<bool, std::optional<Configuration>, std::uint64_t, std::uint64_t, Without,
                    std::optional<std::uint32_t>, std::uint32_t, std::uint32_t, bool>(),
           nb::arg("eadr"), nb::arg("design").none(), nb::arg("seed"), nb::arg("most"),
           nb::arg("without"), nb::arg("delayed").none(), nb::arg("hosts"), nb::arg("failed"),
           nb::arg("watch"));
  nb::class_<ModelImages>(module, "ModelImages",
                          "Images of a recording that a persistency model or a design's "
                          "durability guarantees allow, with checkers that check them.")
      .def(nb::init<const trace::TraceFile&, const WantedImages&, const CheckerCommand&,
                    std::size_t>(),
           nb::arg("trace"), nb::arg("wanted"), nb::arg("checker"), nb::arg("jobs"),
           nb::keep_alive<1, 2>(), released)
      .def("show_all", &ModelImages::show_all, nb::arg("seconds").none(),
           nb::arg("progress").none(), released)
      .def("said", &ModelImages::said)
      .def("check_image", &ModelImages::check_image, nb::arg("progress").none(), released)
      .def("go_to", &ModelImages::go_to, nb::arg("number"), nb::arg("progress").none(), released)
      .def("write", &ModelImages::write, nb::arg("files"), released)
      .def(
          "explanation", [](const ModelImages& images) { return images.images().explanation(); },
          released)
      .def("losses", [](const ModelImages& images) { return images.images().losses(); })
      .def(
          "restore_losses",
          [](ModelImages& images, const std::vector<std::uint64_t>& losses) {
            images.images().restore_losses(losses, true);
          },
          nb::arg("losses"))
      .def(
          "undo_restore",
          [](ModelImages& images, const std::vector<std::uint64_t>& losses) {
            images.images().restore_losses(losses, false);
          },
          nb::arg("losses"))
      .def_prop_ro("number", [](const ModelImages& images) { return images.images().number(); })
      .def_prop_ro("shown", &ModelImages::shown)
      .def_prop_ro("watches", &ModelImages::watches)
      .def_prop_ro("exact", [](const ModelImages& images) { return images.images().exact(); })
      .def_prop_ro("possible", [](const ModelImages& images) { return images.images().possible(); })
      .def_prop_ro("complete", [](const ModelImages& images) { return images.images().complete(); })
      .def_prop_ro("digest", &digest_of,
                   "A number that is equal for orders of a recording's operations that leave the "
                   "same images; None for a design.")
      .def_prop_ro("instants",
                   [](const ModelImages& images) { return images.images().instants(); });
  module.def("persist_calls", &check::persist_calls, nb::arg("trace"), released);
  module.def("fingerprint", &fingerprint, nb::arg("trace"), nb::arg("wanted"), released,
             "Return two fingerprints: of the stores that a crash may lose at each instant (None "
             "for a design's guarantees), and of the set of all images (None if there are too "
             "many).");
  module.attr("MOST_MODEL_IMAGES") = ImageSearch::kMostAll;
  module.attr("NO_END_OF_MODEL_IMAGES") = ImageSearch::kNoEnd;
}

}  // namespace pmemsim::bindings
