// Writes small valid inputs of trace_fuzz into the folder named by its argument: without them the
// fuzzer would have to guess a site table.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "../unit/trace_builder.hpp"
#include "pmemsim/trace/reader.hpp"

int main(int argument_count, char** arguments) {
  using namespace pmemsim::trace;
  if (argument_count != 2) return 2;
  const std::string folder = arguments[1];
  std::filesystem::create_directories(folder);

  TraceBuilder builder;
  const auto load = builder.site(SiteKind::kLoad, 8);
  const auto store = builder.site(SiteKind::kStore, 8, 2, {load << 8 | 1});
  const auto copy = builder.site(SiteKind::kCopyStore);
  const auto update = builder.site(SiteKind::kAtomicUpdate, 8);
  builder.mark(MarkKind::kRegionBegin, 1);
  builder.access(load, 0x1000);
  builder.store(store, 0x1008, 5);
  builder.copy(copy, 0x1010, 5, 6);
  builder.atomic(update, 0x1018, 0, 1, 7, true);
  builder.mark(MarkKind::kRegionEnd, 1);
  builder.sync(SyncKind::kBarrierArrive, 0x1020, 1, 1);
  builder.sync(SyncKind::kBarrierWait, 0x1020, 1, 2);
  builder.thread(1).atomic(update, 0x1018, 0, 2, 8, true);
  builder.sync(SyncKind::kBarrierArrive, 0x1020, 1, 2);
  builder.sync(SyncKind::kBarrierWait, 0x1020, 1, 2);
  builder.pm_region(0x1000, 0x2000);
  const std::string path = folder + "/valid.pmt";
  builder.write(path);

  // As a file, and as frames (see trace_fuzz.cpp).
  std::ifstream original(path, std::ios::binary);
  std::ofstream(folder + "/file", std::ios::binary) << '\0' << original.rdbuf();
  std::ofstream frames(folder + "/frames", std::ios::binary);
  frames << '\1';
  const TraceFile file(path);
  std::vector<std::byte> raw;
  for (const FrameEntry& entry : file.frames()) {
    file.read_frame(entry, raw);
    frames << static_cast<char>(entry.header.kind) << static_cast<char>(entry.header.thread)
           << static_cast<char>(entry.header.operations) << static_cast<char>(raw.size() & 0xff)
           << static_cast<char>(raw.size() >> 8);
    frames.write(reinterpret_cast<const char*>(raw.data()),
                 static_cast<std::streamsize>(raw.size()));
  }
  std::filesystem::remove(path);
  return 0;
}
