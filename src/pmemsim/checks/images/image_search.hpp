// The order in which images of a crash are searched, whatever says which of them a crash may leave,
// and when the search ends. Each image is shown once.
//
//   1  If there are no more sets than asked for, all of them are gone through.
//   2  Otherwise the likely ones come first, in rounds that the source decides. Then come random
//      ones, in rounds, and the search ends when three rounds have found nothing new. Who doesn't
//      say how many gets all sets behind the likely ones, if they can be gone through at all.
//   3  Whoever shows the images may tell what of them is read (KnownReads), if the source can make
//      use of it. Then images that are left are judged by what is known: at once if all are wanted
//      and they are more than kMostOneByOne (and if that is in vain, all are gone through), else at
//      the end. Where the search has no end, it goes on so behind a round of random images of which
//      none had to be shown.
//
// The same source and number give the same images in the same order; of rule 3, if the same is
// read.
#pragma once

#include <cstdint>
#include <unordered_set>

#include "pmemsim/checks/images/known_reads.hpp"

namespace pmemsim {

// Makes the images: sets of what is there, which may leave the same image twice.
class ImageSource {
 public:
  enum class Pass : std::uint8_t { kAll, kLikely, kRandom, kReads };

  ImageSource() = default;
  ImageSource(const ImageSource&) = delete;
  ImageSource& operator=(const ImageSource&) = delete;
  virtual ~ImageSource() = default;

  // Begins a pass over the recording, of so many draws if it is a random one.
  virtual void begin(Pass pass, std::uint64_t draws) = 0;
  // Is there another round of likely sets behind those that have begun?
  virtual bool has_likely() const = 0;
  // Goes to the next set of the pass. False: there are no more.
  virtual bool next_set() = 0;
  // Of the image that the set leaves.
  virtual std::uint64_t hash() const = 0;
  // Has a pass of kReads come to nothing?
  virtual bool gave_up() const { return false; }
};

class ImageSearch {
 public:
  static constexpr std::uint64_t kNoEnd = UINT64_MAX;  // until somebody has seen enough
  // More are never gone through one by one.
  static constexpr std::uint64_t kMostAll = 10'000'000;
  // If it is known what is read.
  static constexpr std::uint64_t kMostOneByOne = 100'000;

  // `sets`: how many the source has, at least if they are more than `most`. `instants`: at how many
  // a crash leaves images that no earlier one leaves.
  ImageSearch(ImageSource& source, double sets, std::uint64_t instants, std::uint64_t most)
      : source_(source), sets_(sets), instants_(instants), most_(most) {}

  // Before the first image.
  void explore_by(const KnownReads& reads) { reads_ = &reads; }
  bool reads_come_first() const;

  // Goes to the next image. False: there are no more.
  bool next();

  std::uint64_t shown() const { return hashes_.size(); }
  double possible() const { return exact_ ? static_cast<double>(shown()) : sets_; }
  // All are judged; each was shown if `exact`.
  bool complete() const { return complete_; }
  bool exact() const { return exact_; }
  bool ended() const { return stage_ == Stage::kEnded; }
  // The same for the same set of images that were shown, whatever their order.
  std::uint64_t fingerprint() const;

 private:
  enum class Stage : std::uint8_t { kNew, kPass, kEnded };

  bool fits() const;
  bool wants_more() const;
  bool next_pass();
  bool after_random();
  bool begin(ImageSource::Pass pass);
  bool begin_reads();
  bool end(bool complete);

  ImageSource& source_;
  const double sets_;
  const std::uint64_t instants_, most_;
  const KnownReads* reads_ = nullptr;

  Stage stage_ = Stage::kNew;
  ImageSource::Pass pass_ = ImageSource::Pass::kAll;
  std::uint64_t rounds_for_nothing_ = 0;
  std::uint64_t shown_before_ = 0, left_before_ = 0;  // the pass
  bool complete_ = false, exact_ = false;
  std::unordered_set<std::uint64_t> hashes_;
};

}  // namespace pmemsim
