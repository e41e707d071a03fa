// Images that somebody makes one after the other, each once and in the same order every time, for
// whoever shows them to a checker and asks which losses matter.
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

  // Goes to the next image. False: there are no more. Throws trace::TraceError.
  virtual bool next() = 0;
  // Goes to the one of this number, from 1; back, too. False: there are only number() of them.
  virtual bool go_to(std::uint64_t number) = 0;
  virtual std::uint64_t number() const = 0;

  // Begins again, for somebody who knows what of the images is read (image_search.hpp, rule 3),
  // which is asked until the next call. Not all make use of it.
  virtual void explore_by(const KnownReads&) {}
  // Was the image made so? Does it depend on what is read which image has a number?
  virtual bool explored() const { return false; }
  virtual bool depend_on_reads() const { return false; }

  virtual const Image& image() const = 0;
  // Lines in which it may differ from what it was at the last call, or from nothing at the first.
  virtual std::vector<Line> changed() = 0;

  // What has happened before the image's crash but isn't there, by numbers, the first first; and
  // the image with or without some of that, until the next one. What is lost again must be what was
  // brought back last.
  virtual std::vector<std::uint64_t> losses() const = 0;
  virtual void bring_back(std::span<const std::uint64_t> numbers, bool back) = 0;
  virtual std::vector<std::string> story() const = 0;

  // How many there are; at most so many, unless `exact`.
  virtual double possible() const = 0;
  // All are judged; each was made if `exact`.
  virtual bool complete() const = 0;
  virtual bool exact() const { return complete(); }
  // At which a crash leaves images that no earlier one leaves.
  virtual std::uint64_t instants() const = 0;
  // The same for the same set of images that were shown, whatever their order.
  virtual std::uint64_t fingerprint() const = 0;
};

}  // namespace pmemsim
