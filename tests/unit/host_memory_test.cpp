// Room on the host for what commands keep of a recording's persistent memory.
#include "pmemsim/machine/run/host_memory.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "crash_machine.hpp"
#include "pmemsim/common/image.hpp"
#include "pmemsim/crash/crash.hpp"
#include "pmemsim/trace/writer.hpp"
#include "run_trace.hpp"

namespace pmemsim {
namespace {

constexpr std::uint64_t kPages = 300;

trace::TraceBuilder pages() {
  trace::TraceBuilder builder;
  builder.pm_region(kPmBase, kPmBase + kPages * Image::kPageBytes);
  for (std::uint64_t i = 0; i < kPages; ++i) {
    builder.image_page(kPmBase + i * Image::kPageBytes, std::byte{1});
  }
  builder.thread(0);
  builder.branch(builder.site(trace::SiteKind::kBranch), true);
  return builder;
}

// A recording whose pages are all the same one, but many.
void write_with_image(const std::string& path, std::uint64_t bytes) {
  trace::TraceBuilder builder;
  const std::uint32_t site = builder.site(trace::SiteKind::kExecute);
  const std::uint32_t operation = site << 1;
  builder.thread(0).plain(site);
  const std::string metadata = builder.default_metadata();
  constexpr std::size_t kRecordBytes = sizeof kPmBase + Image::kPageBytes;
  std::vector<std::byte> frame(trace::kMaxFrameBytes / kRecordBytes * kRecordBytes, std::byte{1});
  for (std::size_t at = 0; at < frame.size(); at += kRecordBytes) {
    std::memcpy(frame.data() + at, &kPmBase, sizeof kPmBase);
  }
  trace::Writer writer(path);
  writer.frame(trace::FrameKind::kMetadata, 0, std::as_bytes(std::span(metadata)), 0);
  writer.frame(trace::FrameKind::kSites, 0, builder.site_table(), 0);
  for (std::uint64_t written = 0; written < bytes; written += frame.size()) {
    writer.frame(trace::FrameKind::kImage, 0, frame, 0);
  }
  writer.frame(trace::FrameKind::kOperations, 0, std::as_bytes(std::span(&operation, 1)), 1);
  writer.finish();
}

template <class Command>
void expect_refused(Command command) {
  try {
    command();
    ADD_FAILURE() << "it went on";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("6 copies exceed"), std::string::npos) << error.what();
  }
}

TEST(HostMemory, CommandLoadingTooLargeAnImageIsRefused) {
  trace::TraceBuilder builder = pages();
  const TemporaryTrace temporary(builder);
  write_with_image(temporary.path(), installed_memory() / 6);
  expect_refused([&] {
    crash(trace::TraceFile(temporary.path()), crash_configuration({{"atomicity", "hw-undo"}}), {},
          {});
  });
  expect_refused([&] {
    simulate(trace::TraceFile(temporary.path()),
             configure(settings({{"run.instances", "3"}, {"core.count", "3"}})), {});
  });
}

TEST(HostMemory, CheckCountsAllCopiesWithTheirTables) {
  trace::TraceBuilder builder = pages();
  const TemporaryTrace temporary(builder);
  const trace::TraceFile file(temporary.path());
  const std::uint64_t available = 3 * kPages * Image::kPageCost;
  EXPECT_NO_THROW(check_host_memory(file, 3, available));
  EXPECT_THROW(check_host_memory(file, 3, available - 3), Error);
  try {
    check_host_memory(file, 4, available);
    ADD_FAILURE() << "four copies take more than three";
  } catch (const Error& error) {
    EXPECT_EQ(error.what(),
              file.path() +
                  ": its persistent memory has 1.2 MiB at the start, and 4 copies exceed "
                  "the 3.6 MiB of this computer; record with a smaller pool, run "
                  "fewer instances, or use a computer with more memory");
  }
}

}  // namespace
}  // namespace pmemsim
