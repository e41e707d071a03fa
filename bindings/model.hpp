// The images that a persistency model or a design's promises allow, and checkers that see them, as
// the Python module has them.
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
#include "pmemsim/checks/images/image_sequence.hpp"
#include "pmemsim/checks/images/judged_images.hpp"
#include "pmemsim/machine/run/configuration.hpp"
#include "pmemsim/trace/left_out.hpp"
#include "pmemsim/trace/reader.hpp"

namespace pmemsim::bindings {

// Flushes and fences that a program is without; none: it is whole.
struct Without {
  trace::LeftOut operations;
};

// Which ones, in which order.
struct WantedImages {
  bool eadr;
  // The design whose guarantees allow the images; nothing: a persistency model does.
  std::optional<Configuration> design;
  std::uint64_t seed, most;
  Without without;
  bool watch;  // what is read of them, where that can be told
};

// The images, and checkers that see them.
class ModelImages {
 public:
  ModelImages(const trace::TraceFile& trace, const WantedImages& wanted,
              const CheckerCommand& command, std::size_t jobs)
      : ModelImages(trace, trace, wanted, command, jobs) {}
  ModelImages(const ModelImages&) = delete;
  ModelImages& operator=(const ModelImages&) = delete;
  virtual ~ModelImages() = default;

  // Judges all, until one is rejected, so many seconds are over (once one has been shown), or there
  // are no more. The number of the first one that was rejected, which they have come to then; 0:
  // there is none.
  std::uint64_t show_all(std::optional<double> seconds, const Progress& progress);

  // To the image of this number; if it depends on what the checker reads which that is, they are
  // judged up to there. False: there is none, or one before was rejected.
  bool go_to(std::uint64_t number, const Progress& progress);

  // What a checker says of the image that they have come to, if it rejects it.
  std::optional<CheckerAnswer> judge(const Progress& progress);
  // What it has said of the first one that show_all() has found.
  CheckerAnswer said() const { return checkers_.rejected().begin()->second; }

  // Each region of PM to its file.
  void write(const std::vector<Path>& files);

  bool watches() const { return watches_; }
  std::uint64_t shown() const { return judged_.shown(); }
  ImageSequence& images() { return *images_; }
  const ImageSequence& images() const { return *images_; }
  const trace::TraceFile& trace() const { return trace_; }
  const trace::TraceFile& shown_as() const { return shown_as_; }
  const std::vector<trace::PmRegion>& regions() const { return shown_as_.metadata().pm_regions; }
  // What the checkers see.
  virtual const Image& image() { return images_->image(); }
  // So many of them at most.
  virtual std::uint64_t limit() const { return UINT64_MAX; }

 protected:
  // The checkers see the persistent memory of the program that `shown_as` is the recording of.
  ModelImages(const trace::TraceFile& trace, const trace::TraceFile& shown_as,
              const WantedImages& wanted, const CheckerCommand& command, std::size_t jobs);

  // What the checkers see, and where it may differ from what they saw last, if the model's image
  // may differ there.
  struct Seen {
    const Image& image;
    std::vector<Line> changed;
  };
  virtual Seen seen(std::vector<Line> changed) { return {images_->image(), std::move(changed)}; }
  std::vector<Line> take_changed() { return judged_.take_changed(); }

 private:
  class Checkers;

  CheckerProcess::KeepGoing reporter(const Progress& progress) const;
  std::uint64_t judge_upto(std::uint64_t number, const Progress& progress,
                           const std::function<bool()>& in_time);

  const trace::TraceFile& trace_;
  const trace::TraceFile& shown_as_;
  const std::unique_ptr<ImageSequence> images_;
  const bool library_;
  CheckerPool checkers_;
  const bool watches_;
  JudgedImages judged_;
};

}  // namespace pmemsim::bindings
