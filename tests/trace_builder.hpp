// Builds small traces for tests from sites and operations, and writes them with trace::Writer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pmemsim/trace/record_layout.hpp"

namespace pmemsim::trace {

class TraceBuilder {
 public:
  struct Source {
    std::string file = "test.c";
    std::string function = "test";
    std::uint32_t line = 1;
  };

  TraceBuilder();

  // Adds a site and returns its number. Dependences are (site << 8) | cycles.
  std::uint32_t site(SiteKind kind, std::uint8_t size = 0, std::uint32_t instructions = 1,
                     std::vector<std::uint32_t> address_dependences = {},
                     std::vector<std::uint32_t> data_dependences = {}, std::uint8_t detail = 0,
                     std::uint8_t flags = 0, Source source = {"test.c", "test", 1});

  // Adds an inlined call and returns its number. `outer` is the inlined call that contains it, or
  // 0.
  std::uint32_t inlined_call(Source source, std::uint32_t outer = 0);
  void raw_inlined_call(const InlinedCall& call) { inlined_calls_.push_back(call); }
  // Makes the site part of the call's inlined code.
  void inlined(std::uint32_t site, std::uint32_t call) { innermost_calls_[site] = call; }

  // Selects the thread of the following operations.
  TraceBuilder& thread(std::uint32_t thread) {
    thread_ = thread;
    return *this;
  }

  // Adds a load or a flush.
  void access(std::uint32_t site, std::uint64_t address) { begin(site).put(address); }
  // Adds an ordinary or non-temporal store of the site's size.
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
  void indirect_branch(std::uint32_t site, std::uint32_t target) { begin(site).put(target); }
  void recurrence(std::uint32_t site, bool goes_on) { begin(site, goes_on); }
  // Adds a fence, or instructions without memory accesses (kExecute).
  void plain(std::uint32_t site) { begin(site); }
  void external(std::uint32_t instructions, bool unknown = false) {
    begin(kExternalSite, unknown).put(instructions);
  }
  void mark(MarkKind kind, std::uint64_t first = 0, std::uint64_t second = 0) {
    begin(mark_site(kind)).put(first).put(second);
  }
  void sync(SyncKind kind, std::uint64_t address, std::uint32_t object, std::uint32_t version,
            bool annotated = false) {
    begin(sync_site(kind), annotated).put(address).put(object).put(version);
    note_object(object);
  }

  // Ends the current thread's turn after the operations added so far. A trace without turns has no
  // order of its threads' operations.
  void end_turn(std::uint64_t number) { turns_[thread_].push_back({number, operations_[thread_]}); }

  // Adds an entry to the table of races, which replaces the races of the operations.
  void race(const RaceRecord& record) { races_.push_back(record); }

  // Replaces the record of a built-in site in the table.
  void builtin(std::uint32_t number, const SiteRecord& record) { sites_[number] = record; }

  // Ends the current frame of the current thread; the next operation begins another.
  void cut() { flush(thread_); }
  // Replaces the operations by another builder's, and keeps the sites.
  void take_operations(const TraceBuilder& other) {
    open_ = other.open_;
    frames_ = other.frames_;
  }
  void image_page(std::uint64_t address, std::byte fill);
  void image_page(std::uint64_t address, std::span<const std::byte> page);
  void warm(std::uint64_t line, std::uint32_t thread);
  // Names a library that the program calls, and whose own stores are not recorded.
  void library(std::string_view name) { library_ = name; }
  void pm_region(std::uint64_t begin, std::uint64_t end, std::string_view source = "test");
  // Replaces the default metadata.
  void metadata(std::string json) { metadata_ = std::move(json); }

  std::string default_metadata() const;
  std::vector<std::byte> site_table() const;

  void write(const std::string& path);

 private:
  struct Frame {
    std::uint32_t thread = 0;
    std::vector<std::byte> raw;
    std::uint64_t operations = 0;
  };

  std::uint32_t string(std::string_view text);
  TraceBuilder& begin(std::uint32_t site, bool flag = false);
  template <class Value>
  TraceBuilder& put(Value value) {
    append(&value, sizeof(value));
    return *this;
  }
  // The value's bytes, repeated where the access is wider.
  void value(std::uint64_t value, std::size_t size);
  void note_object(std::uint32_t object) { sync_objects_ = std::max(sync_objects_, object + 1); }
  void flush(std::uint32_t thread);
  void append(const void* bytes, std::size_t count);

  std::vector<SiteRecord> sites_;
  std::vector<std::uint32_t> dependences_;
  std::map<std::uint32_t, std::uint32_t> innermost_calls_;  // by site
  std::vector<InlinedCall> inlined_calls_;
  std::string strings_;
  std::map<std::string, std::uint32_t> string_numbers_;
  std::uint32_t thread_ = 0;
  std::map<std::uint32_t, Frame> open_;
  std::vector<Frame> frames_;
  std::vector<std::byte> image_, warm_;
  std::map<std::uint32_t, std::uint64_t> operations_;  // by thread
  std::map<std::uint32_t, std::vector<Turn>> turns_;
  std::vector<RaceRecord> races_;
  std::string regions_, metadata_;
  std::string library_;
  std::uint32_t sync_objects_ = 0;
};

}  // namespace pmemsim::trace
