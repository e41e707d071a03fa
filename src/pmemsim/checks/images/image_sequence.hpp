// A sequence of distinct images, in the same order every time. The caller shows them to a checker
// and finds the losses that matter.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "pmemsim/checks/images/known_reads.hpp"
#include "pmemsim/common/image.hpp"

namespace pmemsim {

class ImageSequence {
 public:
  ImageSequence() = default;
  ImageSequence(const ImageSequence&) = delete;
  ImageSequence& operator=(const ImageSequence&) = delete;
  virtual ~ImageSequence() = default;

  // Moves to the next image. Returns false if there are no more. Throws trace::TraceError.
  virtual bool next() = 0;
  // Moves to the image with this number, from 1, forwards or backwards. Returns false if there are
  // only number() images.
  virtual bool go_to(std::uint64_t number) = 0;
  virtual std::uint64_t number() const = 0;

  // Starts again, with known reads of the checker (image_search.hpp, rule 3). The reads are used
  // until the next call. Some sequences ignore them.
  virtual void explore_by(const KnownReads&) {}
  // explored(): true if the current image was made from known reads. depend_on_reads(): true if the
  // reads determine which image has which number.
  virtual bool explored() const { return false; }
  virtual bool depend_on_reads() const { return false; }

  virtual const Image& image() const = 0;
  // Returns the lines in which the image may differ from the image at the last call; at the first
  // call, from an empty image.
  virtual std::vector<Line> changed() = 0;

  // losses() returns the numbers of lines or groups of stores that happened before the image's
  // crash but are not in the image, the oldest first. restore_losses() restores some losses or
  // removes them again, until the next image. The losses removed again must be those restored last.
  virtual std::vector<std::uint64_t> losses() const = 0;
  virtual void restore_losses(std::span<const std::uint64_t> numbers, bool restored) = 0;
  virtual std::vector<std::string> explanation() const = 0;

  // Returns the number of images if exact() is true; otherwise an upper bound of it.
  virtual double possible() const = 0;
  // complete(): true if all images have a verdict. exact(): true if each image was made.
  virtual bool complete() const = 0;
  virtual bool exact() const { return complete(); }
  // Returns the number of instants at which a crash leaves images that no earlier one leaves.
  virtual std::uint64_t instants() const = 0;
  // Returns a number that is equal for the same set of shown images, in any order.
  virtual std::uint64_t fingerprint() const = 0;
};

}  // namespace pmemsim
