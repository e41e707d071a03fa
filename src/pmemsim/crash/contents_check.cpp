#include "pmemsim/crash/contents_check.hpp"

#include <algorithm>

namespace pmemsim {
namespace {

// Returns the lowest of an image's lines that satisfies the condition.
template <class Condition>
std::optional<Line> first_of(const Image& image, Condition condition) {
  std::optional<Line> first;
  image.for_each_page([&](std::uint64_t address, const std::byte*) {
    for (std::uint64_t at = 0; at < Image::kPageBytes; at += kLineBytes) {
      const Line line = Line::of(address + at);
      if ((!first || line < *first) && condition(line)) first = line;
    }
  });
  return first;
}

}  // namespace

void ContentsCheck::touched(Line line) {
  touched_.push_back(line);
  if (touched_.size() >= most_) {
    forget_repetitions();
    most_ = std::max(kFewest, 2 * touched_.size());
  }
}

void ContentsCheck::forget_repetitions() {
  std::sort(touched_.begin(), touched_.end());
  touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
}

std::optional<Line> ContentsCheck::difference() {
  forget_repetitions();
  const auto found =
      std::find_if(touched_.begin(), touched_.end(), [this](Line line) { return differs(line); });
  const std::optional<Line> line =
      found == touched_.end() ? std::optional<Line>{} : std::optional<Line>{*found};
  touched_.clear();
  return line;
}

std::optional<Line> ContentsCheck::difference_anywhere() const {
  const auto differs_here = [this](Line line) { return differs(line); };
  const std::optional<Line> line = first_of(pm_.device(), differs_here);
  return line ? line : first_of(image_.device(), differs_here);
}

std::optional<Line> ContentsCheck::difference_from(const Image& caches) const {
  return first_of(caches, [&](Line line) { return image_.survived(line) != caches.read(line); });
}

}  // namespace pmemsim
