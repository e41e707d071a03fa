// Main memory: what the caches (and the designs) see of the controllers, their queues and the
// devices. Two of these exist in a machine, one for DRAM and one for persistent memory (PM).
//
// A Memory is a number of channels, each with its own read queue, write pending queue (WPQ), if
// wanted a log queue, banks and data bus (channel.hpp). Lines are spread over channels and banks by
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

// Are the bytes of writes kept on the device?
enum class Contents : bool { kNotKept, kKept };

class Memory {
 public:
  Memory(EventQueue& queue, const MemoryParameters& parameters, Contents contents = Contents::kKept,
         PageFrames frames = {});
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // Reads a line. A read whose line is in the WPQ as a whole is answered from there (forwarding);
  // with only part of it there, it takes as long as from its bank, and finds those bytes all the
  // same. A full read queue delays the request inside; it is never lost.
  void read(Line line, Completion done);

  // Accepts the write when its queue, the WPQ or the log queue, has room (requests wait in arrival
  // order per channel and queue: this is the back-pressure that the caller feels as a late
  // `persisted`). A write merges with the newest write of its line in the queue if that isn't yet
  // being written and has the same kind and owner: together they write what either does, in the
  // newer one's words where both do. The id returned is then that write's. No completion is called
  // from within this function.
  WriteId write(const Write& write);

  // Accepts all of these writes, whose lines differ, in one step, and says where they are; or none
  // of them, and returns false, if there isn't room for all. `first_reserved`: the first one uses
  // an entry reserved. For queues at the host, and writes that no log queue takes.
  bool write_together(std::span<const Write> writes, bool first_reserved, std::span<WriteId> ids);
  // Calls `room` once when an entry has become free somewhere, before whoever waits for it takes
  // it.
  void await_room(Completion room);
  // Writes that come together may be so many: reserve() leaves entries for them.
  void expect_together(std::uint32_t writes);

  // Takes an entry of that channel's WPQ for a write to come, if one is free, no write waits for
  // one and enough are left without a reservation; false otherwise. release() gives it back
  // unused. write_reserved() uses one of its channel: the WPQ accepts the write, of whatever kind,
  // as soon as it has arrived. For designs that keep in the controller what may not be written yet.
  bool reserve(std::uint32_t channel);
  // Would reserve() succeed so many times?
  bool can_reserve(std::uint32_t channel, std::uint32_t entries) const;
  void release(std::uint32_t channel);
  // Calls `free` once, when reserve() would succeed again.
  void await_entry(std::uint32_t channel, Completion free);
  WriteId write_reserved(const Write& write);

  // Removes a write that hasn't been accepted or is still waiting in its queue, with all that
  // merged with it, and frees its entry. False if it has gone to the bank, has merged with another
  // one when its turn came, or was never here. Its `written` is never called, nor is `persisted` if
  // that point hasn't been reached.
  bool drop(WriteId id);

  // The newest write of that line and kind that can still be dropped, accepted or not.
  bool find(Line line, WriteKind kind, WriteId& id) const;
  const Write* pending(WriteId id) const;

  std::uint32_t channel_of(Line line) const;
  std::uint32_t bank_of(Line line) const;  // over all channels: channel * banks + bank
  // By bank: operations (reads and writes) that wait for it or use it: LALEA's counters.
  std::span<const std::uint32_t> pending_operations() const { return operations_; }

  // The newest contents that have arrived, wherever they are: what a read will find.
  LineData newest(Line line) const;

  // What the device holds (writes that banks have finished).
  const Image& device() const;
  Image& device();
  // What would survive now: the device, and on top of it the writes that are persistent but not yet
  // written by their banks (with PersistencePoint::kAccepted all that WPQs have accepted). Visits
  // these in the order in which they must be applied to the device, each with its own bytes.
  void for_each_accepted(void (*visit)(void* context, const Write&), void* context) const;
  // What would survive of the line.
  LineData surviving(Line line) const;

  void observe(PersistenceObserver* observer);
  void survivors_changed();  // to be told by the design
  void persisted_in_caches(Line line, const LineData& data);

  // Nothing waits and nothing is under way.
  bool idle() const;
  // What waits, by channel, in words; empty when idle.
  std::string describe_pending() const;
  // The run is over: write out what the WPQ still holds, however few entries they are.
  void drain();

  const MemoryStatistics& statistics() const;

 private:
  struct Implementation;
  std::vector<std::uint32_t> operations_;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace pmemsim
