// Builds small traces for tests: sites and operations by hand, written with trace::Writer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "pmemsim/trace/layout.hpp"
#include "pmemsim/trace/writer.hpp"

namespace pmemsim::trace {

class TraceBuilder {
 public:
  struct Source {
    std::string_view file = "test.c";
    std::string_view function = "test";
    std::uint32_t line = 1;
  };

  TraceBuilder() {
    for (std::uint32_t site = 0; site < kBuiltinSites; ++site) sites_.push_back(builtin_site(site));
    strings_.push_back('\0');
  }

  // Adds a site and returns its number. Dependences are (site << 8) | cycles.
  std::uint32_t site(SiteKind kind, std::uint8_t size = 0, std::uint32_t instructions = 1,
                     std::vector<std::uint32_t> address_dependences = {},
                     std::vector<std::uint32_t> data_dependences = {}, std::uint8_t detail = 0,
                     std::uint8_t flags = 0, Source source = {"test.c", "test", 1}) {
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

  // What the following operations belong to.
  TraceBuilder& thread(std::uint32_t thread) {
    thread_ = thread;
    return *this;
  }

  // Loads and flushes.
  void access(std::uint32_t site, std::uint64_t address) { begin(site).put(address); }
  // Ordinary and non-temporal stores of `size` bytes of the site.
  void store(std::uint32_t site, std::uint64_t address, std::uint64_t value) {
    begin(site).put(address).value(value, sites_[site].size);
  }
  void atomic(std::uint32_t site, std::uint64_t address, std::uint32_t object,
              std::uint32_t version, std::uint64_t value = 0, bool wrote = false) {
    begin(site, wrote).put(address).put(object).put(version);
    if (layout_of(sites_[site].kind).value != 0) this->value(value, sites_[site].size);
    note_object(object);
  }
  void copy(std::uint32_t site, std::uint64_t address, std::uint8_t bytes,
            std::uint64_t value = 0) {
    begin(site).put(address).put(bytes);
    if (layout_of(sites_[site].kind).value != 0) this->value(value, bytes);
  }
  void branch(std::uint32_t site, bool taken) { begin(site, taken); }
  // kExecute and fences.
  void plain(std::uint32_t site) { begin(site); }
  void external(std::uint32_t instructions) { begin(kExternalSite).put(instructions); }
  void mark(MarkKind kind, std::uint64_t first = 0, std::uint64_t second = 0) {
    begin(mark_site(kind)).put(first).put(second);
  }
  void sync(SyncKind kind, std::uint64_t address, std::uint32_t object, std::uint32_t version) {
    begin(sync_site(kind)).put(address).put(object).put(version);
    note_object(object);
  }

  // Ends the current frame of the current thread; the next operation begins another.
  void cut() { flush(thread_); }
  // Another builder's operations instead of one's own, but not its sites.
  void take_operations(const TraceBuilder& other) {
    open_ = other.open_;
    frames_ = other.frames_;
  }
  void image_page(std::uint64_t address, std::byte fill) {
    put_bytes(image_, &address, sizeof(address));
    image_.insert(image_.end(), kImagePageBytes, fill);
  }
  void warm(std::uint64_t line, std::uint32_t thread) {
    const WarmLine record{line, thread, 0};
    put_bytes(warm_, &record, sizeof(record));
  }
  void pm_region(std::uint64_t begin, std::uint64_t end) {
    regions_ += fmt::format(R"({}{{"begin": {}, "end": {}, "source": "test"}})",
                            regions_.empty() ? "" : ", ", begin, end);
  }
  // Instead of the metadata that the builder makes.
  void metadata(std::string json) { metadata_ = std::move(json); }

  std::string default_metadata() const {
    return fmt::format(R"({{"format": {}, "program": "test", "workload": "unit", "seed": 7, )"
                       R"("threads": {}, "sync_objects": {}, "pm_regions": [{}]}})",
                       kVersion, open_.size(), sync_objects_, regions_);
  }
  std::vector<std::byte> site_table() const {
    std::vector<std::byte> table;
    const SiteTableHeader header{static_cast<std::uint32_t>(sites_.size()),
                                 static_cast<std::uint32_t>(dependences_.size()),
                                 static_cast<std::uint32_t>(strings_.size()), 0};
    put_bytes(table, &header, sizeof(header));
    put_bytes(table, sites_.data(), sites_.size() * sizeof(SiteRecord));
    put_bytes(table, dependences_.data(), dependences_.size() * sizeof(std::uint32_t));
    put_bytes(table, strings_.data(), strings_.size());
    return table;
  }

  void write(const std::string& path) {
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
    writer.finish();
  }

 private:
  struct Frame {
    std::uint32_t thread = 0;
    std::vector<std::byte> raw;
    std::uint64_t operations = 0;
  };

  static void put_bytes(std::vector<std::byte>& to, const void* bytes, std::size_t count) {
    const auto* from = static_cast<const std::byte*>(bytes);
    to.insert(to.end(), from, from + count);
  }
  static void write_split(Writer& writer, FrameKind kind, std::span<const std::byte> raw,
                          std::size_t part) {
    for (; !raw.empty(); raw = raw.subspan(std::min(part, raw.size()))) {
      writer.frame(kind, 0, raw.first(std::min(part, raw.size())), 0);
    }
  }

  std::uint32_t string(std::string_view text) {
    const auto [found, added] =
        string_numbers_.try_emplace(std::string(text), static_cast<std::uint32_t>(strings_.size()));
    if (added) strings_ += std::string(text) + '\0';
    return found->second;
  }
  TraceBuilder& begin(std::uint32_t site, bool flag = false) {
    Frame& frame = open_[thread_];
    frame.thread = thread_;
    if (frame.raw.size() + kMaxRecordBytes > kMaxFrameBytes) flush(thread_);
    ++open_[thread_].operations;
    return put((site << 1) | (flag ? 1u : 0u));
  }
  template <class Value>
  TraceBuilder& put(Value value) {
    put_bytes(open_[thread_].raw, &value, sizeof(value));
    return *this;
  }
  // The value's bytes, repeated where the access is wider.
  void value(std::uint64_t value, std::size_t size) {
    for (std::size_t done = 0; done < size; done += sizeof(value)) {
      put_bytes(open_[thread_].raw, &value, std::min(sizeof(value), size - done));
    }
  }
  void note_object(std::uint32_t object) { sync_objects_ = std::max(sync_objects_, object + 1); }
  void flush(std::uint32_t thread) {
    Frame& frame = open_[thread];
    if (frame.operations > 0) frames_.push_back(frame);
    frame = Frame{thread, {}, 0};
  }

  std::vector<SiteRecord> sites_;
  std::vector<std::uint32_t> dependences_;
  std::string strings_;
  std::map<std::string, std::uint32_t> string_numbers_;
  std::uint32_t thread_ = 0;
  std::map<std::uint32_t, Frame> open_;
  std::vector<Frame> frames_;
  std::vector<std::byte> image_, warm_;
  std::string regions_, metadata_;
  std::uint32_t sync_objects_ = 0;
};

}  // namespace pmemsim::trace
