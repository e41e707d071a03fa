// Fuzz target: for any bytes, reading a trace ends without an error or with a TraceError, in little
// memory. The same holds for the check of its program, and for the preparations of a run and a
// crash.
//
// The first byte of the input chooses what the other bytes are:
//
//   - a whole file
//   - the contents of frames, which are written with correct checksums, since a fuzzer would never
//     find these
//   - edits of a valid trace (edited_trace.hpp)
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>

#include <unistd.h>

#include "edited_trace.hpp"
#include "pmemsim/analysis/summary.hpp"
#include "pmemsim/analysis/verify.hpp"
#include "pmemsim/checks/rules/program_check.hpp"
#include "pmemsim/crash/advancing_history.hpp"
#include "pmemsim/crash/program_history.hpp"
#include "pmemsim/machine/run/machine.hpp"
#include "pmemsim/trace/dump.hpp"

namespace {

using namespace pmemsim::trace;

const std::string& path() {
  static const std::string path = [] {
    // The file is in memory, where there is such a folder.
    const std::filesystem::path memory = "/dev/shm";
    const std::string folder = std::filesystem::exists(memory)
                                   ? memory.string()
                                   : std::filesystem::temp_directory_path().string();
    return folder + "/pmemsim_trace_fuzz_" + std::to_string(getpid()) + ".pmt";
  }();
  return path;
}

// The input as frames: kind, thread, operations, length (two bytes), contents.
void write_frames(std::span<const std::byte> input) {
  Writer writer(path());
  while (input.size() > 5) {
    const auto byte = [&](std::size_t i) { return std::to_integer<unsigned>(input[i]); };
    const auto kind = static_cast<FrameKind>(byte(0));
    const unsigned thread = byte(1), operations = byte(2);
    const std::size_t length = std::min<std::size_t>(byte(3) | byte(4) << 8, input.size() - 5);
    input = input.subspan(5);
    if (length > 0) writer.frame(kind, thread, input.first(length), operations);
    input = input.subspan(length);
  }
  writer.finish();
}

void write_edited(std::span<const std::byte> input) {
  static const EditedTrace kValid(valid_frames(path()));
  EditedTrace trace = kValid;
  trace.edit(input);
  trace.write(path());
}

void read(const TraceFile& file) {
  summarize(file);
  verify(file);
  Operation operation;
  for (std::uint32_t thread = 0; thread < file.metadata().threads; ++thread) {
    OperationStream stream(file, thread);
    while (stream.next(operation)) to_text(operation, file.sites());
    stream.seek(file.operations(thread) / 2);
  }
}

// Prepares a run and a crash of the trace, up to the first simulated operation.
void prepare(const TraceFile& file) {
  using pmemsim::Setting;
  static const pmemsim::Configuration kConfiguration =
      pmemsim::configure(std::vector<Setting>{{"ordering", "x86", "fuzz"},
                                              {"atomicity", "asap", "fuzz"},
                                              {"core.count", "4", "fuzz"},
                                              {"l1.size", "256B", "fuzz"},
                                              {"l1.ways", "2", "fuzz"},
                                              {"l2.size", "0B", "fuzz"},
                                              {"shared.size", "1KiB", "fuzz"},
                                              {"shared.size_per_core", "0B", "fuzz"},
                                              {"shared.ways", "2", "fuzz"}});
  const pmemsim::Machine machine(kConfiguration, file);
  const pmemsim::Design& design = machine.design();
  const pmemsim::ProgramHistory::Guarantees guarantees{
      .promises = design.promises(), .lines_whole = true, .lines_readable = false};
  const pmemsim::ProgramHistory history(file, design.lowering(), guarantees);
  pmemsim::AdvancingHistory advancing(file, design.lowering(), guarantees, pmemsim::Versions::kAll);
  advancing.keep_all();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::span<const std::byte> input(reinterpret_cast<const std::byte*>(data) + 1, size - 1);
  if (data[0] % 3 == 0) {
    std::ofstream file(path(), std::ios::binary | std::ios::trunc);
    file.write(reinterpret_cast<const char*>(input.data()),
               static_cast<std::streamsize>(input.size()));
  } else if (data[0] % 3 == 1) {
    write_frames(input);
  } else {
    write_edited(input);
  }
  try {
    const TraceFile file(path());
    read(file);
    pmemsim::check::check_program(file, {}, [](double) { return true; });
    prepare(file);
  } catch (const TraceError&) {
  } catch (const pmemsim::ConfigError&) {  // more threads than cores, say
  }
  return 0;
}
