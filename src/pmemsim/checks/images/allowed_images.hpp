// The images of persistent memory that a crash may leave of a recording, one after the other, each
// once: all of them, or as many as asked for, those first that bugs are likely to show in
// (image_search.hpp).
//
//   1  Most of the likely ones (piece_set.hpp) come from the same source lines over and over:
//   loops.
//      So there are rounds over the whole recording: one of each sort, up to four, up to sixteen,
//      ..., evenly spread over the recording.
//   2  Random ones are spread over the instants.
//   3  Images that are judged by what is known of reads are made by multiplying what is read only
//      (explored_images.hpp), instant by instant.
//
// The same recording, rules, seed and number give the same images in the same order; of rule 3, if
// the same is read.
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
#include "pmemsim/checks/images/piece_set.hpp"
#include "pmemsim/checks/images/survey.hpp"
#include "pmemsim/common/image.hpp"

namespace pmemsim {

class AllowedImages final : private ImageSource {
 public:
  // `without`: flushes and fences that are left out (visible_order.hpp).
  AllowedImages(const trace::TraceFile& trace, PersistencyRules rules, std::uint64_t seed,
                std::uint64_t most, trace::LeftOut without = {});

  // Are images made by rule 3 at once, if it is known what is read?
  bool reads_come_first() const { return search_.reads_come_first(); }
  // Or is the number of the first of these known only then?
  bool reads_come_later() const { return most_ == ImageSearch::kNoEnd; }
  // Before the first image.
  void explore_by(const KnownReads& reads);

  // Goes to the next image. False: there are no more. Throws trace::TraceError.
  bool next();

  // What the image holds: the base, with some lines changed.
  using Change = std::pair<Line, LineData>;
  const Image& base() const { return model_->base(); }
  const std::vector<Change>& changes() const { return changes_; }
  // What has happened to the base since the image before: it is another altogether, or these lines
  // have changed.
  bool base_is_another() const { return base_is_another_; }
  const std::vector<Line>& base_changes() const { return base_changes_; }

  // Counts of what the search has shown and judged.
  const ImageSearch& search() const { return search_; }
  // Two recordings of the same stores with the same digest leave the same images.
  std::uint64_t digest() const { return survey_.digest; }
  std::uint64_t instants() const { return survey_.instants; }

  const trace::LeftOut& without() const { return without_; }

  // By rule 3: at which instant an image stands, from 1, and what is fixed; and such an image
  // again.
  struct Explored {
    std::uint64_t instant;
    ExploredImages::Fixed fixed;
  };
  std::optional<Explored> explored() const;
  void show_again(const Explored& image);

  // Where the image's crash stands, and which of an open line's pieces it holds.
  const PersistencyModel& model() const { return *model_; }
  Presence present(Line line, const PersistencyModel::Pieces& pieces) const;

  // Lines whose open pieces aren't all there, in the order in which they were last stored to.
  std::vector<Line> lost_lines() const;
  // Whoever asks which losses matter may take lines of the image as they were visible, until the
  // next image: lines are independent, so that this is an allowed image, too.
  void bring_back(Line line, bool back);
  LineData contents(Line line) const;

 private:
  void begin(Pass pass, std::uint64_t draws) override;
  bool has_likely() const override { return quota_ < last_quota_; }
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
  const trace::LeftOut without_;
  const Survey survey_;

  ImageSearch search_;

  std::optional<PersistencyModel> model_;
  Pass pass_ = Pass::kAll;
  std::uint64_t quota_ = 0, last_quota_ = 0;              // of likely sets of a code, in this round
  std::unordered_map<std::uint64_t, std::uint64_t> met_;  // in this round, by code
  std::uint64_t instant_ = 0, draws_ = 0, drawn_ = 0;

  std::optional<AllImages> all_;
  std::vector<PieceSet> sets_;  // of this instant, those left at the back
  std::uint64_t draws_left_ = 0;
  PieceSet set_{};

  const KnownReads* reads_ = nullptr;
  std::optional<ExploredImages> exploration_;
  std::vector<ExploredImages::Fixed> missing_;  // of this instant, those left at the back
  ExploredImages::Fixed fixed_;
  std::size_t runs_before_ = 0;  // when they were found missing
  bool looked_ = false, gave_up_ = false;

  std::unordered_set<std::uint64_t> brought_back_;
  std::vector<Change> changes_;
  std::vector<Line> base_changes_;
  bool base_is_another_ = true;
  // By line: the hash of what the base has there. Their differences from what was there in the
  // beginning are the base's hash.
  std::unordered_map<std::uint64_t, std::uint64_t> base_lines_;
  std::uint64_t base_hash_ = 0;
};

}  // namespace pmemsim
