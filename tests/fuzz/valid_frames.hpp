// A small valid trace, frame by frame: what fuzzing begins with, since no fuzzer guesses a site
// table.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "pmemsim/trace/reader.hpp"
#include "trace_builder.hpp"

namespace pmemsim::trace {

struct Frame {
  FrameKind kind;
  std::uint32_t thread;
  std::uint64_t operations;
  std::vector<std::byte> raw;
};

inline TraceBuilder valid_trace() {
  TraceBuilder builder;
  const auto load = builder.site(SiteKind::kLoad, 8);
  const auto store = builder.site(SiteKind::kStore, 8, 2, {load << 8 | 1});
  const auto copy = builder.site(SiteKind::kCopyStore);
  const auto update = builder.site(SiteKind::kAtomicUpdate, 8);
  const auto recurrence = builder.site(SiteKind::kRecurrence, 0, 0, {}, {load << 8 | 4});
  const auto jump = builder.site(SiteKind::kIndirectBranch, 0, 2, {}, {load << 8 | 1});
  const auto call = builder.inlined_call({"test.c", "outer", 2});
  builder.inlined(store, builder.inlined_call({"test.c", "inner", 3}, call));
  builder.mark(MarkKind::kRegionBegin, 1);
  builder.access(load, 0x1000);
  builder.store(store, 0x1008, 5);
  builder.copy(copy, 0x1010, 5, 6);
  builder.atomic(update, 0x1018, 0, 1, 7, true);
  builder.recurrence(recurrence, true);
  builder.indirect_branch(jump, 7);
  builder.mark(MarkKind::kRegionEnd, 1);
  builder.sync(SyncKind::kBarrierArrive, 0x1020, 1, 1);
  builder.end_turn(0);
  builder.thread(1).store(store, 0x1000, 9);
  builder.atomic(update, 0x1018, 0, 2, 8, true);
  builder.sync(SyncKind::kBarrierArrive, 0x1020, 1, 2);
  builder.sync(SyncKind::kBarrierWait, 0x1020, 1, 2);
  builder.end_turn(1);
  builder.thread(0).sync(SyncKind::kBarrierWait, 0x1020, 1, 2);
  builder.end_turn(3);
  builder.race({.number = 0, .count = 2, .thread = 1, .other = 0});
  builder.pm_region(0x1000, 0x2000);
  builder.image_page(0x1000, std::byte{9});
  builder.warm(0x1000 / 64, 1);
  return builder;
}

// Written to `path`, and read from there.
inline std::vector<Frame> valid_frames(const std::string& path) {
  valid_trace().write(path);
  const TraceFile file(path);
  std::vector<Frame> frames;
  for (const FrameEntry& entry : file.frames()) {
    const FrameHeader& header = entry.header;
    frames.push_back({static_cast<FrameKind>(header.kind), header.thread, header.operations, {}});
    file.read_frame(entry, frames.back().raw);
  }
  std::filesystem::remove(path);
  return frames;
}

}  // namespace pmemsim::trace
