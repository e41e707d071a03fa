// The lists of an explanation: stores that an image has lost, or kept although it could lose them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace pmemsim {

struct ListedLoss {
  std::uint64_t latest;  // Order of the latest store or group
  std::string text;
};

// Appends the title and the 20 latest losses, the latest first: an old loss is rarely the cause of
// the error. Appends nothing if there are no losses.
inline void list_latest(std::vector<std::string>& lines, std::string title,
                        std::vector<ListedLoss> losses) {
  constexpr std::size_t kMostListed = 20;
  if (losses.empty()) return;
  lines.push_back(std::move(title));
  std::ranges::sort(losses, std::ranges::greater{}, &ListedLoss::latest);
  for (std::size_t i = 0; i < std::min(losses.size(), kMostListed); ++i) {
    lines.push_back("  " + losses[i].text);
  }
  if (losses.size() > kMostListed) {
    lines.push_back(fmt::format("  and {} more", losses.size() - kMostListed));
  }
}

}  // namespace pmemsim
