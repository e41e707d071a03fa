#include "pmemsim/trace/initial_state.hpp"

#include <cstring>
#include <vector>

namespace pmemsim::trace {
namespace {

constexpr std::size_t kImageRecordBytes = sizeof(std::uint64_t) + kImagePageBytes;

// Calls visit(frame, record) for each record of `bytes` bytes in the frames of one kind.
template <class Visit>
void for_each_record(const TraceFile& file, FrameKind kind, std::size_t bytes, Visit visit) {
  std::vector<std::byte> raw;
  for (const FrameEntry& frame : file.frames()) {
    if (frame.header.kind != static_cast<std::uint8_t>(kind)) continue;
    file.read_frame(frame, raw);
    for (std::size_t at = 0; at < raw.size(); at += bytes) visit(frame, raw.data() + at);
  }
}

}  // namespace

void for_each_image_page(
    const TraceFile& file,
    const std::function<void(std::uint64_t, std::span<const std::byte>)>& visit) {
  for_each_record(file, FrameKind::kImage, kImageRecordBytes,
                  [&](const FrameEntry& frame, const std::byte* record) {
                    const auto address = detail::load<std::uint64_t>(record);
                    if (address % kImagePageBytes != 0 || address > kMaxAddress) {
                      file.fail(frame.offset, "a page of the image has an invalid address");
                    }
                    visit(address, {record + sizeof(address), kImagePageBytes});
                  });
}

std::uint64_t image_pages(const TraceFile& file) {
  std::uint64_t pages = 0;
  for (const FrameEntry& frame : file.frames()) {
    if (!is(frame.header, FrameKind::kImage)) continue;
    pages += frame.header.raw_bytes / kImageRecordBytes;
  }
  return pages;
}

void for_each_warm_line(const TraceFile& file, const std::function<void(const WarmLine&)>& visit) {
  for_each_record(file, FrameKind::kWarm, sizeof(WarmLine),
                  [&](const FrameEntry& frame, const std::byte* record) {
                    WarmLine line;
                    std::memcpy(&line, record, sizeof(line));
                    if ((line.line & (kLineBytes - 1) & ~std::uint64_t{1}) != 0 ||
                        line.line > kMaxAddress || line.thread >= file.metadata().threads ||
                        line.reserved != 0) {
                      file.fail(frame.offset,
                                "a line accessed before the trace has an invalid "
                                "address");
                    }
                    visit(line);
                  });
}

}  // namespace pmemsim::trace
