// Pulling the plug: simulates a recording on a design and crashes it at every change of what would
// survive. At each such point the design's own recovery runs on exactly what has survived, and the
// oracle judges the image that it leaves.
//
//   1  A crash point is a line accepted into the persistence domain, a write removed from it, or a
//      change of a persistent register or structure of the design (machine/memory/memory.hpp,
//      PersistenceObserver).
//   2  The surviving image follows these changes, line by line; recovery changes it and is taken
//      back afterwards. So a point costs what has changed, not what there is. (Redoing a log that
//      is released late would cost all of the log: it goes on from the point before instead,
//      redo_recovery.hpp.)
//   3  Recovery is crashed, too: it is stopped at each of its writes and run again, and must leave
//      the same image. A recovery that writes only lines which it never reads has nothing to be
//      confused by: run again, it does the same (this is checked, line by line); otherwise it is
//      run again indeed.
//   4  The verdict of each point holds until the next one, or until the program is promised more:
//      then the image is judged again.
//   5  Recorded values are replayed, so what a load reads never shows in an image. Where a design
//      lets a load read what isn't newest any more, it says so (ProgramEvents::stale_load); then
//      the region must be taken back before it is committed or survives a crash, and outside
//      regions the program must be told.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pmemsim/common/units.hpp"
#include "pmemsim/crash/crash_story.hpp"
#include "pmemsim/designs/backend/device_image.hpp"
#include "pmemsim/designs/backend/surviving_registers.hpp"

namespace pmemsim {

class Image;
struct Configuration;
namespace trace {
class TraceFile;
}

// Somebody else who judges images, in its own time.
class ImageJudge {
 public:
  ImageJudge() = default;
  ImageJudge(const ImageJudge&) = delete;
  ImageJudge& operator=(const ImageJudge&) = delete;
  virtual ~ImageJudge() = default;
  virtual void show(const Image& image) = 0;
  // Does it want those, too, that the oracle has found wrong?
  virtual bool sees_wrong() const { return false; }
  // Of all that were shown until now, by their number from 0: what is wrong.
  virtual std::map<std::uint64_t, std::string> wrong() = 0;
};

struct CrashOptions {
  std::uint64_t sample = 0;  // so many points, chosen at random; 0: all
  std::uint64_t seed = 1;
  std::optional<Time> at{};  // the last points at or before this time instead
  // At each point also so many other images that the design leaves open at that instant: dirty
  // lines in the caches, some of which an eviction might have written a moment earlier.
  std::uint64_t subsets = 0;
  // Sees so many images, at points that lie evenly in the run; kAllImages: all that are recovered.
  ImageJudge* judge = nullptr;
  static constexpr std::uint64_t kAllImages = UINT64_MAX;
  std::uint64_t inspections = 0;
  // With `at`: shown what the last of these points leaves, before anything is decoded or recovered.
  std::function<void(const DeviceImage&, const SurvivingRegisters&)> save{};
  // Shown the first wrong image, recovered; with `at` also the last point's before it is found
  // wrong, if no other one was. The other judge sees images one by one until one is wrong.
  std::function<void(const Image&)> keep{};
};

struct CrashResult {
  std::uint64_t points = 0;      // visited
  std::uint64_t all_points = 0;  // of the run
  std::uint64_t images = 0;      // recovered and judged
  std::uint64_t repaired = 0;    // points at which recovery changed the image
  std::uint64_t restarts = 0;    // of recovery, after a crash of its own
  std::uint64_t inspected = 0;   // by the other judge
  std::uint64_t different = 0;   // images, each once: those that it could have seen
  std::uint64_t violations = 0;  // points with one, there or before the next point
  double wall_s = 0;             // of the host: simulation, images, recovery, oracle
  std::optional<CrashStory> story;
};

// `progress` as in simulate(). Throws ConfigError (also if the design promises nothing), Error if
// this computer has no room for it, trace::TraceError, StuckError, Interrupted.
CrashResult crash(const trace::TraceFile& trace, const Configuration& configuration,
                  const CrashOptions& options, const std::function<bool(double)>& progress);

}  // namespace pmemsim
