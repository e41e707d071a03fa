#include "pmemsim/common/faults.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "pmemsim/common/nearest.hpp"

namespace pmemsim {

void FaultSet::declare(Fault fault) {
  if (find(fault.name)) return;
  declared_.push_back(std::move(fault));
  bits_.push_back(false);
}

std::optional<std::size_t> FaultSet::find(std::string_view name) const {
  const auto found = std::ranges::find(declared_, name, &Fault::name);
  if (found == declared_.end()) return {};
  return static_cast<std::size_t>(found - declared_.begin());
}

std::optional<std::string> FaultSet::inject(std::string_view names) {
  bits_.assign(declared_.size(), false);
  while (!names.empty()) {
    const std::string_view name = names.substr(0, names.find(','));
    names.remove_prefix(std::min(names.size(), name.size() + 1));
    const std::optional<std::size_t> index = find(name);
    if (!index) {
      std::vector<std::string> known;
      for (const Fault& fault : declared_) known.push_back(fault.name);
      const std::optional<std::string> near = nearest(name, known);
      return fmt::format(
          "unknown fault \"{}\"{}", name,
          near ? fmt::format("; did you mean {}?", *near) : "; `pmemsim list faults` shows all");
    }
    bits_[*index] = true;
  }
  return {};
}

bool FaultSet::has(std::string_view name) const {
  const std::optional<std::size_t> index = find(name);
  return index && bits_[*index];
}

std::vector<std::string_view> FaultSet::injected() const {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < declared_.size(); ++i) {
    if (bits_[i]) names.push_back(declared_[i].name);
  }
  return names;
}

}  // namespace pmemsim
