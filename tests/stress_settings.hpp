// The settings that make structures collide, as the command line has them: configs/stress.yaml,
// where each set has a line `- name: NAME` and a line `set: {KEY: VALUE, ...}`.
#pragma once

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "pmemsim/common/error.hpp"
#include "pmemsim/common/parameters.hpp"

namespace pmemsim {

struct StressSet {
  std::string name;
  std::vector<Setting> settings;
};

// `KEY: VALUE, ...}` of a set.
inline std::vector<Setting> stress_settings(const std::string& text, const std::string& place) {
  std::vector<Setting> found;
  std::istringstream pairs(text.substr(0, text.find('}')));
  for (std::string pair; std::getline(pairs >> std::ws, pair, ',');) {
    const std::size_t colon = pair.find(": ");
    if (colon == std::string::npos) throw Error(place + ": no value in '" + pair + "'");
    found.push_back({pair.substr(0, colon), pair.substr(colon + 2), place});
  }
  return found;
}

inline std::vector<StressSet> stress_sets() {
  constexpr std::string_view kName = "- name: ", kSet = "set: {";
  std::vector<StressSet> sets;
  std::ifstream file(PMEMSIM_STRESS_FILE);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    const std::size_t name = line.find(kName), set = line.find(kSet);
    if (name != std::string::npos) {
      sets.push_back({line.substr(name + kName.size()), {}});
    } else if (set != std::string::npos) {
      sets.back().settings = stress_settings(line.substr(set + kSet.size()), sets.back().name);
    }
  }
  return sets;
}

}  // namespace pmemsim
