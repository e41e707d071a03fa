#include "pmemsim/checks/images/whole_images.hpp"

#include <algorithm>
#include <utility>

#include "pmemsim/checks/images/image_explanation.hpp"

namespace pmemsim {

WholeImages::WholeImages(const trace::TraceFile& trace, PersistencyRules rules, std::uint64_t seed,
                         std::uint64_t most, Variation variation)
    : trace_(trace), rules_(rules), seed_(seed), most_(most), variation_(std::move(variation)) {
  begin_again();
}

void WholeImages::begin_again() {
  images_.emplace(trace_, rules_, seed_, most_, variation_);
  number_ = 0;
  ended_ = false;
}

void WholeImages::explore_by(const KnownReads& reads) {
  if (number_ > 0 || ended_) begin_again();
  explored_.clear();
  images_->explore_by(reads);
}

bool WholeImages::next() {
  if (!images_->next()) {
    ended_ = true;
    return false;
  }
  ++number_;
  if (const auto explored = images_->explored()) explored_.emplace(number_, *explored);
  compose();
  return true;
}

bool WholeImages::go_to(std::uint64_t number) {
  if (const auto explored = explored_.find(number); explored != explored_.end()) {
    begin_again();
    images_->show_again(explored->second);
    number_ = number;
    compose();
    return true;
  }
  if (ended_ || number_ > number) begin_again();
  // All images are numbered after those that were explored in vain.
  if (number_ == 0 && images_->explores_reads_first()) number_ = explored_.size();
  while (number_ < number) {
    if (!next()) return false;
  }
  return true;
}

// Makes the image from the previous one.
void WholeImages::compose() {
  const Image& base = images_->base();
  if (images_->base_is_another()) {
    if (written_.empty()) {
      base.for_each_page([&](std::uint64_t address, const std::byte* page) {
        image_.write(address, page, Image::kPageBytes);
      });
    }
    for (const std::uint64_t line : written_) write(Line{line}, base.read(Line{line}));
  }
  for (const Line line : images_->base_changes()) write(line, base.read(line));
  for (const Line line : differing_) write(line, base.read(line));
  differing_.clear();
  for (const auto& [line, data] : images_->changes()) {
    write(line, data);
    differing_.push_back(line);
  }
}

void WholeImages::write(Line line, const LineData& data) {
  image_.write(line, data);
  written_.insert(line.number);
  changed_.insert(line.number);
}

std::vector<Line> WholeImages::changed() {
  std::vector<Line> lines;
  for (const std::uint64_t number : std::exchange(changed_, {})) lines.push_back(Line{number});
  return lines;
}

std::vector<std::uint64_t> WholeImages::losses() const {
  std::vector<std::uint64_t> numbers;
  for (const Line line : lost_lines()) numbers.push_back(line.number);
  return numbers;
}

void WholeImages::restore_losses(std::span<const std::uint64_t> numbers, bool restored) {
  for (const std::uint64_t number : numbers) {
    images_->restore_losses({number}, restored);
    write({number}, images_->contents({number}));
    differing_.push_back({number});
  }
}

std::span<const check::PersistCall> WholeImages::calls() const {
  if (!calls_) calls_ = check::persist_calls(trace_);
  return *calls_;
}

std::vector<std::string> WholeImages::explanation() const {
  return explain_image(trace_, *images_, calls());
}

std::vector<LostStore> WholeImages::lost_stores() const {
  return pmemsim::lost_stores(trace_, *images_, calls());
}

}  // namespace pmemsim
