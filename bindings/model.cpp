#include "model.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pmemsim/analysis/edited_copy.hpp"
#include "pmemsim/checks/images/design_images.hpp"
#include "pmemsim/checks/images/lost_stores.hpp"
#include "pmemsim/checks/images/needless_logs.hpp"
#include "pmemsim/checks/images/survey.hpp"
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
  return {.operations =
              std::make_shared<const std::vector<std::vector<std::uint64_t>>>(call.operations)};
}

trace::LeftOut joined(const trace::LeftOut& one, const trace::LeftOut& other) {
  if (one == nullptr) return other;
  if (other == nullptr) return one;
  std::vector<std::vector<std::uint64_t>> both(one->size());
  for (std::size_t thread = 0; thread < both.size(); ++thread) {
    std::ranges::set_union((*one)[thread], (*other)[thread], std::back_inserter(both[thread]));
  }
  return std::make_shared<const std::vector<std::vector<std::uint64_t>>>(std::move(both));
}

Without joined_with(const Without& one, const Without& other) {
  return {joined(one.operations, other.operations), joined(one.log, other.log)};
}

std::vector<LostStore> lost_stores(const ModelImages& images) {
  const auto* const whole = dynamic_cast<const WholeImages*>(&images.images());
  if (whole == nullptr) return {};
  return whole->lost_stores();
}

std::vector<trace::SourceLocation> places_of(const PersistCall& call) {
  std::vector<trace::SourceLocation> places = {call.place};
  places.insert(places.end(), call.calls.begin(), call.calls.end());
  return places;
}

std::optional<Without> flush_of(const LostStore& store) {
  if (!store.flush) return {};
  return without(*store.flush);
}

// Flushes and fences that are added to a program, and some that are left out.
class Edits {
 public:
  Edits(const Without& without, const Without& reserved, bool only_sites) {
    edits_.left_out = without.operations;
    edits_.skipped = without.log;
    edits_.reserved = reserved.operations;
    edits_.reserved_skipped = reserved.log;
    edits_.only_sites = only_sites;
  }

  void flush(const std::string& file, std::uint32_t line) { at(file, line, What::kFlush); }
  void flush_loaded(const std::string& file, std::uint32_t line) {
    at(file, line, What::kFlushLoaded);
  }
  void fence_before(const std::string& file, std::uint32_t line) {
    at(file, line, What::kFenceBefore);
  }
  void fence_after(const std::string& file, std::uint32_t line) {
    at(file, line, What::kFenceAfter);
  }
  void fence_after_call(const Without& call) { edits_.fenced_calls.push_back(call.operations); }
  std::pair<std::uint64_t, std::uint64_t> write(const trace::TraceFile& trace,
                                                const Path& path) const {
    const trace::Added added = trace::write_edited_copy(trace, edits_, path.string());
    return {added.flushes, added.fences};
  }

 private:
  using What = trace::Edits::What;

  void at(const std::string& file, std::uint32_t line, What what) {
    edits_.at_statements.push_back({what, file, line});
  }

  trace::Edits edits_;
};

std::optional<std::uint64_t> digest_of(const ModelImages& images) {
  const auto* const whole = dynamic_cast<const WholeImages*>(&images.images());
  if (whole == nullptr) return {};
  return whole->images().digest();
}

// The fingerprint of all images; nothing if there are too many.
std::optional<std::uint64_t> fingerprint(const trace::TraceFile& trace,
                                         const WantedImages& wanted) {
  const double most = static_cast<double>(std::min(wanted.most, ImageSearch::kMostSets));
  if (!wanted.design) {  // no image has to be built as a whole
    const Variation variation = variation_of(wanted);
    if (may_exceed({trace, variation}, rules_of(wanted), most)) return {};
    AllowedImages images(trace, rules_of(wanted), 1, wanted.most, variation);
    while (images.next()) {
    }
    if (!images.search().complete()) return {};
    return images.search().fingerprint();
  }
  const std::unique_ptr<ImageSequence> images = sequence(trace, wanted);
  if (images->possible() > most) return {};
  while (images->next()) {
  }
  if (!images->complete()) return {};
  return images->fingerprint();
}

bool same_images(const trace::TraceFile& one, const WantedImages& of_one,
                 const trace::TraceFile& other, const WantedImages& of_other) {
  if (!of_one.design) {
    const Variation first = variation_of(of_one), second = variation_of(of_other);
    if (have_same_digest({one, first}, {other, second}, rules_of(of_one))) return true;
  }
  const std::optional<std::uint64_t> images = fingerprint(one, of_one);
  return images && images == fingerprint(other, of_other);
}

using check::NeedlessLog;

void bind_logs(nb::module_& module) {
  nb::class_<NeedlessLog>(module, "NeedlessLog", "A call of pm_log that a program doesn't need.")
      .def_prop_ro("name", [](const NeedlessLog& log) { return log.call.name; })
      .def_prop_ro("place", [](const NeedlessLog& log) { return log.call.place; })
      .def_prop_ro(
          "calls", [](const NeedlessLog& log) { return log.call.calls; },
          "Calls of the helper functions, the innermost first.")
      .def_ro("range", &NeedlessLog::range, "Number of the range, from 1; 0: the whole call.")
      .def_ro("executed", &NeedlessLog::executed, "Number of executions.")
      .def_ro("reasons", &NeedlessLog::reasons)
      .def_ro("one_word", &NeedlessLog::one_word,
              "True if a flush and a fence of the region's only store do instead.")
      .def_prop_ro(
          "without", [](const NeedlessLog& log) { return Without{.log = log.operations}; },
          "The `Without` that leaves this call out of the program.");
  module.def(
      "needless_logs",
      [](const trace::TraceFile& trace, const Without& without) {
        check::NeedlessLogs found = check::needless_logs(trace, without.operations);
        return std::pair(std::move(found.each), Without{.log = std::move(found.together)});
      },
      nb::arg("trace"), nb::arg("without"), nb::call_guard<nb::gil_scoped_release>(),
      "Return the calls of pm_log that a program doesn't need without some flushes and fences, and "
      "the `Without` that leaves out all of them that need no other code instead.");
}

}  // namespace

void bind_model(nb::module_& module) {
  const auto released = nb::call_guard<nb::gil_scoped_release>();
  nb::class_<Without>(module, "Without",
                      "Flushes and fences that are left out of a program, and code of pm.h's log "
                      "that it skips; none by default.")
      .def(nb::init<>())
      .def("joined", &joined_with, nb::arg("other"), "Return what both leave out together.");
  nb::class_<PersistCall>(module, "PersistCall", "A flush or a fence of a program.")
      .def_ro("name", &PersistCall::name)
      .def_ro("place", &PersistCall::place)
      .def_ro("calls", &PersistCall::calls, "Calls of the helper functions, the innermost first.")
      .def_prop_ro("executed", &PersistCall::executed, "Number of executions.")
      .def_prop_ro("without", &without, "The `Without` that leaves this call out of the program.");
  nb::class_<LostStore>(module, "LostStore", "A store that an image has lost.")
      .def_ro("place", &LostStore::place)
      .def_ro("thread", &LostStore::thread)
      .def_prop_ro("why", [](const LostStore& store) { return name_of(store.why); })
      .def_prop_ro("flush", &flush_of, "The flush that no fence has completed.")
      .def_prop_ro(
          "flush_calls",
          [](const LostStore& store) {
            return store.flush ? places_of(*store.flush) : std::vector<trace::SourceLocation>{};
          },
          "The flush's line, and those of its callers, the innermost first.")
      .def_ro("kept", &LostStore::kept,
              "The thread's next store of another line that the image contains.");
  nb::class_<Edits>(module, "Edits",
                    "Flushes and fences that are added to a program, and some that are left out.")
      .def(nb::init<const Without&, const Without&, bool>(), nb::arg("without"),
           nb::arg("reserved"), nb::arg("only_sites"))
      .def("flush", &Edits::flush, nb::arg("file"), nb::arg("line"))
      .def("flush_loaded", &Edits::flush_loaded, nb::arg("file"), nb::arg("line"))
      .def("fence_before", &Edits::fence_before, nb::arg("file"), nb::arg("line"))
      .def("fence_after", &Edits::fence_after, nb::arg("file"), nb::arg("line"))
      .def("fence_after_call", &Edits::fence_after_call, nb::arg("call"))
      .def("write", &Edits::write, nb::arg("trace"), nb::arg("path"), released,
           "Write the edited copy of a recording; return the numbers of executed flushes and "
           "fences that were added.");
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
      .def("lost_stores", &lost_stores, released,
           "Return the stores that the image has lost; nothing for a design's guarantees.")
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
  bind_logs(module);
  module.def("persist_calls", &check::persist_calls, nb::arg("trace"), released);
  module.def("same_images", &same_images, nb::arg("one"), nb::arg("of_one"), nb::arg("other"),
             nb::arg("of_other"), released,
             "Return whether two recordings of programs with the same stores, or two variants of "
             "one, leave the same crash images: false if there are too many to know.");
  module.attr("MOST_MODEL_IMAGES") = ImageSearch::kMostSets;
  module.attr("NO_END_OF_MODEL_IMAGES") = ImageSearch::kNoEnd;
}

}  // namespace pmemsim::bindings
