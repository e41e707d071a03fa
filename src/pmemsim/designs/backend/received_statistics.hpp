// Statistics of the writes and reads that reach the backend. They aren't part of a run's results.
// They serve to check that the senders' statistics agree with those of PM.
#pragma once

#include <array>
#include <cstdint>

#include "pmemsim/common/relations.hpp"
#include "pmemsim/machine/memory/memory.hpp"

namespace pmemsim {

struct ReceivedStatistics {
  using Counts = std::array<std::uint64_t, kWriteKinds>;  // indexed by WriteKind

  Counts writes{};
  Counts sent{};                 // writes sent to the queues
  std::uint64_t duplicates = 0;  // writes whose data PM already has: only their metadata are sent
  std::uint64_t coalesced = 0, dropped_here = 0, dropped_in_queue = 0;
  std::uint64_t metadata_sent_again = 0;  // not zero only with injected faults
  std::uint64_t bypassing_writes = 0;     // without operations; not zero only with a fault
  std::uint64_t reads = 0, forwarded_reads = 0, metadata_reads = 0;

  static std::uint64_t& of(Counts& counts, WriteKind kind) {
    return counts[static_cast<std::size_t>(kind)];
  }

  // Counts a write. `is_sent`: it is sent to the queues at once.
  void count(WriteKind kind, bool is_sent) {
    ++of(writes, kind);
    if (is_sent) ++of(sent, kind);
  }

  template <class Visitor>
  void describe(Visitor& visit) const {
    const auto [data, log, log_header, metadata] = writes;
    visit.quantity("writes", data + log + log_header);
    visit.quantity("data_writes", data, share_of("writes", "kind"));
    visit.quantity("log_writes", log, share_of("writes", "kind"));
    visit.quantity("log_header_writes", log_header, share_of("writes", "kind"));
    const auto [sent_data, sent_log, sent_log_header, sent_metadata] = sent;
    visit.quantity("sent_data", sent_data, share_of("writes", "fate"), share_of("pm.data_writes"));
    visit.quantity("sent_log", sent_log, share_of("writes", "fate"), share_of("pm.log_writes"));
    visit.quantity("sent_log_headers", sent_log_header, share_of("writes", "fate"),
                   share_of("pm.log_header_writes"));
    visit.quantity("operated", data + log + log_header - bypassing_writes);
    visit.quantity("duplicates", duplicates, share_of("writes", "fate"));
    visit.quantity("coalesced", coalesced, share_of("writes", "fate"));
    visit.quantity("dropped_here", dropped_here, share_of("writes", "fate"));
    visit.quantity("dropped_in_queue", dropped_in_queue, share_of("pm.writes_dropped"));
    visit.quantity("dropped", dropped_here + dropped_in_queue);
    visit.quantity("metadata_sent_again", metadata_sent_again, origin_of("pm.metadata_writes"));

    visit.quantity("reads", reads);
    visit.quantity("forwarded_reads", forwarded_reads, share_of("reads"));
    visit.quantity("sent_reads", reads - forwarded_reads, share_of("reads"),
                   share_of("pm.reads", "origin"));
    visit.quantity("metadata_reads", metadata_reads, share_of("pm.reads", "origin"));
  }
};

}  // namespace pmemsim
