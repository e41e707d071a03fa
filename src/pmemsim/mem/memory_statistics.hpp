// What one memory counts, over all its channels.
#pragma once

#include <array>
#include <cstdint>

#include "pmemsim/core/units.hpp"
#include "pmemsim/mem/memory.hpp"

namespace pmemsim {

struct MemoryStatistics {
  std::uint64_t reads = 0;
  std::uint64_t reads_forwarded = 0;
  std::array<std::uint64_t, kWriteKinds> writes{};  // by WriteKind
  std::uint64_t writes_merged = 0;
  std::uint64_t writes_dropped = 0;
  std::uint64_t lines_read = 0;
  std::array<std::uint64_t, kWriteKinds> lines_written{};  // by WriteKind
  std::uint64_t media_bytes_read = 0;
  std::uint64_t media_bytes_written = 0;
  std::uint64_t row_hits = 0;
  std::uint64_t row_misses = 0;
  std::uint64_t row_conflicts = 0;
  std::uint64_t refreshes = 0;
  std::uint64_t bus_turnarounds = 0;
  Picoseconds read_time{};            // sum over answered reads
  Picoseconds acceptance_time{};      // sum over accepted writes
  Picoseconds residence_time{};       // sum over writes that left their queue for their bank
  Picoseconds wpq_full_time{};        // sum over channels
  Picoseconds log_queue_full_time{};  // sum over channels
  Picoseconds bus_time{};             // sum over channels
  Picoseconds channel_time{};         // time simulated, times channels

  std::uint64_t all_writes() const { return sum(writes); }
  std::uint64_t all_lines_written() const { return sum(lines_written); }

  MemoryStatistics& operator+=(const MemoryStatistics& other);

  template <class Visitor>
  void describe(Visitor& visit) const {
    const auto kind = [](WriteKind k) { return static_cast<std::size_t>(k); };
    visit("reads", reads, "requests", "Reads that reached a controller");
    visit("reads_forwarded", reads_forwarded, "requests",
          "Reads answered from the write pending queue");
    visit("writes", all_writes(), "requests", "Writes that reached a controller");
    visit("data_writes", writes[kind(WriteKind::kData)], "requests", "Writes of data in place");
    visit("log_writes", writes[kind(WriteKind::kLog)], "requests", "Writes of log entries");
    visit("log_header_writes", writes[kind(WriteKind::kLogHeader)], "requests",
          "Writes of log headers");
    visit("metadata_writes", writes[kind(WriteKind::kMetadata)], "requests",
          "Writes of metadata (counters, trees, maps)");
    visit("writes_merged", writes_merged, "requests",
          "Writes that merged with a pending write of the same line, kind and owner");
    visit("writes_dropped", writes_dropped, "requests",
          "Pending writes that a design removed before they reached a bank");
    visit("bytes_read", lines_read * kLineBytes, "bytes", "Bytes read from the device");
    visit("bytes_written", all_lines_written() * kLineBytes, "bytes",
          "Bytes written to the device");
    visit("data_bytes_written", lines_written[kind(WriteKind::kData)] * kLineBytes, "bytes",
          "Bytes of data in place written to the device");
    visit("log_bytes_written",
          (lines_written[kind(WriteKind::kLog)] + lines_written[kind(WriteKind::kLogHeader)]) *
              kLineBytes,
          "bytes", "Bytes of log entries and log headers written to the device");
    visit("media_bytes_read", media_bytes_read, "bytes",
          "Bytes that a buffered device has read from its media");
    visit("media_bytes_written", media_bytes_written, "bytes",
          "Bytes that a buffered device has written to its media, in whole internal lines");
    visit("row_hits", row_hits, "accesses", "Accesses to a row that was open");
    visit("row_misses", row_misses, "accesses", "Accesses to a bank with no row open");
    visit("row_conflicts", row_conflicts, "accesses", "Accesses that had to close another row");
    visit("refreshes", refreshes, "refreshes", "Refreshes of a channel");
    visit("bus_turnarounds", bus_turnarounds, "turns",
          "Times a channel turned from reads to writes or back");
    visit("read_latency_ns", mean(read_time, reads), "ns",
          "Mean time from a read's arrival at the controller to its answer");
    visit("write_acceptance_ns", mean(acceptance_time, all_writes()), "ns",
          "Mean time from a write's arrival at the controller to its place in a queue");
    visit("wpq_residence_ns", mean(residence_time, all_lines_written()), "ns",
          "Mean time from a write's acceptance to its bank taking it");
    visit("wpq_full_ns", wpq_full_time, "Time a WPQ was full, summed over channels");
    visit("log_queue_full_ns", log_queue_full_time,
          "Time a log queue was full, summed over channels");
    visit("bus_utilisation", ratio(bus_time, channel_time), "ratio",
          "Part of the time in which data was on a channel's bus");
  }

 private:
  static std::uint64_t sum(const std::array<std::uint64_t, kWriteKinds>& counts) {
    std::uint64_t total = 0;
    for (const std::uint64_t count : counts) total += count;
    return total;
  }
  static double mean(Picoseconds total, std::uint64_t count) {
    return count == 0 ? 0 : static_cast<double>(total.count) / 1000 / static_cast<double>(count);
  }
  static double ratio(Picoseconds part, Picoseconds whole) {
    return whole.count == 0 ? 0
                            : static_cast<double>(part.count) / static_cast<double>(whole.count);
  }
};

}  // namespace pmemsim
