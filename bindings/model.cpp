// pmemsim._core's images that a persistency model allows.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <vector>

#include "bindings.hpp"
#include "pmemsim/mem/image_file.hpp"
#include "pmemsim/model/allowed_images.hpp"
#include "pmemsim/model/image_story.hpp"
#include "pmemsim/model/persist_instructions.hpp"
#include "pmemsim/trace/reader.hpp"
#include "pmemsim/trace/source_place.hpp"

namespace nb = nanobind;

namespace pmemsim::bindings {
namespace {

// The images, and the one of them that it has come to as a whole.
class ModelImages {
 public:
  ModelImages(const trace::TraceFile& trace, bool eadr, std::uint64_t seed, std::uint64_t most,
              std::optional<std::uint32_t> without)
      : trace_(trace),
        images_(trace, eadr ? PersistencyRules::kEadr : PersistencyRules::kPx86, seed, most,
                without.value_or(VisibleOrder::kNothing)) {}

  ModelImages(const ModelImages&) = delete;
  ModelImages& operator=(const ModelImages&) = delete;

  bool next() {
    for (const auto& [line, data] : images_.changes()) stale_.push_back(line);
    if (!images_.next()) return false;
    if (images_.base_is_another()) {
      whole_ = Image();
      images_.base().for_each_page([&](std::uint64_t address, const std::byte* page) {
        whole_.write(address, page, Image::kPageBytes);
      });
      stale_.clear();
    }
    stale_.insert(stale_.end(), images_.base_changes().begin(), images_.base_changes().end());
    for (const Line line : stale_) whole_.write(line, images_.base().read(line));
    stale_.clear();
    for (const auto& [line, data] : images_.changes()) whole_.write(line, data);
    return true;
  }

  // Each region of PM to its file.
  void write(const std::vector<Path>& files) const {
    for (std::size_t i = 0; i < files.size(); ++i) {
      const trace::PmRegion& region = trace_.metadata().pm_regions.at(i);
      write_image(whole_, region.begin, region.end, files[i].string());
    }
  }

  // By their numbers: lines that have lost something visible, those first that were stored to
  // first.
  std::vector<std::uint64_t> lost_lines() const {
    std::vector<std::uint64_t> numbers;
    for (const Line line : images_.lost_lines()) numbers.push_back(line.number);
    return numbers;
  }
  // Instead of the image, it without or with these lines' losses.
  void bring_back(const std::vector<std::uint64_t>& numbers, bool back) {
    for (const std::uint64_t number : numbers) {
      images_.bring_back({number}, back);
      whole_.write(Line{number}, images_.contents({number}));
    }
  }

  const AllowedImages& images() const { return images_; }
  std::vector<std::string> story() const { return image_story(trace_, images_); }

 private:
  const trace::TraceFile& trace_;
  AllowedImages images_;
  Image whole_;
  std::vector<Line> stale_;  // in `whole_`: those in which the image before wasn't its base
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

}  // namespace

void bind_model(nb::module_& module) {
  const auto released = nb::call_guard<nb::gil_scoped_release>();
  nb::class_<ModelImages>(module, "ModelImages")
      .def(nb::init<const trace::TraceFile&, bool, std::uint64_t, std::uint64_t,
                    std::optional<std::uint32_t>>(),
           nb::arg("trace"), nb::arg("eadr"), nb::arg("seed"), nb::arg("most"),
           nb::arg("without").none() = nb::none(), nb::keep_alive<1, 2>(), released)
      .def("next", &ModelImages::next, released)
      .def("write", &ModelImages::write, nb::arg("files"), released)
      .def("story", &ModelImages::story, released)
      .def("lost_lines", &ModelImages::lost_lines)
      .def(
          "bring_back",
          [](ModelImages& images, const std::vector<std::uint64_t>& lines) {
            images.bring_back(lines, true);
          },
          nb::arg("lines"))
      .def(
          "lose_again",
          [](ModelImages& images, const std::vector<std::uint64_t>& lines) {
            images.bring_back(lines, false);
          },
          nb::arg("lines"))
      .def_prop_ro("possible", [](const ModelImages& images) { return images.images().possible(); })
      .def_prop_ro("complete", [](const ModelImages& images) { return images.images().complete(); })
      .def_prop_ro("fingerprint",
                   [](const ModelImages& images) { return images.images().fingerprint(); })
      .def_prop_ro("instants",
                   [](const ModelImages& images) { return images.images().instants(); });
  module.def("persist_instructions", &list_persist_instructions, nb::arg("trace"));
  module.attr("MOST_MODEL_IMAGES") = AllowedImages::kMostAll;
  module.attr("NO_END_OF_MODEL_IMAGES") = AllowedImages::kNoEnd;
}

}  // namespace pmemsim::bindings
