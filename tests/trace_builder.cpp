#include "trace_builder.hpp"

#include <fmt/format.h>

#include <span>

#include "pmemsim/trace/writer.hpp"

namespace pmemsim::trace {

namespace {

void put_bytes(std::vector<std::byte>& to, const void* bytes, std::size_t count) {
  const auto* from = static_cast<const std::byte*>(bytes);
  to.insert(to.end(), from, from + count);
}

void write_split(Writer& writer, FrameKind kind, std::span<const std::byte> raw, std::size_t part) {
  for (; !raw.empty(); raw = raw.subspan(std::min(part, raw.size()))) {
    writer.frame(kind, 0, raw.first(std::min(part, raw.size())), 0);
  }
}

}  // namespace

TraceBuilder::TraceBuilder() {
  for (std::uint32_t site = 0; site < kBuiltinSites; ++site) sites_.push_back(builtin_site(site));
  strings_.push_back('\0');
}

std::uint32_t TraceBuilder::site(SiteKind kind, std::uint8_t size, std::uint32_t instructions,
                                 std::vector<std::uint32_t> address_dependences,
                                 std::vector<std::uint32_t> data_dependences, std::uint8_t detail,
                                 std::uint8_t flags, Source source) {
  SiteRecord record{};
  record.kind = static_cast<std::uint8_t>(kind);
  record.detail = detail;
  record.size = size;
  record.flags = flags;
  record.instructions = instructions;
  record.file = string(source.file);
  record.function = string(source.function);
  record.line = source.line;
  record.first_dependence = static_cast<std::uint32_t>(dependences_.size());
  record.address_dependences = static_cast<std::uint16_t>(address_dependences.size());
  record.data_dependences = static_cast<std::uint16_t>(data_dependences.size());
  for (const auto& list : {address_dependences, data_dependences}) {
    dependences_.insert(dependences_.end(), list.begin(), list.end());
  }
  sites_.push_back(record);
  return static_cast<std::uint32_t>(sites_.size() - 1);
}

std::uint32_t TraceBuilder::inlined_call(Source source, std::uint32_t outer) {
  inlined_calls_.push_back({.file = string(source.file),
                            .function = string(source.function),
                            .line = source.line,
                            .outer = outer});
  return static_cast<std::uint32_t>(inlined_calls_.size());
}

void TraceBuilder::image_page(std::uint64_t address, std::byte fill) {
  put_bytes(image_, &address, sizeof(address));
  image_.insert(image_.end(), kImagePageBytes, fill);
}

void TraceBuilder::image_page(std::uint64_t address, std::span<const std::byte> page) {
  put_bytes(image_, &address, sizeof(address));
  image_.insert(image_.end(), page.begin(), page.end());
}

void TraceBuilder::warm(std::uint64_t line, std::uint32_t thread) {
  const WarmLine record{line, thread, 0};
  put_bytes(warm_, &record, sizeof(record));
}

void TraceBuilder::pm_region(std::uint64_t begin, std::uint64_t end, std::string_view source) {
  regions_ += fmt::format(R"({}{{"begin": {}, "end": {}, "source": "{}"}})",
                          regions_.empty() ? "" : ", ", begin, end, source);
}

std::string TraceBuilder::default_metadata() const {
  const std::string libraries =
      library_.empty() ? "" : fmt::format(R"("libraries": ["{}"], )", library_);
  return fmt::format(R"({{"format": {}, "program": "test", "workload": "unit", "seed": 7, )"
                     R"("threads": {}, "sync_objects": {}, {}"pm_regions": [{}]}})",
                     kVersion, open_.size(), sync_objects_, libraries, regions_);
}

std::vector<std::byte> TraceBuilder::site_table() const {
  std::vector<std::byte> table;
  const SiteTableHeader header{static_cast<std::uint32_t>(sites_.size()),
                               static_cast<std::uint32_t>(dependences_.size()),
                               static_cast<std::uint32_t>(strings_.size()),
                               static_cast<std::uint32_t>(inlined_calls_.size())};
  put_bytes(table, &header, sizeof(header));
  put_bytes(table, sites_.data(), sites_.size() * sizeof(SiteRecord));
  put_bytes(table, dependences_.data(), dependences_.size() * sizeof(std::uint32_t));
  if (!inlined_calls_.empty()) {
    std::vector<std::uint32_t> innermost(sites_.size());
    for (const auto& [site, call] : innermost_calls_) innermost[site] = call;
    put_bytes(table, innermost.data(), innermost.size() * sizeof(std::uint32_t));
    put_bytes(table, inlined_calls_.data(), inlined_calls_.size() * sizeof(InlinedCall));
  }
  put_bytes(table, strings_.data(), strings_.size());
  return table;
}

void TraceBuilder::write(const std::string& path) {
  for (auto& [thread, open] : open_) flush(thread);
  const std::string metadata = metadata_.empty() ? default_metadata() : metadata_;
  Writer writer(path);
  writer.frame(FrameKind::kMetadata, 0, std::as_bytes(std::span(metadata)), 0);
  write_split(writer, FrameKind::kSites, site_table(), kMaxFrameBytes);
  write_split(writer, FrameKind::kImage, image_, 16 * (8 + kImagePageBytes));
  write_split(writer, FrameKind::kWarm, warm_, 1024 * sizeof(WarmLine));
  for (const Frame& frame : frames_) {
    writer.frame(FrameKind::kOperations, frame.thread, frame.raw, frame.operations);
  }
  for (const auto& [thread, turns] : turns_) {
    writer.frame(FrameKind::kTurns, thread, std::as_bytes(std::span(turns)), 0);
  }
  if (!races_.empty()) {
    std::vector<std::byte> table;
    const RacesHeader header{races_.size()};
    put_bytes(table, &header, sizeof(header));
    put_bytes(table, races_.data(), races_.size() * sizeof(RaceRecord));
    for (std::span<const std::byte> left(table); !left.empty();) {
      const auto part = left.first(std::min<std::size_t>(left.size(), kMaxFrameBytes));
      writer.frame(FrameKind::kRaces, 0, part, 0);
      left = left.subspan(part.size());
    }
  }
  writer.finish();
}

std::uint32_t TraceBuilder::string(std::string_view text) {
  const auto [found, added] =
      string_numbers_.try_emplace(std::string(text), static_cast<std::uint32_t>(strings_.size()));
  if (added) strings_ += std::string(text) + '\0';
  return found->second;
}

TraceBuilder& TraceBuilder::begin(std::uint32_t site, bool flag) {
  Frame& frame = open_[thread_];
  frame.thread = thread_;
  if (frame.raw.size() + kMaxRecordBytes > kMaxFrameBytes) flush(thread_);
  ++open_[thread_].operations;
  ++operations_[thread_];
  return put((site << 1) | (flag ? 1u : 0u));
}

void TraceBuilder::value(std::uint64_t value, std::size_t size) {
  for (std::size_t done = 0; done < size; done += sizeof(value)) {
    put_bytes(open_[thread_].raw, &value, std::min(sizeof(value), size - done));
  }
}

void TraceBuilder::flush(std::uint32_t thread) {
  Frame& frame = open_[thread];
  if (frame.operations > 0) frames_.push_back(frame);
  frame = Frame{thread, {}, 0};
}

void TraceBuilder::append(const void* bytes, std::size_t count) {
  put_bytes(open_[thread_].raw, bytes, count);
}

}  // namespace pmemsim::trace
