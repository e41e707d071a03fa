// A pair of layers for tests of all designs that start backend operations early, at random. The
// operation treats predicted writes like real ones. The precompute layer predicts rightly, wrongly,
// in part and too late. No predicted data may be in a crash image.
//
// The operation is a small graph of three sub-operations. One depends on the line (a tag with the
// line's counter), one on the data, and one on both (a tag of line, data and counter). The tags go
// to metadata, accepted together with the data. A persistent register holds the counter of the
// line's writes. Prepared results are used unchanged, so that results for another line, other data
// or an old counter make the line unreadable. The data are masked.
#pragma once

#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "delaying_backend.hpp"
#include "pmemsim/designs/backend/backend.hpp"
#include "pmemsim/designs/backend/image_decoder.hpp"
#include "pmemsim/designs/backend/operation.hpp"
#include "pmemsim/designs/backend/prediction.hpp"
#include "pmemsim/designs/interface/layer_context.hpp"
#include "pmemsim/designs/precompute/precompute.hpp"
#include "pmemsim/machine/memory/memory.hpp"

namespace pmemsim {

class PreparingOperation final : public BackendOperation, public WriteGate {
 public:
  WriteGate* gate() override { return this; }
  struct Times {
    Picoseconds line, data, both;
  };
  explicit PreparingOperation(const Times& times) : times_(times) {}

  void connect(EventQueue& queue, const Memory&, MetadataPort& backend) override {
    queue_ = &queue;
    backend_ = &backend;
  }
  Traits traits() const override { return {.most_metadata = 1}; }

  void prepare(PreparedId id, const Prediction& prediction) override {
    Result& result = results_[id];
    if (prediction.line && !result.line) {
      result.line = prediction.line;
      result.counter = next_counter(*prediction.line);
      result.line_tag = tag(*prediction.line, {}, result.counter);
      result.line_done = queue_->now() + times_.line;
    }
    if (prediction.whole() && result.data != prediction.data) {
      result.data = prediction.data;
      result.data_done = queue_->now() + times_.data;
    }
    if (!result.line || !result.data) return;
    result.tag = tag(*result.line, *result.data, result.counter);
    result.done = max(result.line_done, result.data_done) + times_.both;
  }
  void discard(PreparedId id) override { results_.erase(results_.find(id)); }

  bool write(const Write&, const Prepared& prepared, Completion done) override {
    const Time now = queue_->now();
    const Result* const result = prepared.id ? &results_.at(prepared.id) : nullptr;
    const Time line_done = result == nullptr ? now + times_.line : result->line_done;
    const Time ready =
        prepared.data ? result->done : max(line_done, now + times_.data) + times_.both;
    if (ready <= now) return true;
    waiting_[++requests_] = done;
    queue_->schedule(ready, Phase::kController,
                     completion<&PreparingOperation::proceed>(*this, requests_));
    return false;
  }
  void forget(const Completion& done) override {
    std::erase_if(waiting_,
                  [&](const auto& waiting) { return waiting.second.argument == done.argument; });
  }

  void encode(const Write& write, const Prepared& prepared, Encoded& encoded) const override {
    std::uint64_t counter = next_counter(write.line);
    std::uint64_t line_tag = tag(write.line, {}, counter);
    std::uint64_t whole_tag = tag(write.line, write.data, counter);
    if (prepared.id) {
      const Result& result = results_.at(prepared.id);
      counter = result.counter;
      line_tag = result.line_tag;
      whole_tag = prepared.data ? result.tag : tag(write.line, write.data, counter);
    }
    encoded.data = masked(write.line, encoded.data);
    encoded.metadata.push_back({metadata_of(write.line), metadata(counter, line_tag, whole_tag)});
  }
  void accepted(const Write& write, const Encoded&) override {
    masked_.accepted(write.line);
    ++counters_[write.line];
    backend_->metadata_changed(write.line);
  }
  void dropped(const Write& write, const Encoded&, bool accepted) override {
    if (accepted) masked_.dropped(write.line);
  }
  LineData decode(Line line, const LineData& data) const override {
    return masked_.contains(line) ? masked(line, data) : data;
  }

  std::unique_ptr<ImageDecoder> decoder() const override {
    return std::make_unique<Decoder>(*this);
  }
  std::string pending() const override {
    return waiting_.empty() ? "" : std::to_string(waiting_.size()) + " writes are worked on";
  }
  std::size_t results() const { return results_.size(); }

 private:
  static constexpr std::uint64_t kMetadata = std::uint64_t{1}
                                             << 54;  // line number of the first line of metadata

  struct Result {
    std::optional<Line> line;
    std::optional<LineData> data;
    std::uint64_t counter = 0, line_tag = 0, tag = 0;
    Time line_done{}, data_done{}, done{};
  };

  class Decoder final : public ImageDecoder {
   public:
    explicit Decoder(const PreparingOperation& operation) : operation_(operation) {}
    void changed(Line place, const LineData& data, const Tell& tell) override {
      device_.write(place, data);
      const Line line{place.number >= kMetadata ? place.number - kMetadata : place.number};
      const LineData plain = operation_.decode(line, device_.read(line));
      tell(line, readable(line, plain) ? plain : unreadable());
    }
    void registers_changed(const Tell&) override {}

   private:
    bool readable(Line line, const LineData& plain) const {
      const std::uint64_t counter = operation_.next_counter(line) - 1;
      return counter == 0 ||
             device_.read(metadata_of(line)) ==
                 metadata(counter, tag(line, {}, counter), tag(line, plain, counter));
    }
    const PreparingOperation& operation_;
    Image device_;
  };

  // Masking a line twice restores it.
  static LineData masked(Line line, const LineData& data) {
    return with_each_word(line, data,
                          [](std::uint64_t word, std::uint64_t key) { return word ^ key; });
  }
  static Line metadata_of(Line line) { return {kMetadata + line.number}; }
  static std::uint64_t tag(Line line, const LineData& data, std::uint64_t counter) {
    std::uint64_t hash = line.number * 0x9e3779b97f4a7c15u + counter;
    for (std::size_t at = 0; at < kLineBytes; at += sizeof hash) {
      std::uint64_t word = 0;
      std::memcpy(&word, data.data() + at, sizeof word);
      hash = (hash ^ word) * 0xff51afd7ed558ccdu;
      hash ^= hash >> 32;
    }
    return hash;
  }
  static LineData metadata(std::uint64_t counter, std::uint64_t line_tag, std::uint64_t tag) {
    const std::uint64_t words[] = {counter, line_tag, tag};
    LineData data{};
    std::memcpy(data.data(), words, sizeof words);
    return data;
  }
  std::uint64_t next_counter(Line line) const {
    const auto found = counters_.find(line);
    return found == counters_.end() ? 1 : found->second + 1;
  }
  void proceed(std::uint64_t number, Time now) {
    const auto found = waiting_.find(number);
    if (found == waiting_.end()) return;
    const Completion done = found->second;
    waiting_.erase(found);
    done(now);
  }

  const Times times_;
  EventQueue* queue_ = nullptr;
  MetadataPort* backend_ = nullptr;
  std::map<PreparedId, Result> results_;
  std::map<std::uint64_t, Completion> waiting_;
  std::uint64_t requests_ = 0;
  EncodedLines masked_;
  std::map<Line, std::uint64_t> counters_;  // register: writes accepted
};

// Makes predictions from retired stores, and from lines that leave the caches. Most of the latter
// predictions are too late.
class RandomPrecompute final : public Precompute {
 public:
  void connect(const LayerContext& context) override {
    pm_ = &context.pm;
    pm_space_ = &context.pm_space;
  }
  ResultBufferSize result_buffer() const override {
    return {.entries = 8, .most_age = {3'000'000}};
  }
  std::uint32_t interests() const override { return kAllStores | kWriteBacks; }

  void stored(const RetiredStore& store, Time) override {
    const Line line = Line::of(store.address);
    if (!pm_space_->contains(line)) return;
    LineData data = pm_space_->newest().read(line);
    std::copy(store.value.begin(), store.value.end(),
              data.begin() + static_cast<std::ptrdiff_t>(store.address % kLineBytes));
    act(store.core, line, data);
  }
  void written_back(CoreId core, Line line, const LineData& data, WriteBack, Time) override {
    act(core, line, data);
  }
  void outcome(const Outcome& outcome) override {
    twice_ += open_.erase(outcome.id) == 0;
    ++outcomes_[outcome.fate];
    late_ += outcome.late;
  }

  const std::map<Fate, std::uint64_t>& outcomes() const { return outcomes_; }
  std::uint64_t late() const { return late_; }
  // Returns the number of predictions with no outcome or with more than one.
  std::uint64_t wrong_outcomes() const { return open_.size() + twice_; }

 private:
  void act(CoreId core, Line line, LineData data) {
    Prediction prediction{
        .core = core, .number = ++number_, .line = line, .data = data, .bytes = kWholeLine};
    switch (random_() % 16) {
      case 0:
        return discard(core, line);
      case 1:
        prediction.bytes = 0;
        break;
      case 2:
        prediction.line.reset();
        break;
      case 3:
        prediction.data[random_() % kLineBytes] ^= std::byte{1};
        break;
      case 4:
        prediction.bytes = random_();
        break;
      case 5:
        prediction.line = Line{line.number + (1 << 20)};
        break;
      case 6:
      case 7:
        if (!open_.empty()) complete(line, data);
        return;
      case 8:
        prepare(prediction);
        break;
      default:
        break;
    }
    prepare(prediction);
  }
  void prepare(const Prediction& prediction) {
    const PreparedId id = pm_->predictions().prepare(prediction);
    if (id) open_[id] = prediction.line.has_value();
  }
  // Adds a line or data, right or wrong, to one of the predictions in use.
  void complete(Line line, const LineData& data) {
    auto chosen = open_.begin();
    std::advance(chosen, random_() % open_.size());
    const PreparedId id = chosen->first;
    if (!chosen->second) {
      chosen->second = true;
      pm_->predictions().complete(id, line);
    } else {
      pm_->predictions().complete(id, data, random_() % 2 == 0 ? kWholeLine : random_());
    }
  }
  void discard(CoreId core, Line line) {
    switch (random_() % 3) {
      case 0:
        return pm_->predictions().discard_thread(core);
      case 1:
        return pm_->predictions().discard_range(line, {line.number + 4}, Fate::kRangeDiscarded);
      default:
        if (!open_.empty()) pm_->predictions().discard(open_.begin()->first);
    }
  }

  Backend* pm_ = nullptr;
  const PmSpace* pm_space_ = nullptr;
  std::mt19937_64 random_{1};
  std::uint64_t number_ = 0, twice_ = 0, late_ = 0;
  std::map<PreparedId, bool> open_;  // predictions in use, and whether their line is known
  std::map<Fate, std::uint64_t> outcomes_;
};

// Returns the table of all implementations, with the delaying operation and this pair of layers
// added. Each of the pair requires the other.
inline const ChoiceTable& with_doubles() {
  static const ChoiceTable kTable = [] {
    constexpr std::string_view kStartEarly = "operations that start early";
    constexpr std::string_view kPredictions = "predictions";
    ChoiceTable table = with_delaying_backend();
    table.push_back({.name = "preparing",
                     .summary = "Masks and authenticates every line, and starts on predictions",
                     .needs = {kPredictions},
                     .gives = {kStartEarly},
                     .parameters = {ParameterGroup::of<BackendParameters>("backend")},
                     .make = [](const Blueprint&) -> std::unique_ptr<BackendOperation> {
                       return std::make_unique<PreparingOperation>(PreparingOperation::Times{
                           .line = {10'000}, .data = {20'000}, .both = {15'000}});
                     }});
    table.push_back({.name = "random",
                     .summary = "Predicts at random",
                     .needs = {kStartEarly},
                     .gives = {kPredictions},
                     .make = [](const Blueprint&) -> std::unique_ptr<Precompute> {
                       return std::make_unique<RandomPrecompute>();
                     }});
    return table;
  }();
  return kTable;
}

}  // namespace pmemsim
