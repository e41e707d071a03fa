// One thread's operations as a design's program has them: one recording serves every design, and
// lowering (designs/interface/lowering.hpp) says what each keeps of it. Whoever goes through a
// program for a design, the core and the oracle, goes through this, so that both see the same
// program.
//
// What counts even in code that the design's program would not contain: marks and synchronisation,
// and atomics, since other threads wait for the versions they make.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "pmemsim/designs/interface/lowering.hpp"
#include "pmemsim/trace/reader.hpp"

namespace pmemsim {

// Where a copy of the recording lives (several independent copies may run side by side): added to
// every address and to every synchronisation object's number.
struct ProgramCopy {
  std::uint64_t address_offset = 0;
  std::uint32_t object_offset = 0;
};

class LoweredStream {
 public:
  // Beside the beginnings and ends of outermost regions, which all want to see.
  struct WantedMarks {
    bool region_fences = false;
    bool hints = false;
    bool allocations = false;
    bool read_first = false;
  };

  LoweredStream(const trace::TraceFile& file, std::uint32_t thread, const Lowering& lowering,
                const WantedMarks& wanted, const ProgramCopy& copy = {})
      : stream_(file, thread), lowering_(lowering), wanted_(wanted), copy_(copy) {}

  // The next operation that is kept; false at the end. Throws trace::TraceError.
  bool next(trace::Operation& operation) {
    do {
      if (state_.kept_in_part) stream_.skip_to(dropping() ? kSeenInDroppedCode : kSeenAmongFlushes);
      if (!stream_.next(operation)) return false;
      if (state_.kept_in_part && !dropping()) {
        operation.instructions = std::min(operation.instructions, 1u);
      }
    } while (!keep(operation));
    return true;
  }

  // Instructions around flushes and fences that aren't kept, which stay; since the last call.
  std::uint32_t take_left_over() { return std::exchange(left_over_, 0); }
  // What the code around the last operation is for.
  trace::Purpose purpose() const { return state_.purpose; }
  // If the last operation was a fence: what the program means by it.
  trace::FenceMeaning fence_meaning() const { return meaning_; }
  // If it was a hint: the data that it announces.
  std::span<const std::byte> hint_data() const { return state_.hint_data; }
  // ... and which one of the thread's, from 0.
  std::uint32_t hint_number() const { return state_.hints - 1; }

  // Operations read so far, those included that are not kept.
  std::uint64_t position() const { return stream_.position(); }

  // What is known at a place in the program of the code that follows.
  struct State {
    trace::Purpose purpose = trace::Purpose::kProgram;
    bool kept_in_part = false;  // not all of the code for this purpose counts
    trace::FenceMeaning next_meaning = trace::FenceMeaning::kBare;
    bool hint_given = false;  // its data are over with the next mark
    std::uint32_t hints = 0;  // so far
    std::vector<std::byte> hint_data{};
  };
  struct Place {
    std::uint64_t position;
    State state;
  };
  // Just before the last operation, which must be a region's begin.
  Place before_region() const { return {position() - 1, state_}; }
  void go_to(const Place& place) {
    state_ = place.state;
    left_over_ = 0;
    stream_.seek(place.position);
  }

 private:
  static constexpr trace::KindSet kSeenInDroppedCode{
      trace::SiteKind::kMark,        trace::SiteKind::kSync,         trace::SiteKind::kAtomicLoad,
      trace::SiteKind::kAtomicStore, trace::SiteKind::kAtomicUpdate, trace::SiteKind::kFence};
  // The same where the flushes stay.
  static constexpr trace::KindSet kSeenAmongFlushes =
      kSeenInDroppedCode | trace::KindSet{trace::SiteKind::kFlush};

  std::size_t purpose_index() const { return static_cast<std::size_t>(state_.purpose); }
  // Is what follows code that the design's program would not contain?
  bool dropping() const { return !lowering_.keeps[purpose_index()]; }

  // Is this operation part of the design's program? Moves what is kept to the copy.
  bool keep(trace::Operation& operation) {
    switch (operation.kind) {
      case trace::SiteKind::kMark:
        return keep_mark(operation);
      case trace::SiteKind::kSync:
        operation.address += operation.address != 0 ? copy_.address_offset : 0;
        operation.object += copy_.object_offset;
        return true;
      case trace::SiteKind::kExecute:
      case trace::SiteKind::kBranch:
      case trace::SiteKind::kExternal:
      case trace::SiteKind::kRecurrence:
        return true;
      case trace::SiteKind::kFlush:
        operation.address += copy_.address_offset;
        return lowering_.keeps_flushes[purpose_index()] || leave_out(operation);
      case trace::SiteKind::kFence:
        return keep_fence(operation);
      default:
        operation.address += copy_.address_offset;
        operation.object += copy_.object_offset;
        return true;
    }
  }

  // The mark that has announced a fence is gone with it. Full fences stay: programs need them for
  // concurrency too.
  bool keep_fence(const trace::Operation& operation) {
    const auto kind = static_cast<trace::FenceKind>(operation.detail);
    if (kind != trace::FenceKind::kLfence || dropping()) {
      meaning_ = std::exchange(state_.next_meaning, trace::FenceMeaning::kBare);
    }
    if (dropping()) return false;
    const bool kept = lowering_.keeps_fences[purpose_index()] &&
                      (meaning_ != trace::FenceMeaning::kOrder ||
                       lowering_.keeps_ordering_fences[purpose_index()]);
    return kind != trace::FenceKind::kSfence || kept || leave_out(operation);
  }

  bool leave_out(const trace::Operation& operation) {
    left_over_ += operation.instructions - 1;
    return false;
  }

  bool keep_mark(trace::Operation& operation);

  trace::OperationStream stream_;
  const Lowering lowering_;
  const WantedMarks wanted_;
  const ProgramCopy copy_;
  State state_;
  trace::FenceMeaning meaning_ = trace::FenceMeaning::kBare;
  std::uint32_t left_over_ = 0;
};

}  // namespace pmemsim
