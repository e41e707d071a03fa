#include "pmemsim/machine/run/idle_settings.hpp"

#include <algorithm>
#include <map>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace pmemsim {
namespace {

std::string sentence(std::string_view with, std::string_view instead) {
  return fmt::format("has no effect with {}; choose {}, or remove the setting", with, instead);
}

bool has_group(const Choice& choice, std::string_view group) {
  return std::ranges::any_of(choice.parameters,
                             [group](const auto& own) { return own.name() == group; });
}

std::string_view group_of(std::string_view key) { return key.substr(0, key.find('.')); }

// Returns the layer's chosen implementations as a setting: "ordering=...".
std::string chosen_of(const DesignConfiguration& design, Layer layer) {
  std::vector<std::string_view> names;
  for (const Choice* const choice : design.chosen()) {
    if (choice->layer() == layer) names.push_back(choice->name);
  }
  if (names.empty()) names.push_back(kNoChoice);
  return fmt::format("{}={}", kLayerNames[static_cast<std::size_t>(layer)], fmt::join(names, ","));
}

// Explains why a group of parameters has no effect: no chosen implementation has it. Empty if a
// chosen one has it, or if no implementation does.
std::string why_unchosen(const DesignConfiguration& design, std::string_view group) {
  std::map<Layer, std::vector<std::string_view>> owners;
  for (const Choice& choice : design.table()) {
    if (has_group(choice, group)) owners[choice.layer()].push_back(choice.name);
  }
  const std::vector<const Choice*> chosen = design.chosen();
  const bool used = std::ranges::any_of(
      chosen, [group](const Choice* choice) { return has_group(*choice, group); });
  if (owners.empty() || used) return "";
  std::vector<std::string> with, instead;
  for (const auto& [layer, names] : owners) {
    with.push_back(chosen_of(design, layer));
    instead.push_back(fmt::format("{}={}", kLayerNames[static_cast<std::size_t>(layer)],
                                  fmt::join(names, " or ")));
  }
  return sentence(fmt::format("{}", fmt::join(with, " and ")),
                  fmt::format("{}", fmt::join(instead, " or ")));
}

// Returns the names of the parameters that set the times of this kind of device.
std::string_view times_of(DeviceKind device) {
  switch (device) {
    case DeviceKind::kDram:
      return "trcd and tcl (reads), twr (writes), or latency_factor";
    case DeviceKind::kFixed:
      return "read_latency and write_latency";
    case DeviceKind::kBuffered:
      return "read_latency, buffer_latency, media_read_interval and media_write_interval";
  }
  return "";
}

std::string why_of_memory(const MemoryParameters& memory, std::string_view group,
                          std::string_view name) {
  const std::vector<DeviceKind> devices = MemoryParameters::devices_of(name);
  if (std::ranges::count(devices, memory.device) > 0) return "";
  const auto name_of = [](DeviceKind kind) {
    return choice_names(kind)[static_cast<std::size_t>(kind)];
  };
  std::vector<std::string_view> names;
  for (const DeviceKind device : devices) names.push_back(name_of(device));
  const std::string now = fmt::format("{}.device={}", group, name_of(memory.device));
  return sentence(
      now, fmt::format("{}.device={}, set a parameter of this device instead ({}: {})", group,
                       fmt::join(names, " or "), group, times_of(memory.device)));
}

// Explains why a parameter of an absent component has no effect: the component's size is 0.
std::string why_absent(const Configuration& configuration, std::string_view group,
                       std::string_view name) {
  if (group == "l2" && name != "size" && configuration.l2.size.count == 0) {
    return sentence("l2.size=0B (no L2)", "an l2.size");
  }
  if (group == "tlb" && name != "entries" && configuration.tlb.entries == 0) {
    return sentence("tlb.entries=0 (no TLB)", "tlb.entries above 0");
  }
  if (group == "prefetch" && name != "streams" && configuration.prefetch.streams == 0) {
    return sentence("prefetch.streams=0 (no prefetcher)", "prefetch.streams above 0");
  }
  return "";
}

// Explains why an injected fault can have no effect: no chosen implementation has it. Empty
// otherwise.
std::string why_no_fault(const Configuration& configuration) {
  for (const std::string_view name : configuration.faults.injected()) {
    if (std::string why = why_unchosen(configuration.design, group_of(name)); !why.empty()) {
      return fmt::format("{} {}", name, why);
    }
  }
  return "";
}

}  // namespace

std::string why_idle(const Configuration& configuration, std::string_view key) {
  if (key == kFaultsKey) return why_no_fault(configuration);
  const std::size_t dot = key.find('.');
  if (dot == std::string_view::npos) return "";  // a choice of a layer's implementation
  const std::string_view group = key.substr(0, dot), name = key.substr(dot + 1);
  if (group == "dram") return why_of_memory(configuration.dram, group, name);
  if (group == "pm") return why_of_memory(configuration.pm, group, name);
  if (std::string why = why_absent(configuration, group, name); !why.empty()) return why;
  return why_unchosen(configuration.design, group);
}

}  // namespace pmemsim
