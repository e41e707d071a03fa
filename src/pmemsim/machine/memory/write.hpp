// A write on its way to a device, and who is told of what becomes persistent.
#pragma once

#include <cstddef>
#include <cstdint>

#include "pmemsim/common/event_queue.hpp"
#include "pmemsim/common/image.hpp"
#include "pmemsim/common/units.hpp"

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
  virtual void persisted(const Write& write, PersistencePoint reached, Time when) = 0;
  // The same for one that is accepted together with those of the next calls, the last of which is
  // persisted(): no crash comes between them.
  virtual void persisted_with_next(const Write& write) = 0;
  virtual void dropped(const Write& write, Time when) = 0;
  // The device has written a line that was persistent before: what would survive stays the same.
  virtual void written(Line) {}
  // What a design keeps in persistent structures of its own has changed.
  virtual void survivors_changed(Time) {}
  // A store has become visible in caches that are persistent; the line as it is then. Where there
  // are such calls, what memory holds doesn't matter.
  virtual void persisted_in_caches(Line, const LineData&, Time) {}
};

}  // namespace pmemsim
