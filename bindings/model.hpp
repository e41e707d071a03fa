// Images that a persistency model or a design's durability guarantees allow, with their checkers,
// for the Python module.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "checker.hpp"
#include "pmemsim/checks/images/checked_images.hpp"
#include "pmemsim/checks/images/image_sequence.hpp"
#include "pmemsim/machine/run/configuration.hpp"
#include "pmemsim/trace/left_out.hpp"
#include "pmemsim/trace/reader.hpp"

namespace pmemsim::bindings {

// Flushes and fences that are left out of a program, and code of pm.h's log that it skips
// (checks/images/needless_logs.hpp); none by default. Crash images ignore the log's code.
struct Without {
  trace::LeftOut operations{};
  trace::LeftOut log{};
};

// Selection and order of the images.
struct WantedImages {
  bool eadr;
  // The design whose guarantees allow the images; nothing: a persistency model allows them.
  std::optional<Configuration> design;
  std::uint64_t seed, most;
  Without without;
  // Number of the thread whose flushes and fences are delayed, under a persistency model.
  std::optional<std::uint32_t> delayed;
  // Number of hosts that share PM, and of the failed one; with one host, everything fails.
  std::uint32_t hosts, failed;
  bool watch;  // record which parts of the images the checker reads, if possible
};

// A sequence of images, and checkers that check them.
class ModelImages {
 public:
  ModelImages(const trace::TraceFile& trace, const WantedImages& wanted,
              const CheckerCommand& command, std::size_t jobs)
      : ModelImages(trace, trace, wanted, command, jobs) {}
  ModelImages(const ModelImages&) = delete;
  ModelImages& operator=(const ModelImages&) = delete;
  virtual ~ModelImages() = default;

  // Checks the images until one is rejected, until this number of seconds is over (at least one
  // image), or until the sequence ends. Returns the number of the first rejected image, which is
  // then the current image; 0 if no image was rejected.
  std::uint64_t show_all(std::optional<double> seconds, const Progress& progress);

  // Moves to the image of this number. If the order of images depends on the checker's reads, the
  // earlier images are checked first. Returns false if there is no such image, or if an earlier
  // image was rejected.
  bool go_to(std::uint64_t number, const Progress& progress);

  // Returns a checker's answer to the current image if it rejects the image.
  std::optional<CheckerAnswer> check_image(const Progress& progress);
  // Returns the answer to the first rejected image that show_all() found.
  CheckerAnswer said() const { return checkers_.rejected().begin()->second; }

  // Writes each region of PM to its file.
  void write(const std::vector<Path>& files);

  bool watches() const { return watches_; }
  std::uint64_t shown() const { return checked_.shown(); }
  ImageSequence& images() { return *images_; }
  const ImageSequence& images() const { return *images_; }
  const trace::TraceFile& trace() const { return trace_; }
  const trace::TraceFile& shown_as() const { return shown_as_; }
  const std::vector<trace::PmRegion>& regions() const { return shown_as_.metadata().pm_regions; }
  // Returns the image that the checkers receive.
  virtual const Image& image() { return images_->image(); }
  // Returns the largest number of images to check.
  virtual std::uint64_t limit() const { return UINT64_MAX; }

 protected:
  // Constructs the sequence. `shown_as` is the recording of the program whose persistent memory the
  // checkers receive.
  ModelImages(const trace::TraceFile& trace, const trace::TraceFile& shown_as,
              const WantedImages& wanted, const CheckerCommand& command, std::size_t jobs);

  // The image that the checkers receive, and the lines that may differ from the image they received
  // last.
  struct Seen {
    const Image& image;
    std::vector<Line> changed;
  };
  virtual Seen seen(std::vector<Line> changed) { return {images_->image(), std::move(changed)}; }
  std::vector<Line> take_changed() { return checked_.take_changed(); }

 private:
  class Checkers;

  CheckerProcess::KeepGoing reporter(const Progress& progress) const;
  std::uint64_t check_up_to(std::uint64_t number, const Progress& progress,
                            const std::function<bool()>& in_time);

  const trace::TraceFile& trace_;
  const trace::TraceFile& shown_as_;
  const std::unique_ptr<ImageSequence> images_;
  const bool library_;
  CheckerPool checkers_;
  const bool watches_;
  CheckedImages checked_;
};

}  // namespace pmemsim::bindings
