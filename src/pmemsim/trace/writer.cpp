#include "pmemsim/trace/writer.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <zstd.h>

#include "pmemsim/common/error.hpp"
#include "pmemsim/trace/reader.hpp"

namespace pmemsim::trace {
namespace {

void check(int error, const std::string& path, const char* what) {
  if (error != 0) {
    throw Error(fmt::format("{}: can't {} the trace: {}", path, what, std::strerror(error)));
  }
}

}  // namespace

Writer::Writer(std::string path) : path_(std::move(path)) {
  check(file_.create(path_.c_str()), path_, "create");
  // This is the last step, because the destructor doesn't run if the constructor throws.
  context_ = ZSTD_createCCtx();
}

Writer::~Writer() { ZSTD_freeCCtx(static_cast<ZSTD_CCtx*>(context_)); }

void Writer::frame(FrameKind kind, std::uint32_t thread, std::span<const std::byte> raw,
                   std::uint64_t operations) {
  if (raw.empty() || raw.size() > kMaxFrameBytes) {
    throw Error(
        fmt::format("{}: a frame holds 1 to {} bytes, not {}", path_, kMaxFrameBytes, raw.size()));
  }
  // The buffer grows only as needed: a short trace is written faster than 1 MiB is filled.
  compressed_.resize(std::max(compressed_.size(), stored_bound(raw.size())));
  FrameHeader header{};
  header.kind = static_cast<std::uint8_t>(kind);
  header.thread = thread;
  header.operations = operations;
  if (!compress_frame(context_, raw.data(), raw.size(), compressed_.data(), compressed_.size(),
                      header)) {
    throw Error(fmt::format("{}: zstd can't compress a frame", path_));
  }
  check(file_.append(header, compressed_.data()), path_, "write");
}

void Writer::frame(const FrameHeader& header, std::span<const std::byte> stored) {
  check(file_.append(header, stored.data()), path_, "write");
}

void Writer::copy(const TraceFile& from, FrameKind but) {
  std::vector<std::byte> stored;
  for (const FrameEntry& entry : from.frames()) {
    if (is(entry.header, but)) continue;
    from.read_stored(entry, stored);
    frame(entry.header, stored);
  }
}

void Writer::finish() { check(file_.finish(), path_, "finish"); }

void Writer::abandon() noexcept { file_.abandon(); }

}  // namespace pmemsim::trace
