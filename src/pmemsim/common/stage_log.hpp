// The log of a run's stages, for `pmemsim timeline`. Components add an event for each stage of a
// region, a fence, a flush or a write.
//
// A run without a timeline has no log. Each component then tests one pointer for each event; no
// component tests it for each operation of the program.
//
//   1  Events are in the order in which components add them. Their times aren't sorted, because
//      cores compute ahead and the end of a bank's access is known when the access starts.
//   2  The log keeps a fixed number of events in memory. It moves them to a file without a name,
//      in a folder of the caller's choice, whenever they are that many.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "pmemsim/common/event_queue.hpp"
#include "pmemsim/common/units.hpp"

namespace pmemsim {

// Each comment lists the fields of StageEvent that the stage sets. Behind the last semicolon, it
// says what happens at at[0], at[1] and so on.
enum class Stage : std::uint8_t {
  kRegionBegin,    // unit: core; id: region; its begin retires
  kRegionEnd,      // unit: core; id: region; its end retires
  kRegionDurable,  // unit: core; id: region; it is durable
  kRollBack,       // unit: core; the core's region begins again
  kPause,          // unit: core; the pause begins, ends
  kStall,          // unit: core; detail: Cause; the head of its store queue begins to wait,
                   // continues
  kFence,      // unit: core; part: site; detail: Purpose; id: region; it retires, is the head of
               // the store queue, leaves
  kFlush,      // line; the fields of kFence
  kStore,      // the fields of kFlush; a store to PM retires, is allowed by the layers,
               // leaves and becomes visible
  kStaleLine,  // line; a design reports that the line was read too early
  kIssue,      // id: write; detail: WriteKind; line; logged_line, if it writes a log entry;
               // unit, part: the two halves of its owner; it reaches the backend
  kEncode,     // id: write; flag: its data are in PM already; the backend's operations are over
  kWrite,      // id: write; detail: WriteKind; flag: persistent when written; line; unit:
               // channel; part: bank; it arrives at the queue, is accepted, starts, ends
  kMerge,      // id: write; flag: in the queues; merged_into; the other write takes its bytes
  kDrop,       // id: write; flag: in the queues; is dropped, was accepted, persistent (or kNever)
  kRead,       // line; unit: channel; part: bank; it arrives, starts, leaves the bank, is
               // answered
  kRefresh,    // unit: channel; all of its banks are closed and the refresh begins, ends
  kOccupancy,  // detail: LoggedStructure; unit: channel or core; id: entries in use
  kUnitTaken,  // id: work; line; flag: the write is only predicted; the work gets a unit
  kUnitReleased,  // id: work
  kSubOperation,  // id: work; part: its number; it begins, ends
  kPrediction,    // unit: core; detail: Fate; line; flag: the line is known; it is made, ends
};

// Structures whose occupancy is logged.
enum class LoggedStructure : std::uint8_t {
  kWpq,
  kLogQueue,
  kPreparedResults,
  kPersistBuffer,
  kSpeculationBuffer,
};

struct StageEvent {
  Stage stage;
  std::uint8_t detail = 0;
  bool flag = false;
  std::uint32_t unit = 0;
  std::uint32_t part = 0;
  std::uint64_t id = 0;
  Line line{};
  std::uint64_t logged_line = 0;  // number of the line that a log entry describes
  std::uint64_t merged_into = 0;  // id of the write that has taken the bytes
  std::array<Time, 4> at{};
};

class StageLog {
 public:
  // `folder`: where the file is, once there is one.
  StageLog(const EventQueue& queue, std::string folder);
  StageLog(const StageLog&) = delete;
  StageLog& operator=(const StageLog&) = delete;
  ~StageLog();

  // Throws Error if the file can't be written.
  void add(const StageEvent& event) {
    if (events_.size() == kMostInMemory) [[unlikely]]
      move_to_file();
    events_.push_back(event);
  }
  // Returns an identity for a write; never 0.
  std::uint64_t new_id() { return ++last_id_; }
  Time now() const { return queue_.now(); }

  // Calls visit(event) for all events, in their order. Throws Error if the file can't be read.
  template <class Visit>
  void for_each(Visit visit) const {
    for (std::uint64_t first = 0; first < in_file_; first += kMostInMemory) {
      for (const StageEvent& event : read_from_file(first)) visit(event);
    }
    for (const StageEvent& event : events_) visit(event);
  }
  std::uint64_t size() const { return in_file_ + events_.size(); }

 private:
  static constexpr std::size_t kMostInMemory = 1 << 14;  // 1.25 MiB

  void move_to_file();
  std::vector<StageEvent> read_from_file(std::uint64_t first) const;

  const EventQueue& queue_;
  const std::string folder_;
  int file_ = -1;
  std::uint64_t in_file_ = 0;  // number of events, a multiple of kMostInMemory
  std::vector<StageEvent> events_;
  std::uint64_t last_id_ = 0;
};

}  // namespace pmemsim
