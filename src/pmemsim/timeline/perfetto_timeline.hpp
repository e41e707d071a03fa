// Writes the log of stages as tracks for Perfetto.
//
// Groups of tracks, in this order:
//   core N        regions, fences, stalls of the store queue's head, persists, speculation, and the
//                 persist buffer's occupancy
//   PM channel N  the occupancy of the queues, writes that wait for an entry, refreshes, and a
//   track
//                 a bank
//   backend       a track a unit, its sub-operations, predictions and prepared results
//
// A persist begins on its core's track with the retirement of its flush or, without a flush, when
// its store becomes visible. It ends when the write is persistent. A flow leads to the slice of its
// bank.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "pmemsim/timeline/persists.hpp"
#include "pmemsim/timeline/regions.hpp"
#include "pmemsim/timeline/source_names.hpp"
#include "pmemsim/timeline/track_events.hpp"

namespace pmemsim {

class PerfettoTimeline {
 public:
  // `sub_operations`: the names of the backend's sub-operations, by number.
  PerfettoTimeline(const std::string& path, const Intervals& shown, SourceNames& sources,
                   std::vector<std::string> sub_operations);

  void add(const TimelineRegion& region);
  void add(const StageEvent& event);
  void close() { file_.close(); }
  const TrackEventFile& file() const { return file_; }

 private:
  enum class Group : std::uint8_t { kCore, kChannel, kBackend };
  enum class Kind : std::uint8_t {
    kRegions,
    kFences,
    kStalls,
    kPersists,
    kSpeculation,
    kWaitingWrites,
    kRefreshes,
    kBank,
    kUnit,
    kSubOperations,
    kPredictions,
  };
  struct TrackId {
    Kind kind;
    std::uint32_t unit, part;
    auto operator<=>(const TrackId&) const = default;
  };
  struct Counter {
    std::uint64_t uuid = 0;  // 0: not written yet
    std::uint64_t value = 0;
    bool shown = false;  // its value was within the shown time
  };
  // Work of the backend that has a unit.
  struct UnitWork {
    std::uint32_t unit = 0;
    Time since{};
    bool predicted = false;
  };

  std::uint64_t group(Group group, std::uint32_t unit);
  SliceTrack& track(Kind kind, std::uint32_t unit, std::uint32_t part = 0);
  void slice(SliceTrack& track, std::string_view name, Time begin, Time end,
             const std::vector<Annotation>& annotations = {}, std::uint64_t flow = 0);
  void add_fence(const StageEvent& event);
  void add_persist(const Persist& write);
  void add_read(const StageEvent& event);
  void add_occupancy(const StageEvent& event);
  std::uint64_t new_counter(LoggedStructure structure, std::uint32_t unit);
  void add_unit(const StageEvent& event);
  void add_sub_operation(const StageEvent& event);
  void add_prediction(const StageEvent& event);

  const Intervals& shown_;
  SourceNames& sources_;
  const std::vector<std::string> sub_operations_;
  TrackEventFile file_;
  PersistTracker persists_;
  std::map<std::pair<Group, std::uint32_t>, std::uint64_t> groups_;
  std::map<TrackId, SliceTrack> tracks_;
  std::map<std::pair<LoggedStructure, std::uint32_t>, Counter> counters_;
  std::map<std::uint64_t, UnitWork> working_;  // by work
  std::vector<bool> busy_units_;
};

}  // namespace pmemsim
