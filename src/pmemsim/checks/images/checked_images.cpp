#include "pmemsim/checks/images/checked_images.hpp"

#include <bit>
#include <cstddef>
#include <utility>

#include "pmemsim/trace/initial_state.hpp"

namespace pmemsim {

std::shared_ptr<const Image> first_image(const trace::TraceFile& trace) {
  auto image = std::make_shared<Image>();
  trace::for_each_image_page(trace, [&](std::uint64_t address, std::span<const std::byte> page) {
    image->write(address, page.data(), page.size());
  });
  return image;
}

CheckedImages::CheckedImages(ImageSequence& images, std::uint64_t most,
                             std::shared_ptr<const Image> first)
    : images_(images), most_(most), first_(std::move(first)), hashes_(first_, kPageBytes) {}

std::uint64_t CheckedImages::check_image(ImageChecker& checker,
                                         const std::function<bool()>& keep_going,
                                         std::uint64_t upto) {
  if (first_) {
    reads_.emplace(KnownReads{.tree = tree_,
                              .first = first_,
                              .unit_bytes = kPageBytes,
                              .learn = [&] { take_over(checker); },
                              .left = [&] { return most_ - numbers_.size(); },
                              .keep_going = keep_going});
    images_.explore_by(*reads_);
  }
  while (!checker.rejects() && keep_going() && images_.next() && images_.number() < upto) {
    if (is_known()) {
      watching_.spared();
    } else {
      show(checker);
    }
  }
  checker.finish();
  shown_ = numbers_.size();
  const std::optional<std::uint64_t> rejected = checker.first_rejected();
  if (!rejected) return 0;
  shown_ = *rejected + 1;
  images_.go_to(numbers_[*rejected]);
  return images_.number();
}

bool CheckedImages::is_known() {
  for (const Line line : images_.changed()) {
    changed_.insert(line.number);
    if (first_) hashes_.write(line, images_.image().read(line));
  }
  return first_ && tree_.find(hashes_) != nullptr;
}

void CheckedImages::show(ImageChecker& checker) {
  const bool watched = first_ && (watching_.on() || images_.explored());
  if (watched) watched_.emplace(numbers_.size(), hashes_.now());
  numbers_.push_back(images_.number());
  checker.show(images_.image(), take_changed(), watched);
  watching_.shown();
  const std::size_t shown = numbers_.size();
  const bool is_time = shown < kTakenOver ? std::has_single_bit(shown) : shown % kTakenOver == 0;
  if (is_time) take_over(checker);
}

void CheckedImages::take_over(ImageChecker& checker) {
  if (watched_.empty()) return;
  checker.finish();
  for (const auto& [number, pages] : checker.take_reads()) {
    VerdictTree::Run run{.reads = {}, .accepted = true};
    for (const std::uint64_t page : pages) {
      run.reads.push_back({page, hashes_.of(page, watched_.at(number))});
    }
    tree_.add(std::move(run));
  }
  watched_.clear();
}

std::vector<Line> CheckedImages::take_changed() {
  std::vector<Line> lines;
  for (const Line line : images_.changed()) changed_.insert(line.number);
  for (const std::uint64_t number : std::exchange(changed_, {})) lines.push_back(Line{number});
  return lines;
}

}  // namespace pmemsim
