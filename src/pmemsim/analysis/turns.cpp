#include "pmemsim/analysis/turns.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace pmemsim::trace {

bool TurnStream::next_frame() {
  const auto frames = file_->frames();
  for (; next_frame_ < frames.size(); ++next_frame_) {
    const FrameEntry& entry = frames[next_frame_];
    if (!is(entry.header, FrameKind::kTurns) || entry.header.thread != thread_) continue;
    file_->read_frame(entry, raw_);
    used_ = 0;
    ++next_frame_;
    return true;
  }
  return false;
}

bool TurnStream::next(Turn& turn) {
  if (used_ == raw_.size() && !next_frame()) return false;
  std::memcpy(&turn, raw_.data() + used_, sizeof(turn));
  used_ += sizeof(turn);
  const bool behind = (!any_ || turn.number > last_.number) && turn.end > last_.end;
  if (!behind || turn.end > operations_) {
    file_->fail(
        file_->frames()[next_frame_ - 1].offset,
        fmt::format("thread {}: turn {}, up to operation {} of {}, doesn't follow turn {}, up to "
                    "operation {}",
                    thread_, turn.number, turn.end, operations_, last_.number, last_.end));
  }
  last_ = turn;
  any_ = true;
  return true;
}

Turns::Turns(const TraceFile& file) : file_(&file) {
  const auto holds_turns = [](const FrameEntry& frame) {
    return is(frame.header, FrameKind::kTurns);
  };
  if (std::ranges::none_of(file.frames(), holds_turns)) return;
  for (std::uint32_t thread = 0; thread < file.metadata().threads; ++thread) {
    threads_.push_back({.stream = TurnStream(file, thread)});
  }
}

const Turn& Turns::turn_of(std::uint32_t thread, std::uint64_t number) {
  Thread& its = threads_[thread];
  while (its.turn.end <= number) {
    if (its.stream.next(its.turn)) continue;
    throw TraceError(
        fmt::format("{}: thread {}, operation {}: the operation is in none of the thread's turns; "
                    "record it again",
                    file_->path(), thread, number));
  }
  return its.turn;
}

void Turns::fail_same(std::uint32_t thread, const Next& other) const {
  throw TraceError(
      fmt::format("{}: threads {} and {} have the same turn, number {}; record it again",
                  file_->path(), other.thread, thread, other.turn.number));
}

}  // namespace pmemsim::trace
