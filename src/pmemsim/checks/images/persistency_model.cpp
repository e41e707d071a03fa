#include "pmemsim/checks/images/persistency_model.hpp"

#include <algorithm>
#include <cstring>

#include "pmemsim/trace/accesses.hpp"
#include "pmemsim/trace/initial_state.hpp"
#include "pmemsim/trace/record_layout.hpp"

namespace pmemsim {

using trace::Operation;
using trace::SiteKind;

namespace {

constexpr std::uint64_t kSegmentBytes = 8;

bool is_open_store(const PersistencyModel::Segment& segment, std::uint64_t order) {
  return !segment.guaranteed && !segment.non_temporal && segment.order <= order;
}

// True if the line has segments up to this one that its flush would guarantee.
bool has_open(const std::map<std::uint64_t, PersistencyModel::Segments>& open, std::uint64_t number,
              std::uint64_t order) {
  const auto line = open.find(number);
  return line != open.end() &&
         std::ranges::any_of(line->second, [&](const PersistencyModel::Segment& segment) {
           return is_open_store(segment, order);
         });
}

// True for acquisitions of locks: each executes a locked instruction. Other calls need not execute
// one. An annotated lock does not count, since the recording contains its instructions.
bool acquires_lock(const Operation& operation) {
  const auto kind = static_cast<trace::SyncKind>(operation.detail);
  return operation.kind == SiteKind::kSync && !operation.flag && trace::is_lock(kind);
}

}  // namespace

PersistencyModel::PersistencyModel(const trace::TraceFile& trace, PersistencyRules rules,
                                   Variation variation)
    : rules_(rules),
      failure_(variation.failure),
      order_(trace, std::move(variation),
             failure_.is_partial() ? VisibleOrder::Loads::kAll : VisibleOrder::Loads::kOfCopies),
      pm_(trace.metadata()),
      threads_(trace.metadata().threads),
      last_positions_(trace.metadata().threads) {
  trace::for_each_image_page(trace, [&](std::uint64_t address, std::span<const std::byte> page) {
    base_.write(address, page.data(), page.size());
    newest_.write(address, page.data(), page.size());
  });
}

bool PersistencyModel::next() {
  if (ended_) return false;
  const bool first = !begun_;
  begun_ = true;
  last_order_ = instant_order_;
  base_changes_.clear();
  newly_guaranteed_.clear();
  if (waiting_) execute();
  waiting_ = false;
  while (step()) {
    if (newest_order_ > instant_order_ && makes_guaranteed()) {
      instant_order_ = newest_order_;
      waiting_ = true;
      return true;
    }
    execute();
  }
  ended_ = true;
  const bool matters = first || newest_order_ > instant_order_;
  instant_order_ = newest_order_;
  return matters;
}

// Moves to the store's next segment, or to the next operation.
bool PersistencyModel::step() {
  if (done_ > 0 && done_ < order_.operation().size) return true;
  done_ = 0;
  if (!order_.next()) return false;
  ++steps_;
  return true;
}

bool PersistencyModel::stores() const { return trace::stores_something(order_.operation()); }

bool PersistencyModel::copies() const {
  const SiteKind kind = order_.operation().kind;
  return kind == SiteKind::kCopyLoad || kind == SiteKind::kCopyStore;
}

bool PersistencyModel::is_fence() const {
  const Operation& operation = order_.operation();
  if (done_ > 0) return false;
  switch (operation.kind) {
    case SiteKind::kFence:
      return operation.detail != static_cast<std::uint8_t>(trace::FenceKind::kLfence);
    case SiteKind::kAtomicUpdate:
      return true;
    case SiteKind::kAtomicStore:
      return (operation.site_flags & trace::kSiteFullFence) != 0;
    default:
      return acquires_lock(operation);
  }
}

// True if the next operation guarantees an open segment (rules 3 to 5, 8 and 9).
bool PersistencyModel::makes_guaranteed() const {
  if (failure_.survives(order_.thread()) && done_ == 0 && survivor_makes_guaranteed()) return true;
  if (is_fence() && fence_makes_guaranteed()) return true;
  if (order_.operation().kind == SiteKind::kFlush) return flush_makes_guaranteed();
  return store_makes_guaranteed();
}

bool PersistencyModel::fence_makes_guaranteed() const {
  const Thread& thread = threads_[order_.thread()];
  if (!thread.non_temporal.empty()) return true;
  return std::ranges::any_of(thread.flushed, [&](const auto& flush) {
    return has_open(open_, flush.first, flush.second.order);
  });
}

bool PersistencyModel::flush_makes_guaranteed() const {
  const Operation& operation = order_.operation();
  return rules_ == PersistencyRules::kPx86 &&
         operation.detail == static_cast<std::uint8_t>(trace::FlushKind::kClflush) &&
         has_open(open_, Line::of(operation.address).number, newest_order_);
}

bool PersistencyModel::store_makes_guaranteed() const {
  return !visible_lines_.empty() && stores() && in_pm() &&
         !(continues_copy() && copy_ == visible_copy_);
}

// Calls visit(line) for each line of PM that the current operation loads or stores.
template <class Visit>
void PersistencyModel::for_each_accessed_line(Visit visit) const {
  const Operation& operation = order_.operation();
  if (operation.size == 0 || operation.kind == SiteKind::kSync) return;
  for (Line line = Line::of(operation.address); line.address() < operation.address + operation.size;
       ++line.number) {
    if (pm_.contains(line.address())) visit(line);
  }
}

bool PersistencyModel::survivor_makes_guaranteed() const {
  bool any = false;
  const std::uint64_t order = fetched_order();
  for_each_accessed_line([&](Line line) { any = any || has_open(open_, line.number, order); });
  return any;
}

// Returns the newest segment that a fetched line keeps. Segments of one copy have no order.
std::uint64_t PersistencyModel::fetched_order() const {
  return continues_copy() ? order_before_copy_ : newest_order_;
}

// True if the current operation is a segment of the copy that the last segment belongs to.
bool PersistencyModel::continues_copy() const {
  if (!copies() || copy_ == 0 || order_.thread() != copy_thread_) return false;
  return done_ > 0 || order_.number() == copy_operation_ + 1;
}

void PersistencyModel::execute() {
  const Operation& operation = order_.operation();
  if (failure_.survives(order_.thread()) && done_ == 0) {
    const std::uint64_t order = fetched_order();
    for_each_accessed_line([&](Line line) { guarantee(line.number, order); });
  }
  if (is_fence()) fence();
  if (copies()) {
    note_copy();
  } else if (stores()) {
    copy_ = 0;
  }
  if (stores()) store_segment();
  if (operation.kind == SiteKind::kFlush) flush();
  Position& last = last_positions_[order_.thread()];
  if (operation.kind != SiteKind::kSync || last.site == kNone) last = position();
}

void PersistencyModel::note_copy() {
  if (!continues_copy()) {
    copy_ = ++copies_;
    order_before_copy_ = newest_order_;
  }
  copy_thread_ = order_.thread();
  copy_operation_ = order_.number();
}

// Implements rule 1 (persistency_model.hpp).
void PersistencyModel::store_segment() {
  const Operation& operation = order_.operation();
  const std::uint64_t address = operation.address + done_;
  const std::uint64_t size =
      std::min<std::uint64_t>(operation.size - done_, kSegmentBytes - address % kSegmentBytes);
  if (in_pm()) {
    if (copy_ == 0 || copy_ != visible_copy_) guarantee_visible();
    Segment segment{.value = 0,
                    .order = newest_order_ + 1,
                    .copy = copy_,
                    .number = order_.number(),
                    .step = steps_,
                    .site = operation.site,
                    .thread = order_.thread(),
                    .offset = static_cast<std::uint8_t>(address % kLineBytes),
                    .size = static_cast<std::uint8_t>(size),
                    .non_temporal = operation.kind == SiteKind::kNonTemporal &&
                                    !failure_.survives(order_.thread()),
                    .guaranteed = false};
    std::memcpy(&segment.value, operation.value + done_, size);
    add(Line::of(address), segment);
  }
  done_ += size;
}

// True if the segment can persist without the previous contents of the line.
bool PersistencyModel::may_persist_alone(Line line, const Segment& segment) const {
  const auto found = open_.find(line.number);
  if (found == open_.end()) return false;
  return segment.non_temporal || std::ranges::any_of(found->second, &Segment::non_temporal);
}

void PersistencyModel::add(Line line, const Segment& segment) {
  const LineData before = newest_.read(line);
  const bool changes =
      std::memcmp(before.data() + segment.offset, &segment.value, segment.size) != 0;
  if (!changes && !may_persist_alone(line, segment)) return;
  newest_.write(line.address() + segment.offset, reinterpret_cast<const std::byte*>(&segment.value),
                segment.size);
  open_[line.number].push_back(segment);
  newest_order_ = segment.order;
  if (segment.non_temporal) {
    threads_[segment.thread].non_temporal.push_back(line.number);
  } else if (rules_ == PersistencyRules::kEadr || failure_.survives(segment.thread)) {
    visible_lines_.push_back(line.number);
    visible_copy_ = segment.copy;
  }
}

PersistencyModel::Position PersistencyModel::flushed_at(Line line, const Segment& segment) const {
  for (const Thread& thread : threads_) {
    const auto flush = thread.flushed.find(line.number);
    if (flush != thread.flushed.end() && segment.order <= flush->second.order) {
      return flush->second.position;
    }
  }
  return {};
}

void PersistencyModel::flush() {
  if (rules_ == PersistencyRules::kEadr) return;
  const Operation& operation = order_.operation();
  const std::uint64_t line = Line::of(operation.address).number;
  if (!open_.contains(line)) return;
  if (operation.detail == static_cast<std::uint8_t>(trace::FlushKind::kClflush)) {
    guarantee(line, newest_order_);
  } else {
    threads_[order_.thread()].flushed[line] = {newest_order_, position()};
  }
}

void PersistencyModel::fence() {
  Thread& thread = threads_[order_.thread()];
  for (const auto& [line, flush] : thread.flushed) guarantee(line, flush.order);
  thread.flushed.clear();
  for (const std::uint64_t number : thread.non_temporal) {
    const auto line = open_.find(number);
    if (line == open_.end()) continue;  // The line is listed twice
    for (Segment& segment : line->second) {
      if (!segment.guaranteed && segment.non_temporal && segment.thread == order_.thread())
        note_guaranteed(segment);
    }
    merge_guaranteed(line);
  }
  thread.non_temporal.clear();
}

// Guarantees the line's prefix up to this segment.
void PersistencyModel::guarantee(std::uint64_t number, std::uint64_t order) {
  const auto line = open_.find(number);
  if (line == open_.end()) return;
  for (Segment& segment : line->second) {
    if (is_open_store(segment, order)) note_guaranteed(segment);
  }
  merge_guaranteed(line);
}

void PersistencyModel::note_guaranteed(Segment& segment) {
  segment.guaranteed = true;
  newest_guaranteed_step_ = std::max(newest_guaranteed_step_, segment.step);
  newly_guaranteed_.push_back({segment.order, steps_});
}

void PersistencyModel::guarantee_visible() {
  for (const std::uint64_t line : visible_lines_) guarantee(line, newest_order_);
  visible_lines_.clear();
}

// Moves guaranteed segments to the base. A guaranteed segment after an open segment moves as soon
// as the open segment is guaranteed.
void PersistencyModel::merge_guaranteed(std::map<std::uint64_t, Segments>::iterator line) {
  Segments& segments = line->second;
  const auto first = std::ranges::find(segments, false, &Segment::guaranteed);
  if (first == segments.begin()) return;
  const Line number{line->first};
  for (auto segment = segments.begin(); segment != first; ++segment) {
    base_.write(number.address() + segment->offset,
                reinterpret_cast<const std::byte*>(&segment->value), segment->size);
  }
  base_changes_.push_back(number);
  segments.erase(segments.begin(), first);
  if (segments.empty()) open_.erase(line);
}

}  // namespace pmemsim
