// One thread's operations in the version of the program that a design would run. One recording
// serves every design, and lowering (designs/interface/lowering.hpp) says which operations each
// design keeps. The core and the oracle both read programs through this class, so that both see the
// same program.
//
// Marks, synchronisation and atomics are kept even in code that the design's program would not
// contain: other threads depend on the versions that atomics make.
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

// The offsets of one copy of the recording; several independent copies may run side by side. The
// offsets are added to every address and to every synchronisation object's number.
struct ProgramCopy {
  std::uint64_t address_offset = 0;
  std::uint32_t object_offset = 0;
};

class LoweredStream {
 public:
  // The marks that a reader asks for, besides the begins and ends of outermost regions, which every
  // reader receives.
  struct WantedMarks {
    bool region_fences = false;
    bool hints = false;
    bool allocations = false;
    bool read_first = false;
  };

  LoweredStream(const trace::TraceFile& file, std::uint32_t thread, const Lowering& lowering,
                const WantedMarks& wanted, const ProgramCopy& copy = {})
      : stream_(file, thread), lowering_(lowering), wanted_(wanted), copy_(copy) {}

  // Reads the next operation that is kept; false at the end. Throws trace::TraceError.
  [[gnu::always_inline]] bool next(trace::Operation& operation) {
    do {
      if (state_.kept_in_part) skip_in_part();
      if (!stream_.next(operation)) return false;
      if (state_.kept_in_part && !dropping()) {
        operation.instructions = std::min(operation.instructions, 1u);
      }
    } while (!keep(operation));
    return true;
  }

  // Skips operations of other kinds, for a reader that ignores them. The kinds must include marks,
  // synchronisation, flushes and fences.
  void skip_to(trace::KindSet kinds) {
    if (!state_.kept_in_part) stream_.skip_to(kinds);
  }

  // Returns the next records, or none if operations of other kinds than kDecided may be dropped or
  // changed. The caller may decode these operations itself, relocate them, and continue after them
  // with passed().
  trace::OperationStream::Records records() const {
    return state_.kept_in_part ? trace::OperationStream::Records{} : stream_.records();
  }
  void passed(const std::byte* next, std::uint64_t operations) { stream_.passed(next, operations); }

  // Returns the number of instructions, since the last call, around flushes and fences that aren't
  // kept. The instructions themselves are kept.
  std::uint32_t take_left_out_instructions() { return std::exchange(left_over_, 0); }
  // Returns the purpose of the code around the last operation.
  trace::Purpose purpose() const { return state_.purpose; }
  // Returns the meaning that the program gave to the last operation, which must be a fence.
  trace::FenceMeaning fence_meaning() const { return meaning_; }
  // Returns the data that the last operation announces, which must be a hint.
  std::span<const std::byte> hint_data() const { return state_.hint_data; }
  // Returns the last hint's number among the thread's hints, from 0.
  std::uint32_t hint_number() const { return state_.hints - 1; }

  // Returns the number of operations read so far, including those that are not kept.
  std::uint64_t position() const { return stream_.position(); }

  // The state that lowering carries from one operation to the next.
  struct State {
    trace::Purpose purpose = trace::Purpose::kProgram;
    bool kept_in_part = false;  // true if only part of the code for this purpose counts
    trace::FenceMeaning next_meaning = trace::FenceMeaning::kBare;
    bool hint_given = false;  // true if the hint's data end with the next mark
    std::uint32_t hints = 0;  // number of hints so far
    std::vector<std::byte> hint_data{};
  };
  struct SavedPosition {
    std::uint64_t position;
    State state;
  };
  // Returns the position just before the last operation, which must be a region's begin.
  SavedPosition before_region() const { return {position() - 1, state_}; }
  void go_to(const SavedPosition& saved) {
    state_ = saved.state;
    left_over_ = 0;
    stream_.seek(saved.position);
  }

 private:
  static constexpr trace::KindSet kSeenInDroppedCode{
      trace::SiteKind::kMark,        trace::SiteKind::kSync,         trace::SiteKind::kAtomicLoad,
      trace::SiteKind::kAtomicStore, trace::SiteKind::kAtomicUpdate, trace::SiteKind::kFence};
  // The same kinds and flushes, for code that is kept only in part.
  static constexpr trace::KindSet kSeenAmongFlushes =
      kSeenInDroppedCode | trace::KindSet{trace::SiteKind::kFlush};

  std::size_t purpose_index() const { return static_cast<std::size_t>(state_.purpose); }
  // Kinds whose operations are not always kept, or are relocated in a way of their own.
  static constexpr trace::KindSet kDecided{trace::SiteKind::kMark, trace::SiteKind::kSync,
                                           trace::SiteKind::kFlush, trace::SiteKind::kFence};

  // True if the following code is not in the design's program.
  bool dropping() const { return !lowering_.keeps[purpose_index()]; }

  // True if this operation is part of the design's program. Relocates a kept operation to the copy.
  bool keep(trace::Operation& operation) {
    if (kDecided.contains(static_cast<std::uint8_t>(operation.kind))) return decide(operation);
    if (relocates_) relocate(operation);
    return true;
  }

  [[gnu::noinline]] bool decide(trace::Operation& operation) {
    switch (operation.kind) {
      case trace::SiteKind::kMark:
        return keep_mark(operation);
      case trace::SiteKind::kSync:
        operation.address += operation.address != 0 ? copy_.address_offset : 0;
        operation.object += copy_.object_offset;
        return true;
      case trace::SiteKind::kFlush:
        operation.address += copy_.address_offset;
        return lowering_.keeps_flushes[purpose_index()] || leave_out(operation);
      default:
        return keep_fence(operation);
    }
  }

  void relocate(trace::Operation& operation) const {
    const trace::RecordLayout& layout = trace::layout_of(static_cast<std::uint8_t>(operation.kind));
    operation.address += copy_.address_offset & layout.access;
    operation.object += copy_.object_offset & layout.object;
  }

  // Decides on a fence and consumes the mark that has announced it. Full fences stay: programs also
  // need them for concurrency.
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

  [[gnu::noinline]] void skip_in_part() {
    stream_.skip_to(dropping() ? kSeenInDroppedCode : kSeenAmongFlushes);
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
  const bool relocates_ = copy_.address_offset != 0 || copy_.object_offset != 0;
  State state_;
  trace::FenceMeaning meaning_ = trace::FenceMeaning::kBare;
  std::uint32_t left_over_ = 0;
};

}  // namespace pmemsim
