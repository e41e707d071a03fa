// The common parameters of all hardware logs: the locations of records in PM, and the buffers of
// their headers.
#pragma once

#include <span>
#include <string_view>

#include "pmemsim/common/parameters.hpp"

namespace pmemsim {

// The location of a log entry.
enum class LogAllocation : std::uint8_t {
  kSequential,  // one entry after the other, in a ring
  kLoadAware,   // to the bank with the fewest pending operations (LALEA, III-A)
};
// Returns a record's number of header lines. A header that leads to entries at any location needs
// space for these locations.
constexpr std::uint32_t header_lines(LogAllocation allocation) {
  return allocation == LogAllocation::kLoadAware ? 2 : 1;
}

// The cores whose records share a ring.
enum class LogArea : std::uint8_t {
  kShared,   // all cores
  kPerCore,  // each core alone
};

// The handling of a record's header.
enum class LogMetadata : std::uint8_t {
  kCollatedHeader,  // written to PM once its entries are persistent (LEC: ATOM, HPCA 2017)
  kAdrBuffered,     // kept in the ADR buffer until the log isn't needed any more (LALEA, III-B)
  kQueueBuffered,   // kept in the header queue until then (ASAP, 6.3)
};

inline std::span<const std::string_view> choice_names(LogAllocation) {
  static constexpr std::string_view kNames[] = {"sequential", "load-aware"};
  return kNames;
}
inline std::span<const std::string_view> choice_names(LogArea) {
  static constexpr std::string_view kNames[] = {"shared", "per-core"};
  return kNames;
}
inline std::span<const std::string_view> choice_names(LogMetadata) {
  static constexpr std::string_view kNames[] = {"collated-header", "adr-buffered",
                                                "queue-buffered"};
  return kNames;
}

// Injected faults: each disables one protective mechanism or falsifies a statistic. Each design
// implements `order` and `commit` itself: in a design that ignores them they change nothing.
struct LogFaults {
  bool order = false;
  bool commit = false;
  bool release = false;
  bool headers = false;
  bool link = false;
  bool latency = false;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("order", order,
          "data go to PM before their log entry (undo logs) or before their region has committed "
          "(redo logs)");
    visit("commit", commit,
          "a region counts as committed when it ends, although its log may not be persistent");
    visit("release", release,
          "log entries are removed from the write pending queues as soon as they are acknowledged");
    visit("headers", headers, "headers in persistent queues and ADR buffers don't survive");
    visit("link", link, "the LR registers don't survive");
    visit("latency", latency,
          "the latency of a log entry is measured from time 0 instead of from the entry's start");
  }
};

struct HardwareLogParameters {
  LogAllocation allocation = LogAllocation::kSequential;
  LogArea area = LogArea::kPerCore;
  LogMetadata metadata = LogMetadata::kCollatedHeader;
  Bytes ring_size{1u << 20};
  std::uint32_t header_entries = 128;
  std::uint32_t free_entries = 1024;
  std::uint32_t free_headers = 256;
  LogFaults faults;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("allocation", allocation, {},
          "Placement of log entries: sequential, or in the bank with the shortest queue (LALEA)");
    visit("area", area, {},
          "With allocation=sequential: whether the cores share a log, or each core has its own");
    visit(
        "metadata", metadata, {},
        "Whether headers are written to PM with their complete record, or stay on chip until their "
        "log is released: in the ADR buffer (BLOM) or in the header queue");
    visit("ring_size", ring_size, {.least = 4096, .most = 1 << 30},
          "With allocation=sequential: initial log space of a core");
    visit("header_entries", header_entries, {.least = 0, .most = 65536},
          "Without metadata=adr-buffered: entries of a channel's persistent queue for headers; 0: "
          "headers are persistent only when written");
    visit("free_entries", free_entries, {.least = 16, .most = 1 << 20},
          "With allocation=load-aware: log entries of a bank (size of its free log entry FIFO)");
    visit("free_headers", free_headers, {.least = 16, .most = 1 << 20},
          "With allocation=load-aware: headers of a bank (size of its free header FIFO)");
  }
};

}  // namespace pmemsim
