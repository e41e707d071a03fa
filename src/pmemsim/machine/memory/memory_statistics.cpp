#include "pmemsim/machine/memory/memory_statistics.hpp"

#include <algorithm>

namespace pmemsim {

MemoryStatistics& MemoryStatistics::operator+=(const MemoryStatistics& other) {
  for (std::size_t kind = 0; kind < kWriteKinds; ++kind) {
    writes[kind] += other.writes[kind];
    lines_written[kind] += other.lines_written[kind];
  }
  reads += other.reads;
  reads_forwarded += other.reads_forwarded;
  writes_merged += other.writes_merged;
  writes_dropped += other.writes_dropped;
  lines_read += other.lines_read;
  media_lines_read += other.media_lines_read;
  media_lines_written += other.media_lines_written;
  media_bytes_read += other.media_bytes_read;
  media_bytes_written += other.media_bytes_written;
  migrations += other.migrations;
  most_line_writes = std::max(most_line_writes, other.most_line_writes);
  row_accesses += other.row_accesses;
  row_hits += other.row_hits;
  row_misses += other.row_misses;
  row_conflicts += other.row_conflicts;
  refreshes += other.refreshes;
  bus_turnarounds += other.bus_turnarounds;
  read_time += other.read_time;
  acceptance_time += other.acceptance_time;
  residence_time += other.residence_time;
  wpq_full_time += other.wpq_full_time;
  wpq_entry_time += other.wpq_entry_time;
  most_wpq_entries = std::max(most_wpq_entries, other.most_wpq_entries);
  log_queue_full_time += other.log_queue_full_time;
  bus_time += other.bus_time;
  refresh_time += other.refresh_time;
  channel_time += other.channel_time;
  most_reads += other.most_reads;
  most_writes += other.most_writes;
  queue_entries += other.queue_entries;
  burst = other.burst;
  return *this;
}

}  // namespace pmemsim
