// Crash simulation: simulates a recording on a design and crashes it at every change of the data
// that would survive. At each such point the design's own recovery runs on exactly the surviving
// data. The oracle then checks the recovered image.
//
//   1  Crash points are lines accepted into the persistence domain, writes removed from it, and
//      changes of the design's persistent registers or structures. The memory reports them
//      (machine/memory/memory.hpp, PersistenceObserver).
//   2  The surviving image follows these changes, line by line. Recovery changes it and is undone
//      afterwards. The cost of a point therefore depends on the amount of change, not on the size
//      of the image. (If a design releases its redo log late, redoing the whole log at each point
//      would cost too much. Its recovery continues from the previous point's image instead:
//      redo_recovery.hpp.)
//   3  Recovery is crashed, too: it is stopped at each of its writes and run again, and must leave
//      the same image. A recovery that never reads a line that it writes has the same effect when
//      it is run again, so a check line by line is enough. Any other recovery is stopped and run
//      again.
//   4  The verdict of each point holds until the next one, or until the design gives the program
//      another durability guarantee: then the image is checked again.
//   5  Recorded values are replayed, so the value of a load never shows in an image. A design that
//      lets a load read data which are no longer the newest reports it (ProgramEvents::stale_load).
//      The region must then be rolled back before it commits or survives a crash. Outside regions
//      the program must be notified.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pmemsim/common/units.hpp"
#include "pmemsim/crash/crash_explanation.hpp"
#include "pmemsim/designs/backend/device_image.hpp"
#include "pmemsim/designs/backend/surviving_registers.hpp"

namespace pmemsim {

class Image;
struct Configuration;
namespace trace {
class TraceFile;
}

// An external checker of images, which may deliver its verdicts later.
class ExternalChecker {
 public:
  ExternalChecker() = default;
  ExternalChecker(const ExternalChecker&) = delete;
  ExternalChecker& operator=(const ExternalChecker&) = delete;
  virtual ~ExternalChecker() = default;
  virtual void show(const Image& image) = 0;
  // True if images that the oracle has found wrong are to be shown, too.
  virtual bool wants_wrong_images() const { return false; }
  // Returns the problems of all images shown until now, by the image's number, counted from 0.
  virtual std::map<std::uint64_t, std::string> wrong() = 0;
};

struct CrashOptions {
  std::uint64_t sample = 0;  // Number of crash points, chosen at random; 0: all
  std::uint64_t seed = 1;
  std::optional<Time> at{};  // Crash only at the last points at or before this time
  // Number of further images at each point that the design also allows at that time. In each, some
  // dirty lines of the caches are written back, as an eviction a moment earlier might have done.
  std::uint64_t subsets = 0;
  // Number of parts of the run, each on a thread of its own. The results are the same for any
  // number. There are fewer parts if this computer's memory is too small for them, and only one
  // with `at` or `keep`.
  std::uint32_t parts = 1;
  // External checker: sees `inspections` images, at points spread evenly over the run. With
  // kAllImages it checks all recovered images.
  ExternalChecker* external_checker = nullptr;
  static constexpr std::uint64_t kAllImages = UINT64_MAX;
  std::uint64_t inspections = 0;
  // With `at`: called with the surviving data of the last of these points, before decoding and
  // recovery.
  std::function<void(const DeviceImage&, const SurvivingRegisters&)> save{};
  // Called with the first wrong image, after recovery. With `at`, also called with the image of the
  // last point, unless a wrong image was kept before. With `keep`, the external checker checks
  // images one at a time until it rejects one.
  std::function<void(const Image&)> keep{};
};

struct CrashResult {
  std::uint64_t points = 0;      // Number of crash points visited
  std::uint64_t all_points = 0;  // Number of crash points of the run
  std::uint64_t images = 0;      // Number of images recovered and checked
  std::uint64_t repaired = 0;    // Number of points at which recovery changed the image
  std::uint64_t restarts = 0;    // Number of times recovery was crashed and run again
  std::uint64_t inspected = 0;   // Number of images shown to the external checker
  std::uint64_t different = 0;   // Number of distinct images to show to the checker
  std::uint64_t violations = 0;  // Number of points with a wrong verdict (rule 4)
  double wall_s = 0;             // Host time in s: simulation, images, recovery, oracle
  std::optional<CrashExplanation> explanation;
};

// Simulates `trace` and checks its crashes. `progress` is called as in simulate(). Throws
// ConfigError (also if the design guarantees nothing), Error if this computer has too little
// memory, trace::TraceError, StuckError, Interrupted.
CrashResult crash(const trace::TraceFile& trace, const Configuration& configuration,
                  const CrashOptions& options, const std::function<bool(double)>& progress);

}  // namespace pmemsim
