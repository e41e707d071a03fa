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

#include "pmemsim/core/event_queue.hpp"
#include "pmemsim/core/page_placement.hpp"
#include "pmemsim/core/parameters.hpp"
#include "pmemsim/core/statistics.hpp"
#include "pmemsim/core/units.hpp"
#include "pmemsim/mem/image.hpp"

namespace pmemsim {

// What a write is for: statistics, and the designs that treat them differently (ASAP drops log
// and data writes, LALEA waits for log writes to reach their bank).
enum class WriteKind : std::uint8_t { kData, kLog, kLogHeader, kMetadata };
inline constexpr std::size_t kWriteKinds = 4;

// When a write counts as persistent.
enum class PersistencePoint : std::uint8_t {
  kAccepted,  // the WPQ is in the persistence domain (ADR); a log queue never is
  kWritten,   // only the device is: the bank has finished writing
};

struct Write {
  Line line;
  WriteKind kind = WriteKind::kData;
  std::uint64_t owner = 0;  // whatever the sender wants to find the write by: a region's number
  LineData data{};
  Completion persisted;  // called once, when the persistence point is reached; may be empty
  Completion written;    // called once, when the bank has finished; not called if dropped
  Line home{};           // of a log entry: the line that it is about
  // Called in the very step in which it becomes persistent, before an observer hears of that: what
  // the sender keeps in persistent registers changes together with it.
  Completion persisting{};
  // Those of `data` that it writes. The line's other bytes stay as they are, so that two cores that
  // write words of one line never undo each other.
  ByteMask bytes = kWholeLine;
  // When the data left the caches (Backend::leaving()); 0: now.
  std::uint64_t left = 0;

  // What a newer write of the line leaves of both.
  void add_newer(const Write& newer) {
    take_bytes(data, newer.data, newer.bytes);
    bytes |= newer.bytes;
  }
  // The same with an older one.
  void add_older(const Write& older) {
    take_bytes(data, older.data, older.bytes & ~bytes);
    bytes |= older.bytes;
  }
};

// Names a write while it is in a controller.
struct WriteId {
  std::uint32_t channel = UINT32_MAX;
  std::uint64_t number = 0;
  constexpr auto operator<=>(const WriteId&) const = default;
};

// Told of every change of what would survive a crash. Crash points are these calls. `persisted`
// names the point that the write has reached: one that a queue has accepted is there as a whole,
// while one that its bank had to finish may have been there in part before. `dropped` is for
// writes that were persistent. An observer must not call the memory's read(), write() or
// drop().
class PersistenceObserver {
 public:
  virtual ~PersistenceObserver() = default;
  virtual void persisted(const Write& write, PersistencePoint reached, Picoseconds when) = 0;
  // The same for one that is accepted together with those of the next calls, the last of which is
  // persisted(): no crash comes between them.
  virtual void persisted_with_next(const Write& write) = 0;
  virtual void dropped(const Write& write, Picoseconds when) = 0;
  // The device has written a line that was persistent before: what would survive stays the same.
  virtual void written(Line) {}
  // What a design keeps in persistent structures of its own has changed.
  virtual void survivors_changed(Picoseconds) {}
  // A store has become visible in caches that are persistent; the line as it is then. Where there
  // are such calls, what memory holds doesn't matter.
  virtual void persisted_in_caches(Line, const LineData&, Picoseconds) {}
};

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
