// The order in which crash images are searched, for any model that says which images are allowed,
// and the end of the search. Each image is shown once.
//
//   1  If the source has no more sets than `most`, the search goes through all of them.
//   2  Otherwise the likely sets come first, in rounds that the source defines. Then come random
//      sets, in rounds, until three rounds have found nothing new. Without a limit (kNoEnd), all
//      sets follow the likely ones, if there are few enough.
//   3  The caller that shows the images may report the data that the checker reads (KnownReads), if
//      the source can use them. The remaining images then get their verdict from these reads. The
//      time of this pass depends on `most`:
//      - `most` includes all sets (or kMostSets), which are more than kMostSetsBeforeReads: at the
//        start. If the pass fails, the search goes through all sets, if they are at most kMostSets.
//      - kNoEnd: after a round of random images of which none had to be shown, else at the end.
//      - any other `most`: at the end.
//
// The same source and `most` give the same images in the same order; for rule 3, only if the
// checker reads the same data.
#pragma once

#include <cstdint>
#include <unordered_set>

#include "pmemsim/checks/images/known_reads.hpp"

namespace pmemsim {

// The source of the images: sets of stores that persist. Two sets may leave the same image.
class ImageSource {
 public:
  enum class Pass : std::uint8_t { kAll, kLikely, kRandom, kReads };

  ImageSource() = default;
  ImageSource(const ImageSource&) = delete;
  ImageSource& operator=(const ImageSource&) = delete;
  virtual ~ImageSource() = default;

  // Begins a pass over the recording; a random pass draws `draws` sets.
  virtual void begin(Pass pass, std::uint64_t draws) = 0;
  // True if another round of likely sets follows those that have begun.
  virtual bool has_another_likely_round() const = 0;
  // Moves to the next set of the pass. Returns false if there are no more.
  virtual bool next_set() = 0;
  // Returns the hash of the image that the set leaves.
  virtual std::uint64_t hash() const = 0;
  // True if a pass of kReads has failed.
  virtual bool gave_up() const { return false; }
};

class ImageSearch {
 public:
  static constexpr std::uint64_t kNoEnd = UINT64_MAX;  // No limit: the caller ends the search
  // Maximum number of sets of a search that goes through all of them.
  static constexpr std::uint64_t kMostSets = 10'000'000;
  // The same if the checker's reads are known: with more sets, rule 3 comes first.
  static constexpr std::uint64_t kMostSetsBeforeReads = 100'000;

  // `sets`: number of sets of the source, or an upper bound of it if there are more than `most`.
  // `instants`: number of instants at which a crash leaves images that no earlier one leaves.
  ImageSearch(ImageSource& source, double sets, std::uint64_t instants, std::uint64_t most)
      : source_(source), sets_(sets), instants_(instants), most_(most) {}

  // Sets the known reads; call it before the first image.
  void explore_by(const KnownReads& reads) { reads_ = &reads; }
  bool explores_reads_first() const;

  // Moves to the next image. Returns false if there are no more.
  bool next();

  std::uint64_t shown() const { return hashes_.size(); }
  double possible() const { return exact_ ? static_cast<double>(shown()) : sets_; }
  // complete(): true if all images have a verdict. exact(): true if each image was shown.
  bool complete() const { return complete_; }
  bool exact() const { return exact_; }
  bool ended() const { return stage_ == Stage::kEnded; }
  // Returns a number that is equal for the same set of shown images, in any order.
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
  std::uint64_t shown_before_ = 0, left_before_ = 0;  // Values before the pass
  bool complete_ = false, exact_ = false;
  std::unordered_set<std::uint64_t> hashes_;
};

}  // namespace pmemsim
