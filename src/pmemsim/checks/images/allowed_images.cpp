#include "pmemsim/checks/images/allowed_images.hpp"

#include <algorithm>
#include <utility>

#include "pmemsim/checks/images/content_hashes.hpp"
#include "pmemsim/common/mix.hpp"

namespace pmemsim {
namespace {

constexpr std::uint64_t kMostMissing = 4096;  // Per step

// Returns the size of part number `part` when `number` is divided into `parts` nearly equal parts.
std::uint64_t share(std::uint64_t number, std::uint64_t part, std::uint64_t parts) {
  const auto upto = [&](std::uint64_t end) {
    return static_cast<std::uint64_t>(static_cast<__uint128_t>(number) * end / parts);
  };
  return upto(part + 1) - upto(part);
}

// Returns the largest quota for each code with which the total is at most `most`.
std::uint64_t last_quota(const Survey& survey, std::uint64_t most) {
  const auto together = [&](std::uint64_t quota) {
    std::uint64_t sum = 0;
    for (const auto& [code, count] : survey.likely) sum += std::min(count, quota);
    return sum;
  };
  std::uint64_t largest = 0;
  for (const auto& [code, count] : survey.likely) largest = std::max(largest, count);
  if (together(largest) <= most) return largest;
  std::uint64_t low = 0, high = largest;  // `high` is too large
  while (low + 1 < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    (together(middle) <= most ? low : high) = middle;
  }
  return low;
}

}  // namespace

AllowedImages::AllowedImages(const trace::TraceFile& trace, PersistencyRules rules,
                             std::uint64_t seed, std::uint64_t most, Variation variation)
    : trace_(trace),
      rules_(rules),
      seed_(seed),
      most_(most),
      variation_(std::move(variation)),
      survey_(survey(trace, rules, variation_)),
      search_(*this, survey_.possible, survey_.instants, most),
      last_quota_(last_quota(survey_, most)) {}

void AllowedImages::explore_by(const KnownReads& reads) {
  reads_ = &reads;
  search_.explore_by(reads);
}

bool AllowedImages::next() {
  base_changes_.clear();
  base_is_another_ = false;
  restored_.clear();
  return search_.next();
}

// ---- Passes ------------------------------------------------------------------------------------

void AllowedImages::begin(Pass pass, std::uint64_t draws) {
  pass_ = pass;
  draws_ = draws;
  model_.emplace(trace_, rules_, variation_);
  base_is_another_ = true;
  base_changes_.clear();
  base_lines_.clear();
  base_hash_ = 0;
  met_.clear();
  instant_ = 0;
  gave_up_ = false;
  if (pass == Pass::kLikely) quota_ = std::min(std::max<std::uint64_t>(1, quota_ * 4), last_quota_);
  if (pass == Pass::kReads && reads_ != nullptr)
    exploration_.emplace(reads_->first, reads_->unit_bytes);
  next_instant();
}

bool AllowedImages::next_instant() {
  if (!model_->next()) return false;
  note_base();
  if (pass_ == Pass::kAll) all_.emplace(*model_, instant_ == 0);
  if (pass_ == Pass::kLikely) take_likely();
  if (pass_ == Pass::kRandom) draws_left_ = share(draws_, instant_, survey_.instants);
  if (pass_ == Pass::kReads && exploration_) {
    exploration_->next_instant(*model_);
    looked_ = false;
  }
  ++instant_;
  return true;
}

void AllowedImages::note_base() {
  for (const Line line : model_->base_changes()) {
    const std::uint64_t now = hash_of(line, base().read(line));
    std::uint64_t& before = base_lines_.at(line.number);
    base_hash_ ^= before ^ now;
    before = now;
    base_changes_.push_back(line);
  }
  for (const auto& [number, segments] : model_->open()) {
    if (base_lines_.contains(number)) continue;
    base_lines_.emplace(number, hash_of({number}, base().read({number})));
  }
}

// ---- Images of an instant ----------------------------------------------------------------------

bool AllowedImages::next_set() {
  do {
    if (next_of_instant()) return true;
  } while (!gave_up_ && next_instant());
  return false;
}

void AllowedImages::take_likely() {
  sets_.clear();
  for (const LikelySet& likely : likely_sets(*model_)) {
    if (is_chosen(likely.code)) sets_.push_back(likely.set);
  }
  std::ranges::reverse(sets_);
}

// Rule 1. If there are more codes than images, chooses some of them at random.
bool AllowedImages::is_chosen(std::uint64_t code) {
  const std::uint64_t number = met_[code]++;
  const std::uint64_t count = survey_.likely.at(code);
  if (quota_ > 0) return share(std::min(quota_, count), number, count) > 0;
  return number == 0 && mix(code ^ seed_) % survey_.likely.size() < most_;
}

bool AllowedImages::next_of_instant() {
  if (pass_ == Pass::kReads) return next_explored();
  if (all_) {
    if (all_->next()) {
      compose_from_all();
      return true;
    }
    all_.reset();
    return false;
  }
  if (!sets_.empty()) {
    set_ = sets_.back();
    sets_.pop_back();
  } else if (draws_left_ > 0) {
    --draws_left_;
    set_ = {.how = SegmentSet::How::kRandom, .seed = mix(seed_) + ++drawn_};
  } else {
    return false;
  }
  compose();
  return true;
}

bool AllowedImages::next_explored() {
  if (missing_.empty() && !find_missing()) return false;
  fixed_ = std::move(missing_.back());
  missing_.pop_back();
  compose();
  return true;
}

// Rule 3. If all missing images have been shown and there are no new runs, the checker's reads
// depend on more than the image.
bool AllowedImages::find_missing() {
  reads_->learn();
  const std::size_t runs = reads_->tree.runs();
  const std::uint64_t left = reads_->left();
  std::optional<std::vector<ExploredImages::Fixed>> missing = exploration_->missing(
      reads_->tree, std::clamp<std::uint64_t>(left, 1, kMostMissing), reads_->keep_going);
  const bool found_nothing = looked_ && runs == runs_before_;
  if (!missing || (!missing->empty() && (left == 0 || found_nothing))) {
    gave_up_ = true;
    return false;
  }
  looked_ = true;
  runs_before_ = runs;
  missing_ = std::move(*missing);
  std::ranges::reverse(missing_);
  return !missing_.empty();
}

std::optional<AllowedImages::Explored> AllowedImages::explored() const {
  if (pass_ != Pass::kReads) return std::nullopt;
  return Explored{instant_, fixed_};
}

void AllowedImages::show_again(const Explored& image) {
  begin(Pass::kReads, 0);
  while (instant_ < image.instant) next_instant();
  fixed_ = image.fixed;
  compose();
}

void AllowedImages::compose() {
  changes_.clear();
  for (const auto& [number, segments] : model_->open()) {
    const Presence there = present({number}, segments);
    change({number},
           contents_of(base().read({number}), segments, [&](std::size_t i) { return there[i]; }));
  }
}

void AllowedImages::compose_from_all() {
  changes_.clear();
  for (std::size_t i = 0; i < all_->lines(); ++i) change(all_->line(i), all_->contents(i));
}

void AllowedImages::change(Line line, const LineData& data) {
  if (data != base().read(line)) changes_.emplace_back(line, data);
}

std::uint64_t AllowedImages::hash() const {
  std::uint64_t hash = base_hash_;
  for (const auto& [line, data] : changes_) {
    hash ^= base_lines_.at(line.number) ^ hash_of(line, data);
  }
  return hash;
}

Presence AllowedImages::present(Line line, const PersistencyModel::Segments& segments) const {
  if (restored_.contains(line.number)) return Presence(segments.size(), true);
  if (pass_ == Pass::kReads) {
    const auto fixed = std::ranges::find(fixed_, line, &ExploredImages::Fixed::value_type::first);
    return fixed == fixed_.end() ? Presence(segments.size(), true) : fixed->second;
  }
  if (!all_) return presence(set_, line, segments);
  std::size_t index = 0;
  while (all_->line(index) != line) ++index;
  return all_->present(index);
}

// ---- Losses of an image ------------------------------------------------------------------------

std::vector<Line> AllowedImages::lost_lines() const {
  std::vector<std::pair<std::uint64_t, Line>> lost;
  for (const auto& [number, segments] : model_->open()) {
    const Presence there = present({number}, segments);
    if (std::ranges::find(there, false) != there.end()) {
      lost.emplace_back(segments.back().order, Line{number});
    }
  }
  std::ranges::sort(lost);
  std::vector<Line> lines;
  for (const auto& [order, line] : lost) lines.push_back(line);
  return lines;
}

void AllowedImages::restore_losses(Line line, bool restored) {
  if (restored) {
    restored_.insert(line.number);
  } else {
    restored_.erase(line.number);
  }
}

LineData AllowedImages::contents(Line line) const {
  const PersistencyModel::Segments& segments = model_->open().at(line.number);
  const Presence there = present(line, segments);
  return contents_of(base().read(line), segments, [&](std::size_t i) { return there[i]; });
}

}  // namespace pmemsim
