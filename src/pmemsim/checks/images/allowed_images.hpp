// The images of persistent memory that a crash of a recording may leave, each once: all of them, or
// a given number. Images that are likely to expose bugs come first (image_search.hpp).
//
//   1  Most of the likely images (segment_set.hpp) come from the same source lines again and again,
//      because of loops. So the search makes rounds over the whole recording. They show at most 1
//      image of each sort, then 4, then 16, and so on, evenly spread over the recording.
//   2  Random images are spread over the instants.
//   3  If the checker's reads are known, they give most images their verdict. Then only lines that
//      the checker reads are varied, instant by instant (explored_images.hpp).
//
// The same recording, rules, seed and number give the same images in the same order; for rule 3,
// only if the checker reads the same data.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "pmemsim/checks/images/all_images.hpp"
#include "pmemsim/checks/images/explored_images.hpp"
#include "pmemsim/checks/images/image_search.hpp"
#include "pmemsim/checks/images/known_reads.hpp"
#include "pmemsim/checks/images/persistency_model.hpp"
#include "pmemsim/checks/images/segment_set.hpp"
#include "pmemsim/checks/images/survey.hpp"
#include "pmemsim/common/image.hpp"

namespace pmemsim {

class AllowedImages final : private ImageSource {
 public:
  // Surveys the recording.
  AllowedImages(const trace::TraceFile& trace, PersistencyRules rules, std::uint64_t seed,
                std::uint64_t most, Variation variation = {});

  // True if images are made by rule 3 from the start, once reads are known.
  bool explores_reads_first() const { return search_.explores_reads_first(); }
  // True if images are made by rule 3 later, from a number on that depends on the reads.
  bool explores_reads_later() const { return most_ == ImageSearch::kNoEnd; }
  // Enables rule 3; call it before the first image.
  void explore_by(const KnownReads& reads);

  // Moves to the next image. Returns false if there are no more. Throws trace::TraceError.
  bool next();

  // The image's contents: the base, with some lines changed.
  using Change = std::pair<Line, LineData>;
  const Image& base() const { return model_->base(); }
  const std::vector<Change>& changes() const { return changes_; }
  // The difference between this image's base and the previous image's base. If base_is_another() is
  // true, they may differ anywhere, otherwise only in base_changes().
  bool base_is_another() const { return base_is_another_; }
  const std::vector<Line>& base_changes() const { return base_changes_; }

  // Returns the search, with its counts of images shown and checked.
  const ImageSearch& search() const { return search_; }
  // Two recordings of the same stores with the same digest leave the same images.
  std::uint64_t digest() const { return survey_.digest; }
  std::uint64_t instants() const { return survey_.instants; }

  const Variation& variation() const { return variation_; }

  // An image made by rule 3: its instant, from 1, and its fixed lines. show_again() makes such an
  // image again.
  struct Explored {
    std::uint64_t instant;
    ExploredImages::Fixed fixed;
  };
  std::optional<Explored> explored() const;
  void show_again(const Explored& image);

  // Return the model at the image's crash, and the segments of an open line that the image
  // contains.
  const PersistencyModel& model() const { return *model_; }
  Presence present(Line line, const PersistencyModel::Segments& segments) const;

  // Returns the lines that lack an open segment, in the order of their last stores.
  std::vector<Line> lost_lines() const;
  // Restores all visible segments of a line if `restored`, or undoes that, until the next image.
  // This helps to find the losses that matter: lines are independent, so the result is an allowed
  // image, too.
  void restore_losses(Line line, bool restored);
  LineData contents(Line line) const;

 private:
  void begin(Pass pass, std::uint64_t draws) override;
  bool has_another_likely_round() const override { return quota_ < last_quota_; }
  bool next_set() override;
  std::uint64_t hash() const override;
  bool gave_up() const override { return gave_up_; }

  bool next_instant();
  void take_likely();
  bool is_chosen(std::uint64_t code);
  bool next_of_instant();
  bool next_explored();
  bool find_missing();
  void compose();
  void compose_from_all();
  void change(Line line, const LineData& data);
  void note_base();

  const trace::TraceFile& trace_;
  const PersistencyRules rules_;
  const std::uint64_t seed_, most_;
  const Variation variation_;
  const Survey survey_;

  ImageSearch search_;

  std::optional<PersistencyModel> model_;
  Pass pass_ = Pass::kAll;
  // Maximum number of likely sets of a code, in this round and in the last one.
  std::uint64_t quota_ = 0, last_quota_ = 0;
  std::unordered_map<std::uint64_t, std::uint64_t> met_;  // Number seen in this round, by code
  std::uint64_t instant_ = 0, draws_ = 0, drawn_ = 0;

  std::optional<AllImages> all_;
  std::vector<SegmentSet> sets_;  // Sets of this instant still to be used, from the back
  std::uint64_t draws_left_ = 0;
  SegmentSet set_{};

  const KnownReads* reads_ = nullptr;
  std::optional<ExploredImages> exploration_;
  std::vector<ExploredImages::Fixed>
      missing_;  // Images of the instant still to be shown, from the back
  ExploredImages::Fixed fixed_;
  std::size_t runs_before_ = 0;  // Number of runs when missing_ was found
  bool looked_ = false, gave_up_ = false;

  std::unordered_set<std::uint64_t> restored_;
  std::vector<Change> changes_;
  std::vector<Line> base_changes_;
  bool base_is_another_ = true;
  // By line: the hash of the line in the base. The base's hash combines its differences from the
  // initial hashes.
  std::unordered_map<std::uint64_t, std::uint64_t> base_lines_;
  std::uint64_t base_hash_ = 0;
};

}  // namespace pmemsim
