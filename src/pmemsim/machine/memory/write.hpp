// A write in flight to a device, and the observer of persistence.
#pragma once

#include <cstddef>
#include <cstdint>

#include "pmemsim/common/event_queue.hpp"
#include "pmemsim/common/image.hpp"
#include "pmemsim/common/units.hpp"

namespace pmemsim {

// The purpose of a write. Statistics use the kind, and designs that treat kinds differently: ASAP
// drops log and data writes, LALEA waits for log writes to reach their bank.
enum class WriteKind : std::uint8_t { kData, kLog, kLogHeader, kMetadata };
inline constexpr std::size_t kWriteKinds = 4;

// The point at which a write counts as persistent.
enum class PersistencePoint : std::uint8_t {
  kAccepted,  // the WPQ is in the persistence domain (ADR); a log queue never is
  kWritten,   // only the device is in the persistence domain: the bank has finished
};

struct Write {
  Line line;
  WriteKind kind = WriteKind::kData;
  std::uint64_t owner = 0;  // the sender's key for the write, such as the number of a region
  LineData data{};
  Completion persisted;  // called once, when the persistence point is reached; may be empty
  Completion written;    // called once, when the bank has finished; not called if dropped
  Line home{};           // the line that a log entry describes
  // Called in the same step in which the write becomes persistent, before an observer is notified,
  // so that the sender's persistent registers change together with the write.
  Completion persisting{};
  // The bytes of `data` that this write stores. The line's other bytes stay unchanged, so that two
  // cores that write different words of a line never undo each other.
  ByteMask bytes = kWholeLine;
  // Identity in the log of stages; 0: none.
  std::uint64_t logged = 0;
  // Order number of the data's departure from the caches (Backend::next_departure()); 0: now.
  std::uint64_t departure = 0;

  // Combines this write with a newer one of the line, whose bytes win.
  void add_newer(const Write& newer) {
    take_bytes(data, newer.data, newer.bytes);
    bytes |= newer.bytes;
  }
  // Combines this write with an older one of the line, whose bytes lose.
  void add_older(const Write& older) {
    take_bytes(data, older.data, older.bytes & ~bytes);
    bytes |= older.bytes;
  }
};

// Identifies a write while it is in a controller.
struct WriteId {
  std::uint32_t channel = UINT32_MAX;
  std::uint64_t number = 0;
  constexpr auto operator<=>(const WriteId&) const = default;
};

// An observer that is notified of every change of the contents that would survive a crash. Each
// call is a crash point. `persisted` receives the point that the write has reached. A write that a
// queue has accepted is persistent as a whole. A write that its bank had to finish may have been
// persistent in part before. `dropped` is for writes that were persistent. An observer must not
// call the memory's read(), write() or drop().
class PersistenceObserver {
 public:
  virtual ~PersistenceObserver() = default;
  virtual void persisted(const Write& write, PersistencePoint reached, Time when) = 0;
  // Reports a write that is accepted in one step with the writes of the following calls. The last
  // of these calls is persisted(). No crash point is between them.
  virtual void persisted_with_next(const Write& write) = 0;
  virtual void dropped(const Write& write, Time when) = 0;
  // The device has written a line that was persistent before. The surviving contents do not change.
  virtual void written(Line) {}
  // Persistent structures of a design itself have changed.
  virtual void survivors_changed(Time) {}
  // A store has become visible in persistent caches; receives the line's new contents. Crash images
  // of a design that makes such calls do not depend on the contents of memory.
  virtual void persisted_in_caches(Line, const LineData&, Time) {}
};

}  // namespace pmemsim
