#include "pmemsim/machine/run/host_memory.hpp"

#include <unistd.h>

#include <fmt/format.h>

#include "pmemsim/common/error.hpp"
#include "pmemsim/common/image.hpp"
#include "pmemsim/trace/initial_state.hpp"

namespace pmemsim {

std::uint64_t installed_memory() {
  return static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

namespace {

std::uint64_t initial_bytes(const trace::TraceFile& trace) {
  return trace::image_pages(trace) * Image::kPageCost;
}

}  // namespace

std::uint64_t copies_that_fit(const trace::TraceFile& trace, std::uint64_t available) {
  const std::uint64_t bytes = initial_bytes(trace);
  return bytes == 0 ? UINT64_MAX : available / bytes;
}

void check_host_memory(const trace::TraceFile& trace, std::uint64_t copies,
                       std::uint64_t available) {
  constexpr double kMebibyte = 1 << 20;
  if (copies <= copies_that_fit(trace, available)) return;
  const std::uint64_t bytes = initial_bytes(trace);
  throw Error(
      fmt::format("{}: its persistent memory has {:.1f} MiB at the start, and {} copies exceed the "
                  "{:.1f} MiB of this "
                  "computer; record with a smaller pool, run fewer instances, or use a computer "
                  "with more memory",
                  trace.path(), static_cast<double>(bytes) / kMebibyte, copies,
                  static_cast<double>(available) / kMebibyte));
}

}  // namespace pmemsim
