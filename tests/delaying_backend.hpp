// A backend operation for tests of all designs that does everything that an operation may do:
//
//   - It holds every write, and delays the answer of every read, for a random bounded time.
//   - It moves lines to other locations, and keeps these in persistent registers.
//   - It encrypts lines.
//   - It has a line of metadata for most lines, which is accepted together with the data. The data
//     can't be decoded without it.
#pragma once

#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <set>

#include "pmemsim/designs/backend/backend.hpp"
#include "pmemsim/designs/backend/backend_parameters.hpp"
#include "pmemsim/designs/backend/image_decoder.hpp"
#include "pmemsim/designs/backend/operation.hpp"
#include "pmemsim/designs/backend/prediction.hpp"
#include "pmemsim/designs/choices.hpp"
#include "pmemsim/machine/memory/memory.hpp"

namespace pmemsim {

// Contents that a read returns for a line that doesn't match its metadata.
inline LineData unreadable() {
  LineData data;
  data.fill(std::byte{0xee});
  return data;
}

// A persistent register that lists the lines with an accepted write that wasn't dropped. The device
// has the encoded contents of these lines, and the initial contents of all others.
class EncodedLines {
 public:
  void accepted(Line line) { ++writes_[line]; }
  void dropped(Line line) { --writes_[line]; }
  bool contains(Line line) const {
    const auto found = writes_.find(line);
    return found != writes_.end() && found->second > 0;
  }

 private:
  std::map<Line, std::uint32_t> writes_;
};

// Returns the line with each word replaced by the result of `change`, which gets the word and a key
// of the line.
template <class Change>
LineData with_each_word(Line line, LineData data, Change change) {
  const std::uint64_t key = (line.number + 1) * 0x9e3779b97f4a7c15u;
  for (std::size_t at = 0; at < kLineBytes; at += sizeof key) {
    std::uint64_t word = 0;
    std::memcpy(&word, data.data() + at, sizeof word);
    word = change(word, key);
    std::memcpy(data.data() + at, &word, sizeof word);
  }
  return data;
}

class DelayingBackend final : public BackendOperation, public WriteGate {
 public:
  WriteGate* gate() override { return this; }
  void connect(EventQueue& queue, const Memory&, MetadataPort&) override { queue_ = &queue; }
  Traits traits() const override { return {.most_metadata = 1}; }

  bool write(const Write&, const Prepared&, Completion done) override {
    if (random_() % 4 == 0) return true;
    hold(done);
    return false;
  }
  void forget(const Completion& done) override {
    for (auto& [_, held] : held_) {
      if (held.object == done.object && held.call == done.call && held.argument == done.argument) {
        held = {};
      }
    }
  }
  bool read(Line, Completion done) override {
    if (random_() % 4 == 0) return true;
    hold(done);
    return false;
  }

  // Makes no random choice, because the backend may encode a write more than once.
  void encode(const Write& write, const Prepared&, Encoded& encoded) const override {
    encoded.place = moves(encoded.place) ? next_place() : place(encoded.place);
    encoded.data = encrypted(write.line, encoded.data);
    if (!has_metadata(write.line)) return;
    encoded.metadata.push_back({metadata_of(write.line), authenticator(write.line, encoded.data)});
  }
  void sent(const Write& write, const Encoded& encoded) override {
    ++sent_;
    if (encoded.place == place(write.line)) return;
    if (!free_.empty()) {
      free_.pop_front();
    } else {
      ++taken_;
    }
  }
  void accepted(const Write& write, const Encoded& encoded) override {
    dropped_.erase(write.line);
    encrypted_.accepted(write.line);
    const Line before = place(write.line);
    if (encoded.place == before) return;
    before_[encoded.place] = before;
    put(write.line, encoded.place);
  }
  void dropped(const Write& write, const Encoded& encoded, bool accepted) override {
    if (accepted) dropped_.insert(write.line);
    if (accepted) encrypted_.dropped(write.line);
    if (encoded.place == write.line) return;
    if (!accepted) {
      if (encoded.place != place(write.line)) free_.push_back(encoded.place);
      return;
    }
    const auto moved = before_.find(encoded.place);
    if (moved == before_.end()) return;
    if (place(write.line) == encoded.place) {
      put(write.line, moved->second);
      free_.push_back(encoded.place);
    } else {
      release(moved->second);
    }
    before_.erase(moved);
  }
  void written(const Write&, const Encoded& encoded) override {
    const auto moved = before_.find(encoded.place);
    if (moved == before_.end()) return;
    release(moved->second);
    before_.erase(moved);
  }

  Line place(Line line) const override {
    const auto found = places_.find(line);
    return found == places_.end() ? line : found->second;
  }
  LineData decode(Line line, const LineData& data) const override {
    return encrypted_.contains(line) ? decrypted(line, data) : data;
  }
  std::unique_ptr<ImageDecoder> decoder() const override {
    return std::make_unique<Decoder>(*this);
  }
  std::string pending() const override {
    return held_.empty() ? "" : std::to_string(held_.size()) + " requests are delayed";
  }

 private:
  static constexpr std::uint64_t kSpare = std::uint64_t{1} << 52;     // first line of the locations
  static constexpr std::uint64_t kMetadata = std::uint64_t{1} << 53;  // first line of the metadata
  static constexpr std::uint64_t kMostDelay = 400'000;                // ps

  static constexpr std::uint64_t kFactor = 0xff51afd7ed558ccd;
  static constexpr std::uint64_t kInverse = [] {  // modulo 2^64: each step doubles the right bits
    std::uint64_t inverse = kFactor;
    for (int bits = 3; bits < 64; bits *= 2) inverse *= 2 - kFactor * inverse;
    return inverse;
  }();
  static_assert(kFactor * kInverse == 1);

  // Decodes an image as far as registers and metadata allow.
  class Decoder final : public ImageDecoder {
   public:
    explicit Decoder(const DelayingBackend& backend) : backend_(backend) {}
    void changed(Line place, const LineData& data, const Tell& tell) override {
      device_.write(place, data);
      if (place.number >= kMetadata && place.number < 2 * kMetadata) {
        return report_line({place.number - kMetadata}, tell);
      }
      const auto owner = backend_.owners_.find(place);
      if (owner != backend_.owners_.end()) return report_line(owner->second, tell);
      if (backend_.place(place) == place) report_line(place, tell);
    }
    void registers_changed(const Tell& tell) override {
      for (; known_ < backend_.moved_.size(); ++known_) report_line(backend_.moved_[known_], tell);
    }
    std::string problem() const override {
      if (unreadable_.empty()) return {};
      return std::to_string(unreadable_.size()) + " lines don't fit their metadata";
    }

   private:
    void report_line(Line line, const Tell& tell) {
      const LineData data = device_.read(backend_.place(line));
      const LineData metadata = device_.read(metadata_of(line));
      const bool known = metadata == LineData{} || metadata == authenticator(line, data);
      if (known || backend_.dropped_.contains(line)) {
        unreadable_.erase(line);
      } else {
        unreadable_.insert(line);
      }
      tell(line, known ? backend_.decode(line, data) : unreadable());
    }
    const DelayingBackend& backend_;
    Image device_;
    std::set<Line> unreadable_;  // lines that don't match their metadata
    std::size_t known_ = 0;      // number of moves that have been read
  };

  // Encryption is more than a mask: if two operations used masks, it would not matter which one is
  // undone first.
  static LineData encrypted(Line line, const LineData& data) {
    return with_each_word(
        line, data, [](std::uint64_t word, std::uint64_t key) { return (word + key) * kFactor; });
  }
  static LineData decrypted(Line line, const LineData& data) {
    return with_each_word(
        line, data, [](std::uint64_t word, std::uint64_t key) { return word * kInverse - key; });
  }

  static bool has_metadata(Line line) { return line.number % 3 != 0; }
  static Line metadata_of(Line line) { return {kMetadata + line.number}; }
  static LineData authenticator(Line line, const LineData& data) {
    std::uint64_t hash = line.number * 0x9e3779b97f4a7c15u + 1;
    for (std::size_t at = 0; at < kLineBytes; at += sizeof hash) {
      std::uint64_t word = 0;
      std::memcpy(&word, data.data() + at, sizeof word);
      hash = (hash ^ word) * 0xff51afd7ed558ccdu;
      hash ^= hash >> 32;
    }
    LineData metadata{};
    std::memcpy(metadata.data(), &hash, sizeof hash);
    return metadata;
  }

  void hold(Completion done) {
    const std::uint64_t number = ++requests_;
    held_[number] = done;
    queue_->schedule(queue_->now() + Picoseconds{static_cast<std::int64_t>(random_() % kMostDelay)},
                     Phase::kController, completion<&DelayingBackend::proceed>(*this, number));
  }
  void proceed(std::uint64_t number, Time now) {
    const Completion done = held_.at(number);
    held_.erase(number);
    if (done) done(now);
  }

  bool moves(Line line) const { return (line.number * 31 + sent_ * 17) % 3 == 0; }
  Line next_place() const { return free_.empty() ? Line{kSpare + taken_} : free_.front(); }
  void release(Line place) {
    if (place.number >= kSpare) free_.push_back(place);
  }
  void put(Line line, Line place) {
    owners_.erase(this->place(line));
    places_[line] = place;
    owners_[place] = line;
    moved_.push_back(line);
  }

  EventQueue* queue_ = nullptr;
  std::mt19937_64 random_{1};
  EncodedLines encrypted_;
  std::map<std::uint64_t, Completion> held_;
  std::uint64_t requests_ = 0, sent_ = 0, taken_ = 0;
  std::deque<Line> free_;        // locations that a line has left
  std::map<Line, Line> places_;  // register: location of each moved line
  std::map<Line, Line> owners_;  // by location: its line
  std::map<Line, Line> before_;  // by location: the line's previous one, until it is written
  std::vector<Line> moved_;
  std::set<Line> dropped_;  // register: lines whose write was dropped, so that metadata differ
};

// Returns the table of all implementations, with this operation added.
inline const ChoiceTable& with_delaying_backend() {
  static const ChoiceTable kTable = [] {
    ChoiceTable table = choices();
    table.push_back({.name = "delaying",
                     .summary = "Delays, moves, encrypts and authenticates every line",
                     .parameters = {ParameterGroup::of<BackendParameters>("backend")},
                     .make = [](const Blueprint&) -> std::unique_ptr<BackendOperation> {
                       return std::make_unique<DelayingBackend>();
                     }});
    return table;
  }();
  return kTable;
}

}  // namespace pmemsim
