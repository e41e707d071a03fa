// Main memory: the interface that caches and designs have to the controllers, their queues and the
// devices. A machine has two memories, one for DRAM and one for persistent memory (PM).
//
// A Memory consists of channels. Each has its own read queue, write pending queue (WPQ), optional
// log queue, banks and data bus (channel.hpp). Lines are distributed over channels and banks by
// page or by line.
//
// Time: every function is called when the request reaches the controller, that is at queue.now().
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "pmemsim/common/event_queue.hpp"
#include "pmemsim/common/image.hpp"
#include "pmemsim/common/page_placement.hpp"
#include "pmemsim/common/parameters.hpp"
#include "pmemsim/common/statistics.hpp"
#include "pmemsim/common/units.hpp"
#include "pmemsim/machine/memory/write.hpp"

namespace pmemsim {

struct MemoryParameters;  // memory_parameters.hpp
struct MemoryStatistics;
class StageLog;
class RequestStages;

// Selects whether the device stores the bytes of writes.
enum class Contents : bool { kNotKept, kKept };

class Memory {
 public:
  Memory(EventQueue& queue, const MemoryParameters& parameters, Contents contents = Contents::kKept,
         PageFrames frames = {});
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // Reads a line. The WPQ answers a read if it contains the whole line (forwarding). If only part
  // of the line is in the WPQ, the read takes as long as a read from its bank. It returns the WPQ's
  // bytes and the bank's other bytes. If the read queue is full, the read waits inside the memory;
  // it is never lost.
  void read(Line line, Completion done);

  // Accepts the write when its queue, the WPQ or the log queue, has a free entry. Requests wait in
  // arrival order per channel and queue. The caller observes this back-pressure as a late
  // `persisted`. A write merges with the newest write of its line in the queue, if that write has
  // the same kind and owner and is not yet being written. The merged write has the bytes of both;
  // the newer value wins where both write a byte. The returned id is then that of the older write.
  // This function calls no completion.
  WriteId write(const Write& write);

  // Accepts all of these writes in one step and returns their ids in `ids`. If there are not enough
  // entries for all, accepts none and returns false. Their lines must differ. With `first_reserved`
  // the first write uses a reserved entry. The queues must be at the host, and no log queue may
  // take these writes.
  bool write_together(std::span<const Write> writes, bool first_reserved, std::span<WriteId> ids);
  // Calls `freed` once when any entry has become free, before a waiting write takes it.
  void await_any_free_entry(Completion freed);
  // Sets the largest number of writes in one write_together(). reserve() always leaves this number
  // of entries free.
  void set_largest_group(std::uint32_t writes);

  // True if writes wait in the line's channel, for an entry of the WPQ or for the link to it.
  bool writes_wait(Line line) const;
  // Calls `admitted` once when no write waits in the line's channel any more. Callers of the same
  // channel are admitted in order. The next one waits if the previous one has sent such a write.
  void await_admission(Line line, Completion admitted);

  // Reserves an entry of that channel's WPQ for a later write. Returns false if no entry is free,
  // if writes are waiting, or if too few unreserved entries would be left. release() releases the
  // entry unused. write_reserved() uses a reserved entry of its channel: the WPQ accepts the write,
  // of any kind, as soon as it has arrived. Designs use reservations for writes that the controller
  // must not issue yet.
  bool reserve(std::uint32_t channel);
  // True if `entries` consecutive calls of reserve() would succeed.
  bool can_reserve(std::uint32_t channel, std::uint32_t entries) const;
  void release(std::uint32_t channel);
  // Calls `free` once when reserve() would succeed again.
  void await_entry(std::uint32_t channel, Completion free);
  WriteId write_reserved(const Write& write);

  // Removes a write that has not been accepted or is still in its queue, with all writes that
  // merged with it, and frees its entry. Returns false if the write has gone to the bank, has
  // merged with another one when it was accepted, or was never in this memory. Its `written` is
  // never called; its `persisted` is not called if that point has not been reached.
  bool drop(WriteId id);

  // Finds the newest write of that line and kind that can still be dropped, accepted or not.
  bool find(Line line, WriteKind kind, WriteId& id) const;
  const Write* pending(WriteId id) const;

  std::uint32_t channel_of(Line line) const;
  std::uint32_t bank_of(Line line) const;  // over all channels: channel * banks + bank
  // Numbers of pending operations by bank: reads and writes that wait for it or use it. They are
  // LALEA's counters.
  std::span<const std::uint32_t> pending_operations() const { return operations_; }

  // Returns the newest contents of the line that have arrived, in a queue or on the device: the
  // contents that a read returns.
  LineData newest(Line line) const;

  // Returns the device's contents, which include all writes that banks have finished.
  const Image& device() const;
  Image& device();
  // Visits the writes that are persistent but not yet written by their banks. With
  // PersistencePoint::kAccepted these are all writes that WPQs have accepted. A crash now would
  // leave the device's contents with these writes applied in the visited order, each with its own
  // bytes.
  void for_each_accepted(void (*visit)(void* context, const Write&), void* context) const;
  // Returns the contents of the line after a crash now.
  LineData surviving(Line line) const;

  void observe(PersistenceObserver* observer);
  // Logs the stages of all requests, and the occupancy of the queues.
  void log_stages(StageLog* stages);
  void profile(RequestStages* stages);
  void survivors_changed();  // for designs that report such a change
  void persisted_in_caches(Line line, const LineData& data);

  // True if no request is queued or in progress.
  bool idle() const;
  // Describes the pending requests by channel; empty when idle.
  std::string describe_pending() const;
  // Writes out the remaining contents of the WPQ after the end of a run, even below the low
  // watermark.
  void drain();

  const MemoryStatistics& statistics() const;

 private:
  struct Implementation;
  std::vector<std::uint32_t> operations_;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace pmemsim
