// Crashes of recovery in pmemsim._core: images after a crash during the changes that a checker
// makes to an image.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "model.hpp"
#include "pmemsim/checks/images/recorded_recovery.hpp"
#include "pmemsim/checks/images/whole_images.hpp"
#include "pmemsim/designs/interface/design_recovery.hpp"
#include "pmemsim/trace/initial_state.hpp"
#include "pmemsim/trace/source_location.hpp"
#include "record.hpp"

namespace nb = nanobind;

namespace pmemsim::bindings {
namespace {

// Address ranges: begin and end in the recording of recovery, and the begin in the crashed program.
using Ranges = std::vector<std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>>;

RecoveryRanges to_ranges(const Ranges& given) {
  std::vector<RecoveryRanges::Range> ranges;
  for (const auto& [begin, end, crashed] : given) ranges.push_back({begin, end, crashed});
  return RecoveryRanges(std::move(ranges));
}

// Images that a crash of recovery leaves of an image of the crashed program. Likely images are
// first, regardless of the wanted number, so that an image's number does not depend on the budget.
class RecoveryImages final : public ModelImages {
 public:
  RecoveryImages(const trace::TraceFile& recovery, ModelImages& crashed, const Ranges& ranges,
                 const WantedImages& wanted, const CheckerCommand& command, std::size_t jobs)
      : ModelImages(recovery, crashed.shown_as(), wanted, command, jobs),
        ranges_(to_ranges(ranges)) {
    copy(crashed.image());
    // The checker may have written to the file before mapping it.
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
  void write(Line recovery_line, const LineData& data) {
    const std::optional<Line> line = ranges_.line_in_crashed_program(recovery_line);
    if (!line) return;
    image_.write(*line, data);
    changed_.push_back(*line);
  }

  const RecoveryRanges ranges_;
  std::uint64_t limit_ = UINT64_MAX;
  Image image_;
  std::vector<Line> changed_;
};

// Returns the allowed images, which a persistency model always has.
const AllowedImages& allowed(const ModelImages& images) {
  return dynamic_cast<const WholeImages&>(images.images()).images();
}

// A load of recovery that reads a store which the crash may have lost.
struct Read {
  trace::SourceLocation load, store;
  bool there = false;
};

std::vector<Read> list_open_reads(const ModelImages& images, const trace::TraceFile& recovery,
                                  const Ranges& ranges) {
  std::vector<Read> found;
  for (const OpenRead& read : open_reads(allowed(images), recovery, to_ranges(ranges))) {
    found.push_back({trace::location_of(recovery.sites(), read.load),
                     trace::location_of(images.trace().sites(), read.store), read.there});
  }
  return found;
}

// A checker of single images, in addition to the checkers of the sequence.
class OneChecker {
 public:
  OneChecker(const CheckerCommand& command, ModelImages& images)
      : images_(images), library_(command.library), checker_(command, images.regions(), 1) {}
  OneChecker(const OneChecker&) = delete;
  OneChecker& operator=(const OneChecker&) = delete;

  std::optional<CheckerAnswer> check_image(const Progress& progress) {
    return rejection(
        checker_.check_image(images_.image(), rate_limited([&] { report(progress, 0); })),
        library_);
  }

 private:
  ModelImages& images_;
  const bool library_;
  CheckerPool checker_;
};

}  // namespace

void bind_recovery(nb::module_& module) {
  const auto released = nb::call_guard<nb::gil_scoped_release>();
  bind_record<Read>(module, "OpenRead",
                    "A load of recovery from a location with a store that the crash may have lost.",
                    field("load", &Read::load), field("store", &Read::store),
                    field("there", &Read::there, "True if the image contains the store's value."));
  bind_record<PersistSteps>(module, "PersistSteps", "Recovery's stores to persistent memory.",
                            field("hash", &PersistSteps::hash),
                            field("stores", &PersistSteps::stores));
  nb::class_<RecoveryImages, ModelImages>(module, "RecoveryImages",
                                          "Images that a crash of recovery may leave. Checkers "
                                          "receive them as images of the program.")
      .def(nb::init<const trace::TraceFile&, ModelImages&, const Ranges&, const WantedImages&,
                    const CheckerCommand&, std::size_t>(),
           nb::arg("recovery"), nb::arg("crashed"), nb::arg("ranges"), nb::arg("wanted"),
           nb::arg("checker"), nb::arg("jobs"), nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(),
           released)
      .def("set_limit", &RecoveryImages::set_limit, nb::arg("images"));
  nb::class_<OneChecker>(module, "OneChecker",
                         "A checker of single images, in addition to the checkers of the sequence.")
      .def(nb::init<const CheckerCommand&, ModelImages&>(), nb::arg("checker"), nb::arg("images"),
           nb::keep_alive<1, 3>(), released)
      .def("check_image", &OneChecker::check_image, nb::arg("progress").none(), released);
  module.def("persist_steps", &persist_steps, nb::arg("recovery"), released);
  module.def("open_reads", &list_open_reads, nb::arg("images"), nb::arg("recovery"),
             nb::arg("ranges"), released);
}

}  // namespace pmemsim::bindings
