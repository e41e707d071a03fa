#include "pmemsim/checks/answers/history.hpp"

#include <algorithm>
#include <cstring>
#include <ranges>
#include <utility>

#include "pmemsim/trace/initial_state.hpp"

namespace pmemsim::answers {
namespace {

std::uint64_t word_at(const Image& image, std::uint64_t address, std::uint8_t size) {
  const LineData line = image.read(Line::of(address));
  std::uint64_t word = 0;
  std::memcpy(&word, line.data() + address % kLineBytes, size);
  return word;
}

void copy_pages(const Image& from, Image& to) {
  from.for_each_page([&](std::uint64_t address, const std::byte* page) {
    to.write(address, page, Image::kPageBytes);
  });
}

void put(Image& image, std::uint64_t address, std::uint64_t value, std::uint8_t size) {
  LineData line = image.read(Line::of(address));
  std::memcpy(line.data() + address % kLineBytes, &value, size);
  image.write(Line::of(address), line);
}

}  // namespace

History::History(const trace::TraceFile& trace, PersistencyRules rules) {
  trace::for_each_image_page(trace, [&](std::uint64_t address, std::span<const std::byte> page) {
    initial_.write(address, page.data(), page.size());
  });
  PersistencyModel model(trace, rules);
  while (model.next()) {
    note_guaranteed(model);
    take_new(model);
  }
  note_guaranteed(model);
  steps_ = model.steps();
  if (rules == PersistencyRules::kEadr) note_survivors();
  note_before();
  next_guaranteed_.assign(segments_.size() + 1, kNever);
  for (std::uint64_t order = segments_.size(); order > 0; --order) {
    next_guaranteed_[order - 1] = std::min(next_guaranteed_[order], segment(order).guaranteed);
  }
}

// Adds the new segments. Before a segment becomes guaranteed, there is an instant at which it is
// possibly lost.
void History::take_new(const PersistencyModel& model) {
  segments_.resize(model.newest_order());
  for (const auto& [line, segments] : model.open()) {
    for (const PersistencyModel::Segment& segment : segments | std::views::reverse) {
      if (segment.order <= model.last_order()) break;
      segments_[segment.order - 1] = {.address = Line{line}.address() + segment.offset,
                                      .value = segment.value,
                                      .before = 0,
                                      .step = segment.step,
                                      .guaranteed = kNever,
                                      .number = segment.number,
                                      .copy = segment.copy,
                                      .thread = segment.thread,
                                      .site = segment.site,
                                      .size = segment.size,
                                      .non_temporal = segment.non_temporal};
    }
  }
}

void History::note_guaranteed(const PersistencyModel& model) {
  for (const PersistencyModel::Guaranteed& guaranteed : model.newly_guaranteed()) {
    segments_[guaranteed.order - 1].guaranteed = guaranteed.step;
  }
}

void History::note_survivors() {
  std::uint64_t copy = 0, end = 0;  // Copy of the segment, and its last step
  for (Segment& segment : segments_ | std::views::reverse) {
    if (segment.non_temporal) continue;
    if (segment.copy == 0 || segment.copy != copy) end = segment.step;
    copy = segment.copy;
    segment.guaranteed = end;
  }
}

void History::note_before() {
  Image image;
  copy_pages(initial_, image);
  for (Segment& segment : segments_) {
    segment.before = word_at(image, segment.address, segment.size);
    put(image, segment.address, segment.value, segment.size);
  }
}

std::uint64_t History::order_at(std::uint64_t crash_time) const {
  const auto behind = std::ranges::upper_bound(segments_, crash_time, {}, &Segment::step);
  return static_cast<std::uint64_t>(behind - segments_.begin());
}

LosslessImage::LosslessImage(const History& history) : history_(history) {
  copy_pages(history.initial(), image_);
}

const Image& LosslessImage::go_to(std::uint64_t order) {
  forget_additions();
  while (order_ < order) {
    ++order_;
    write(history_.segment(order_), history_.segment(order_).value);
  }
  while (order_ > order) {
    write(history_.segment(order_), history_.segment(order_).before);
    --order_;
  }
  return image_;
}

const Image& LosslessImage::with(const std::vector<std::uint64_t>& orders) {
  forget_additions();
  for (const std::uint64_t order : orders) {
    const History::Segment& segment = history_.segment(order);
    const Line line = Line::of(segment.address);
    replaced_.emplace_back(line.number, image_.read(line));
    write(segment, segment.value);
  }
  return image_;
}

void LosslessImage::forget_additions() {
  for (const auto& [number, data] : replaced_ | std::views::reverse) {
    image_.write(Line{number}, data);
    changed_.insert(number);
  }
  replaced_.clear();
}

void LosslessImage::write(const History::Segment& segment, std::uint64_t value) {
  put(image_, segment.address, value, segment.size);
  changed_.insert(Line::of(segment.address).number);
}

std::vector<Line> LosslessImage::changed() {
  std::vector<Line> lines;
  for (const std::uint64_t number : std::exchange(changed_, {})) lines.push_back(Line{number});
  return lines;
}

}  // namespace pmemsim::answers
