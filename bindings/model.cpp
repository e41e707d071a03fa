// pmemsim._core's images that a persistency model allows, and what checkers say of them.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "checker.hpp"
#include "pmemsim/check/persist_calls.hpp"
#include "pmemsim/judging/judged_images.hpp"
#include "pmemsim/mem/image_file.hpp"
#include "pmemsim/model/recovery.hpp"
#include "pmemsim/model/whole_images.hpp"
#include "pmemsim/trace/initial_state.hpp"
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
              const CheckerCommand& command, std::size_t jobs, const Without& without, bool watch)
      : ModelImages(trace, trace, eadr, seed, most, command, jobs, without, watch) {}
  ModelImages(const ModelImages&) = delete;
  ModelImages& operator=(const ModelImages&) = delete;
  virtual ~ModelImages() = default;

  // Judges all, until one is rejected, so many seconds are over (once one has been shown), or there
  // are no more. The number of the first one that was rejected, which they have come to then; 0:
  // there is none.
  std::uint64_t show_all(std::optional<double> seconds, const nb::object& progress) {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point begin = Clock::now();
    return judge_upto(UINT64_MAX, progress, [&] {
      if (images_.number() >= limit()) return false;
      return !seconds || images_.number() == 0 ||
             std::chrono::duration<double>(Clock::now() - begin).count() <= *seconds;
    });
  }

  // To the image of this number; if it depends on what the checker reads which that is, they are
  // judged up to there. False: there is none, or one before was rejected.
  bool go_to(std::uint64_t number, const nb::object& progress) {
    const bool made = !images_.images().reads_come_first() || !watches_;
    if (made && images_.go_to(number)) return true;
    if (!watches_) return false;
    judge_upto(number, progress, [] { return true; });
    return images_.number() == number;
  }

  // What a checker says of the image that they have come to.
  CheckerAnswer judge(const nb::object& progress) {
    const Seen now = seen(judged_.take_changed());
    return checkers_.judge(now.image, now.changed, reporter(progress));
  }
  // What it has said of the first one that show_all() has found.
  CheckerAnswer said() const { return checkers_.rejected().begin()->second; }

  // Each region of PM to its file.
  void write(const std::vector<Path>& files) {
    for (std::size_t i = 0; i < files.size(); ++i) {
      const trace::PmRegion& region = regions().at(i);
      write_image(image(), region.begin, region.end, files[i].string());
    }
  }

  bool library() const { return library_; }
  bool watches() const { return watches_; }
  std::uint64_t shown() const { return judged_.shown(); }
  WholeImages& images() { return images_; }
  const WholeImages& images() const { return images_; }
  const trace::TraceFile& trace() const { return trace_; }
  const trace::TraceFile& shown_as() const { return shown_as_; }
  const std::vector<trace::PmRegion>& regions() const { return shown_as_.metadata().pm_regions; }
  // What the checkers see.
  virtual const Image& image() { return images_.image(); }
  // So many of them at most.
  virtual std::uint64_t limit() const { return AllowedImages::kNoEnd; }

 protected:
  // The checkers see the persistent memory of the program that `shown_as` is the recording of.
  ModelImages(const trace::TraceFile& trace, const trace::TraceFile& shown_as, bool eadr,
              std::uint64_t seed, std::uint64_t most, const CheckerCommand& command,
              std::size_t jobs, const Without& without, bool watch)
      : trace_(trace),
        shown_as_(shown_as),
        images_(trace, eadr ? PersistencyRules::kEadr : PersistencyRules::kPx86, seed, most,
                without.operations),
        library_(command.library),
        checkers_(command, shown_as.metadata().pm_regions, jobs),
        watches_(watch && library_),
        judged_(images_, most, watches_ ? first_image(trace) : nullptr) {}

  // What the checkers see, and where it may differ from what they saw last, if the model's image
  // may differ there.
  struct Seen {
    const Image& image;
    std::vector<Line> changed;
  };
  virtual Seen seen(std::vector<Line> changed) { return {images_.image(), std::move(changed)}; }
  std::vector<Line> take_changed() { return judged_.take_changed(); }

 private:
  class Checkers final : public PoolOfCheckers {
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

  // Tells how far the images have come.
  CheckerProcess::KeepGoing reporter(const nb::object& progress) const {
    return seldom([&] { report(progress, static_cast<double>(images_.number())); });
  }

  std::uint64_t judge_upto(std::uint64_t number, const nb::object& progress,
                           const std::function<bool()>& in_time) {
    const CheckerProcess::KeepGoing keep_going = reporter(progress);
    Checkers checkers(*this, keep_going);
    const auto go_on = [&] {
      keep_going();
      return in_time();
    };
    return judged_.judge(checkers, go_on, number);
  }

  const trace::TraceFile& trace_;
  const trace::TraceFile& shown_as_;
  WholeImages images_;
  const bool library_;
  CheckerPool checkers_;
  const bool watches_;
  JudgedImages judged_;
};

// In recovery's recording from and to, and where the crashed program had it.
using Places = std::vector<std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>>;

RecoveryPlaces to_places(const Places& given) {
  std::vector<RecoveryPlaces::Place> places;
  for (const auto& [begin, end, crashed] : given) places.push_back({begin, end, crashed});
  return RecoveryPlaces(std::move(places));
}

// What a crash of recovery leaves of an image of the crashed program. Likely images come first
// however many are wanted, so that a number means the same image whatever the budget.
class RecoveryImages final : public ModelImages {
 public:
  RecoveryImages(const trace::TraceFile& recovery, ModelImages& crashed, const Places& places,
                 bool eadr, std::uint64_t seed, const CheckerCommand& command, std::size_t jobs)
      : ModelImages(recovery, crashed.shown_as(), eadr, seed, AllowedImages::kNoEnd, command, jobs,
                    Without{}, false),
        places_(to_places(places)) {
    copy(crashed.image());
    // The checker may have written to the file before it has mapped it.
    trace::for_each_image_page(recovery, [&](std::uint64_t at, std::span<const std::byte> page) {
      for (std::size_t part = 0; part < page.size(); part += kLineBytes) {
        LineData data;
        std::memcpy(data.data(), &page[part], data.size());
        write(Line::of(at + part), data);
      }
    });
  }

  void set_limit(std::uint64_t limit) { limit_ = limit; }
  std::uint64_t limit() const override { return limit_; }

  const Image& image() override {
    follow(take_changed());
    return image_;
  }

 private:
  Seen seen(std::vector<Line> changed) override {
    follow(changed);
    return {image_, std::exchange(changed_, {})};
  }
  void follow(const std::vector<Line>& changed) {
    for (const Line line : changed) write(line, images().image().read(line));
  }
  void copy(const Image& image) {
    image.for_each_page([&](std::uint64_t address, const std::byte* page) {
      image_.write(address, page, Image::kPageBytes);
    });
  }
  void write(Line recoverys, const LineData& data) {
    const std::optional<Line> line = places_.in_crashed(recoverys);
    if (!line) return;
    image_.write(*line, data);
    changed_.push_back(*line);
  }

  const RecoveryPlaces places_;
  std::uint64_t limit_ = AllowedImages::kNoEnd;
  Image image_;
  std::vector<Line> changed_;
};

// Each a tuple of file, line and function of the load and of the store, and whether that is there.
nb::list list_open_reads(const ModelImages& images, const trace::TraceFile& recovery,
                         const Places& places) {
  std::set<OpenRead> found;
  {
    nb::gil_scoped_release release;
    found = open_reads(images.images().images(), recovery, to_places(places));
  }
  nb::list all;
  for (const OpenRead& read : found) {
    const trace::SourcePlace load = trace::place_of(recovery.sites(), read.load);
    const trace::SourcePlace store = trace::place_of(images.trace().sites(), read.store);
    all.append(nb::make_tuple(load.file, load.line, load.function, store.file, store.line,
                              store.function, read.there));
  }
  return all;
}

// A checker that sees images one by one, beside those that judge them.
class OneChecker {
 public:
  OneChecker(const CheckerCommand& command, ModelImages& images)
      : images_(images), library_(command.library), checker_(command, images.regions(), 1) {}
  OneChecker(const OneChecker&) = delete;
  OneChecker& operator=(const OneChecker&) = delete;

  CheckerAnswer judge(const nb::object& progress) {
    return checker_.judge(images_.image(), seldom([&] { report(progress, 0); }));
  }
  bool library() const { return library_; }

 private:
  ModelImages& images_;
  const bool library_;
  CheckerPool checker_;
};

nb::tuple tuple_of_steps(const trace::TraceFile& recovery) {
  const PersistSteps steps = [&] {
    nb::gil_scoped_release release;
    return persist_steps(recovery);
  }();
  return nb::make_tuple(steps.hash, steps.stores);
}

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
  if (images.possible() > std::min(static_cast<double>(most), AllowedImages::kMostAll)) {
    return {images.digest(), std::nullopt};
  }
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

template <class Images>
nb::object judge(Images& images, const nb::object& progress) {
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
                    const CheckerCommand&, std::size_t, const Without&, bool>(),
           nb::arg("trace"), nb::arg("eadr"), nb::arg("seed"), nb::arg("most"), nb::arg("checker"),
           nb::arg("jobs"), nb::arg("without"), nb::arg("watch"), nb::keep_alive<1, 2>(), released)
      .def("show_all", &ModelImages::show_all, nb::arg("seconds").none(),
           nb::arg("progress").none(), released)
      .def("said",
           [](const ModelImages& images) { return verdict(images.said(), images.library()); })
      .def("judge", &judge<ModelImages>, nb::arg("progress").none())
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
      .def("open_reads", &list_open_reads, nb::arg("recovery"), nb::arg("places"))
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
  nb::class_<RecoveryImages, ModelImages>(module, "RecoveryImages")
      .def(nb::init<const trace::TraceFile&, ModelImages&, const Places&, bool, std::uint64_t,
                    const CheckerCommand&, std::size_t>(),
           nb::arg("recovery"), nb::arg("crashed"), nb::arg("places"), nb::arg("eadr"),
           nb::arg("seed"), nb::arg("checker"), nb::arg("jobs"), nb::keep_alive<1, 2>(),
           nb::keep_alive<1, 3>(), released)
      .def("set_limit", &RecoveryImages::set_limit, nb::arg("images"));
  nb::class_<OneChecker>(module, "OneChecker")
      .def(nb::init<const CheckerCommand&, ModelImages&>(), nb::arg("checker"), nb::arg("images"),
           nb::keep_alive<1, 3>(), released)
      .def("judge", &judge<OneChecker>, nb::arg("progress").none());
  module.def("persist_steps", &tuple_of_steps, nb::arg("recovery"));
  module.def("persist_calls", &list_persist_calls, nb::arg("trace"));
  module.def("fingerprint", &fingerprint, nb::arg("trace"), nb::arg("eadr"), nb::arg("most"),
             nb::arg("without"), released);
  module.attr("MOST_MODEL_IMAGES") = AllowedImages::kMostAll;
  module.attr("NO_END_OF_MODEL_IMAGES") = AllowedImages::kNoEnd;
}

}  // namespace pmemsim::bindings
