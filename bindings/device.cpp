// pmemsim._core's images of devices: one call that reads what a crash has left.
#include "device.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "bindings.hpp"
#include "pmemsim/common/image_file.hpp"
#include "pmemsim/designs/backend/decoded_image.hpp"
#include "pmemsim/designs/backend/surviving_registers.hpp"

namespace nb = nanobind;

namespace pmemsim::bindings {
namespace {

using Roots = std::vector<std::tuple<std::uint64_t, std::uint64_t>>;  // number, hash
using Regions =
    std::vector<std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>>;  // number, start, gap
using Tree = std::tuple<std::uint32_t, Roots>;                             // levels
using Levelling = std::tuple<std::uint64_t, Regions>;                      // lines of a region
using Range = std::tuple<std::uint64_t, std::uint64_t>;                    // addresses

nb::object told(const std::optional<Key>& key) {
  if (!key) return nb::none();
  return nb::bytes(reinterpret_cast<const char*>(key->data()), key->size());
}

std::optional<Key> to_key(const std::optional<nb::bytes>& bytes) {
  if (!bytes) return {};
  Key key{};
  if (bytes->size() != key.size()) throw nb::value_error("a key has 16 bytes");
  std::copy_n(reinterpret_cast<const std::byte*>(bytes->c_str()), key.size(), key.begin());
  return key;
}

nb::object told(const std::optional<SurvivingRegisters::Tree>& tree) {
  if (!tree) return nb::none();
  return nb::cast(Tree{tree->levels, {tree->roots.begin(), tree->roots.end()}});
}

nb::object told(const std::optional<SurvivingRegisters::Levelling>& levelling) {
  if (!levelling) return nb::none();
  Regions regions;
  for (const auto& [number, region] : levelling->regions) {
    regions.emplace_back(number, region.start(), region.gap());
  }
  std::ranges::sort(regions);
  return nb::cast(Levelling{levelling->region_lines, regions});
}

nb::dict decode(const Path& device, const std::vector<std::string>& operations,
                const std::optional<nb::bytes>& encryption_key,
                const std::optional<nb::bytes>& authentication_key, bool published_macs,
                const std::optional<Tree>& tree, bool nodes_persisted,
                const std::optional<Levelling>& levelling, const std::vector<Range>& ranges,
                const std::vector<Path>& files) {
  SurvivingRegisters registers{.operations = operations,
                               .encryption_key = to_key(encryption_key),
                               .authentication_key = to_key(authentication_key),
                               .published_macs = published_macs,
                               .write_counter = {},
                               .tree = {},
                               .nodes_persisted = nodes_persisted,
                               .levelling = {}};
  if (tree) {
    const auto& [levels, roots] = *tree;
    registers.tree = {.levels = levels, .roots = {}};
    for (const auto& [number, hash] : roots) registers.tree->roots[number] = hash;
  }
  if (levelling) {
    const auto& [lines, regions] = *levelling;
    registers.levelling = {.region_lines = lines, .regions = {}};
    for (const auto& [number, start, gap] : regions) {
      registers.levelling->regions.emplace(number, StartGap(lines, start, gap));
    }
  }
  DecodedImage image;
  {
    nb::gil_scoped_release release;
    image = pmemsim::decode(read_device_image(device.string()), registers);
    for (std::size_t i = 0; i < files.size() && image.problem.empty(); ++i) {
      const auto& [begin, end] = ranges.at(i);
      write_image(image.plain, begin, end, files[i].string());
    }
  }
  nb::list unreadable;
  for (const Line line : image.unreadable) unreadable.append(line.address());
  nb::dict found;
  found["problem"] = image.problem;
  found["unreadable"] = unreadable;
  found["corrected"] = image.corrected;
  found["elsewhere"] = image.elsewhere;
  return found;
}

}  // namespace

nb::object told(const SurvivingRegisters& registers) {
  nb::dict all;
  all["operations"] = registers.operations;
  all["encryption_key"] = told(registers.encryption_key);
  all["authentication_key"] = told(registers.authentication_key);
  all["published_macs"] = registers.published_macs;
  all["write_counter"] = registers.write_counter;
  all["tree"] = told(registers.tree);
  all["nodes_persisted"] = registers.nodes_persisted;
  all["levelling"] = told(registers.levelling);
  return all;
}

void bind_device(nb::module_& module) {
  module.def("decode", &decode, nb::arg("device"), nb::arg("operations"),
             nb::arg("encryption_key").none(), nb::arg("authentication_key").none(),
             nb::arg("published_macs"), nb::arg("tree").none(), nb::arg("nodes_persisted"),
             nb::arg("levelling").none(), nb::arg("ranges"), nb::arg("files"));
}

}  // namespace pmemsim::bindings
