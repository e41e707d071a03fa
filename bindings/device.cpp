// Device images in pmemsim._core: one call that decodes the contents of a device after a crash.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unordered_map.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "pmemsim/common/image_file.hpp"
#include "pmemsim/designs/backend/decoded_image.hpp"
#include "pmemsim/designs/backend/surviving_registers.hpp"
#include "record.hpp"

namespace nb = nanobind;

template <>
struct nanobind::detail::type_caster<pmemsim::Key> {
  NB_TYPE_CASTER(pmemsim::Key, const_name("bytes"))

  bool from_python(handle source, std::uint32_t /*flags*/, cleanup_list* /*cleanup*/) noexcept {
    if (!isinstance<bytes>(source)) return false;
    const auto given = borrow<bytes>(source);
    if (given.size() != value.size()) return false;
    std::copy_n(static_cast<const std::byte*>(given.data()), value.size(), value.begin());
    return true;
  }
  static handle from_cpp(const pmemsim::Key& key, rv_policy /*policy*/,
                         cleanup_list* /*cleanup*/) noexcept {
    return bytes(key.data(), key.size()).release();
  }
};

namespace pmemsim::bindings {
namespace {

using Range = std::pair<std::uint64_t, std::uint64_t>;  // addresses

// The result of decoding, except for the image.
struct Decoded {
  std::string problem;
  std::vector<std::uint64_t> unreadable;
  std::uint64_t corrected = 0, elsewhere = 0;
};

Decoded decode(const Path& device, const SurvivingRegisters& registers,
               const std::vector<Range>& ranges, const std::vector<Path>& files) {
  const nb::gil_scoped_release release;
  const DecodedImage image = pmemsim::decode(read_device_image(device.string()), registers);
  for (std::size_t i = 0; i < files.size() && image.problem.empty(); ++i) {
    const auto& [begin, end] = ranges.at(i);
    write_image(image.plain, begin, end, files[i].string());
  }
  Decoded decoded{image.problem, {}, image.corrected, image.duplicated_lines};
  for (const Line line : image.unreadable) decoded.unreadable.push_back(line.address());
  return decoded;
}

void bind_device_records(nb::module_& module) {
  using Registers = SurvivingRegisters;
  nb::class_<StartGap>(module, "StartGap", "The registers of a region whose lines are levelled.")
      .def(nb::init<std::uint64_t, std::uint64_t, std::uint64_t>(), nb::arg("lines"),
           nb::arg("start"), nb::arg("gap"))
      .def_prop_ro("start", &StartGap::start)
      .def_prop_ro("gap", &StartGap::gap);
  bind_record<Registers::Tree>(
      module, "Tree", "An integrity tree.", field("levels", &Registers::Tree::levels),
      field("roots", &Registers::Tree::roots, "Roots by the numbers of their trees."));
  bind_record<Registers::Levelling>(
      module, "Levelling", "The state of wear levelling, which determines where lines are.",
      field("region_lines", &Registers::Levelling::region_lines),
      field("regions", &Registers::Levelling::regions,
            "Registers by the numbers of their regions."));
  bind_record<Registers>(
      module, "Registers", "The registers that survive a loss of power, beside PM.",
      field("operations", &Registers::operations,
            "Names of the backend's operations, in the order in which they changed lines."),
      field("encryption_key", &Registers::encryption_key),
      field("authentication_key", &Registers::authentication_key),
      field("published_macs", &Registers::published_macs, "True if MACs need no key."),
      field("write_counter", &Registers::write_counter), field("tree", &Registers::tree),
      field("nodes_persisted", &Registers::nodes_persisted,
            "True if nodes of the tree persist together with the nodes and lines below them."),
      field("levelling", &Registers::levelling));
  bind_record<Decoded>(module, "Decoded", "The result of decoding a device's image.",
                       field("problem", &Decoded::problem,
                             "Reason why the whole image is invalid; empty if there is none."),
                       field("unreadable", &Decoded::unreadable, "Addresses of unreadable lines."),
                       field("corrected", &Decoded::corrected),
                       field("elsewhere", &Decoded::elsewhere));
}

}  // namespace

void bind_device(nb::module_& module) {
  bind_device_records(module);
  module.def("decode", &decode, nb::arg("device"), nb::arg("registers"), nb::arg("ranges"),
             nb::arg("files"));
}

}  // namespace pmemsim::bindings
