#include "pmemsim/common/nearest.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace pmemsim {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({substituted, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates) {
  // Up to a third of the letters wrong counts as a typing error; more counts as another word.
  std::size_t least = std::max<std::size_t>(1, word.size() / 3) + 1;
  const std::string* best = nullptr;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < least) {
      least = distance;
      best = &candidate;
    }
  }
  return best ? std::optional(*best) : std::nullopt;
}

}  // namespace pmemsim
