// The statistics of one memory, over all its channels.
#pragma once

#include <array>
#include <cstdint>

#include "pmemsim/common/relations.hpp"
#include "pmemsim/common/units.hpp"
#include "pmemsim/machine/memory/write.hpp"

namespace pmemsim {

struct MemoryStatistics {
  std::uint64_t reads = 0;
  std::uint64_t reads_forwarded = 0;
  std::array<std::uint64_t, kWriteKinds> writes{};  // by WriteKind
  std::uint64_t writes_merged = 0;
  std::uint64_t writes_dropped = 0;
  std::uint64_t lines_read = 0;
  std::array<std::uint64_t, kWriteKinds> lines_written{};  // by WriteKind
  std::uint64_t media_lines_read = 0;
  std::uint64_t media_lines_written = 0;
  std::uint64_t media_bytes_read = 0;
  std::uint64_t media_bytes_written = 0;
  std::uint64_t migrations = 0;
  std::uint64_t most_line_writes = 0;  // the largest number of writes of one line
  std::uint64_t row_accesses = 0;      // accesses to banks that have rows
  std::uint64_t row_hits = 0;
  std::uint64_t row_misses = 0;
  std::uint64_t row_conflicts = 0;
  std::uint64_t refreshes = 0;
  std::uint64_t bus_turnarounds = 0;
  Picoseconds read_time{};            // sum over answered reads
  Picoseconds acceptance_time{};      // sum over accepted writes
  Picoseconds residence_time{};       // sum over writes that left their queue for their bank
  Picoseconds wpq_full_time{};        // sum over channels
  Picoseconds wpq_entry_time{};       // time in use, summed over entries and channels
  Picoseconds log_queue_full_time{};  // sum over channels
  Picoseconds bus_time{};             // sum over channels
  Picoseconds burst{};                // time of a line on the bus, the same on all channels
  Picoseconds refresh_time{};         // refresh intervals that have passed, summed over channels
  Picoseconds channel_time{};         // simulated time, multiplied by the number of channels
  // Upper bounds of the requests that are pending at the same time, summed over channels.
  std::uint64_t most_reads = 0, most_writes = 0, queue_entries = 0;
  std::uint64_t most_wpq_entries = 0;  // used at the same time, on any channel

  std::uint64_t all_writes() const { return sum(writes); }
  std::uint64_t all_lines_written() const { return sum(lines_written); }

  MemoryStatistics& operator+=(const MemoryStatistics& other);

  template <class Visitor>
  void describe(Visitor& visit) const {
    describe_requests(visit);
    describe_traffic(visit);
    describe_rows(visit);
    describe_times(visit);
  }

 private:
  template <class Visitor>
  void describe_requests(Visitor& visit) const {
    visit("reads", reads, "requests", "Reads that reached a controller");
    visit("reads_forwarded", reads_forwarded, "requests",
          "Reads served from the write pending queue", share_of("reads"));
    visit.quantity("lines_read", lines_read, share_of("reads"));
    visit("writes", all_writes(), "requests", "Writes that reached a controller");
    visit("data_writes", of(writes, WriteKind::kData), "requests", "Writes of data in place",
          share_of("writes", "kind"));
    visit("log_writes", of(writes, WriteKind::kLog), "requests", "Writes of log entries",
          share_of("writes", "kind"));
    visit("log_header_writes", of(writes, WriteKind::kLogHeader), "requests",
          "Writes of log headers", share_of("writes", "kind"));
    visit("metadata_writes", of(writes, WriteKind::kMetadata), "requests",
          "Writes of metadata (counters, trees, maps)", share_of("writes", "kind"));
    visit("writes_merged", writes_merged, "requests",
          "Writes that coalesced with a pending write of the same line, kind and owner",
          share_of("writes", "fate"));
    visit("writes_dropped", writes_dropped, "requests",
          "Pending writes that a design removed before they reached a bank",
          share_of("writes", "fate"));
    visit.quantity("lines_written", all_lines_written(), share_of("writes", "fate"));
  }
  template <class Visitor>
  void describe_traffic(Visitor& visit) const {
    const std::uint64_t data = of(lines_written, WriteKind::kData);
    const std::uint64_t log =
        of(lines_written, WriteKind::kLog) + of(lines_written, WriteKind::kLogHeader);
    const std::uint64_t metadata = of(lines_written, WriteKind::kMetadata);
    visit("bytes_read", lines_read * kLineBytes, "bytes", "Bytes read from the device");
    visit("bytes_written", all_lines_written() * kLineBytes, "bytes",
          "Bytes written to the device");
    visit("data_bytes_written", data * kLineBytes, "bytes",
          "Bytes of data in place written to the device", share_of("bytes_written"));
    visit("log_bytes_written", log * kLineBytes, "bytes",
          "Bytes of log entries and log headers written to the device", share_of("bytes_written"));
    visit.quantity("metadata_bytes_written", metadata * kLineBytes, share_of("bytes_written"));
    visit.quantity("data_lines_written", data, part_of("data_writes"));
    visit.quantity("log_lines_written", log, part_of("log_writes", "log_header_writes"));
    visit.quantity("metadata_lines_written", metadata, part_of("metadata_writes"));
    visit.quantity("media_lines_read", media_lines_read, part_of("lines_read"));
    visit.quantity("media_lines_written", media_lines_written, part_of("lines_written"));
    visit("media_bytes_read", media_bytes_read, "bytes",
          "Bytes that buffered devices read from their media");
    visit("media_bytes_written", media_bytes_written, "bytes",
          "Bytes that buffered devices wrote to their media, in whole internal lines");
    visit("migrations", migrations, "blocks",
          "Blocks that the wear levelling of buffered devices migrated", part_of("lines_written"));
    visit(
        "most_line_writes", most_line_writes, "writes",
        "Writes of the device's most written line; of buffered devices, writes of the media's most "
        "written internal line",
        at_most("lines_written"));
  }
  template <class Visitor>
  void describe_rows(Visitor& visit) const {
    visit.quantity("row_accesses", row_accesses, part_of("lines_read", "lines_written"));
    visit("row_hits", row_hits, "accesses", "Accesses to an open row", share_of("row_accesses"));
    visit("row_misses", row_misses, "accesses", "Accesses to a bank with no row open",
          share_of("row_accesses"));
    visit("row_conflicts", row_conflicts, "accesses", "Accesses that closed another row first",
          share_of("row_accesses"));
    visit("refreshes", refreshes, "refreshes", "Refreshes of a channel");
    visit.quantity("refresh_time_ns", refresh_time, part_of("channel_time_ns"));
    visit("bus_turnarounds", bus_turnarounds, "turns",
          "Number of switches of a channel between reads and writes");
  }
  template <class Visitor>
  void describe_times(Visitor& visit) const {
    visit("read_latency_ns", mean(read_time, reads), "ns",
          "Mean time from a read's arrival at the controller to its answer",
          at_most("run.drained_ns"));
    visit("write_acceptance_ns", mean(acceptance_time, all_writes()), "ns",
          "Mean time from a write's arrival at the controller to its acceptance by a queue",
          at_most("run.drained_ns"));
    visit("wpq_residence_ns", mean(residence_time, all_lines_written()), "ns",
          "Mean time from a write's acceptance to its start in a bank", at_most("run.drained_ns"));
    visit.quantity("read_time_ns", read_time, at_most("run.drained_ns").times(most_reads));
    visit.quantity("acceptance_time_ns", acceptance_time,
                   at_most("run.drained_ns").times(most_writes));
    visit.quantity("residence_time_ns", residence_time,
                   at_most("run.drained_ns").times(queue_entries));
    visit.quantity("channel_time_ns", channel_time);
    visit("wpq_full_ns", wpq_full_time, "Total time in which a WPQ was full, over all channels",
          part_of("channel_time_ns"));
    visit("wpq_full_share", ratio(wpq_full_time, channel_time), "ratio",
          "Share of the time in which a WPQ was full, on average over the channels");
    visit("wpq_mean_entries", ratio(wpq_entry_time, channel_time), "entries",
          "Entries of a WPQ in use, on average over time and channels");
    visit("wpq_most_entries", most_wpq_entries, "entries",
          "Largest number of entries of a WPQ in use at the same time, on any channel");
    visit("log_queue_full_ns", log_queue_full_time,
          "Total time in which a log queue was full, over all channels",
          part_of("channel_time_ns"));
    visit.quantity("bus_time_ns", bus_time, part_of("channel_time_ns"));
    visit.quantity("lines_transferred", lines_read + all_lines_written(),
                   share_of("bus_time_ns").each(static_cast<std::uint64_t>(burst.count)));
    visit("bus_utilisation", ratio(bus_time, channel_time), "ratio",
          "Share of the time in which a channel's bus transferred data");
  }

  static std::uint64_t of(const std::array<std::uint64_t, kWriteKinds>& counts, WriteKind kind) {
    return counts[static_cast<std::size_t>(kind)];
  }
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
