// Checkers that follow references from line to line of their images, and images with one line in
// each page.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "litmus_program.hpp"
#include "pmemsim/checks/images/image_checker.hpp"
#include "pmemsim/common/mix.hpp"

namespace pmemsim::litmus {

inline constexpr std::uint64_t kOnePage = 4096;

inline Line line_in_page(std::uint64_t number) { return Line::of(kPmBase + number * kOnePage); }
inline std::uint64_t page_of(std::uint64_t number) {
  return (kPmBase + number * kOnePage) / kOnePage;
}

// Returns the program with each line in a page of its own.
inline Program spread(Program program) {
  for (Step& step : program) step.at = step.at / kLineBytes * kOnePage + step.at % kLineBytes;
  return program;
}

// Reads lines of an image, and records each page that it has read once.
class Reader {
 public:
  explicit Reader(const Image& image) : image_(image) {}

  std::uint64_t word(std::uint64_t line) {
    if (std::ranges::find(pages_, page_of(line)) == pages_.end()) pages_.push_back(page_of(line));
    const LineData data = image_.read(line_in_page(line));
    std::uint64_t word;
    std::memcpy(&word, data.data(), sizeof(word));
    return word;
  }
  // Returns the hash of all bytes of the line.
  std::uint64_t hash(std::uint64_t line) {
    word(line);
    const LineData data = image_.read(line_in_page(line));
    std::uint64_t hash = 0;
    for (const std::byte byte : data) hash = mix(hash + static_cast<std::uint64_t>(byte) + 1);
    return hash;
  }
  const std::vector<std::uint64_t>& pages() const { return pages_; }

 private:
  const Image& image_;
  std::vector<std::uint64_t> pages_;
};
// Returns true if it accepts the image.
using Check = std::function<bool(Reader&)>;

// Reads the lines that a chain of references leads to, and rejects one in `one_in` of the chains.
inline Check wandering(std::uint64_t seed, std::uint64_t lines, std::uint64_t one_in) {
  return [=](Reader& reader) {
    std::uint64_t state = mix(seed);
    do {
      state = mix(state ^ reader.hash(state % lines));
    } while (state >> 32 & 3);
    return mix(state) % one_in != 0;
  };
}

// Checks images like a pool of checkers: answers are delayed, some until finish().
class LateChecker : public ImageChecker {
 public:
  explicit LateChecker(Check check, std::size_t late = 0) : check_(std::move(check)), late_(late) {}

  void show(const Image& image, std::span<const Line> changed, bool watched) override {
    for (const Line line : changed) image_.write(line, image.read(line));
    Reader reader(image_);
    const bool accepted = check_(reader);
    shown.push_back(reader.pages());
    if (watched) ++was_watched;
    answers_.push_back({accepted, watched});
    take(late_);
  }
  void finish() override { take(0); }
  bool rejects() const override { return rejected_.has_value(); }
  std::optional<std::uint64_t> first_rejected() const override { return rejected_; }
  std::map<std::uint64_t, std::vector<std::uint64_t>> take_reads() override {
    return std::exchange(reads_, {});
  }

  bool tells = true;                              // Reports its reads
  std::vector<std::vector<std::uint64_t>> shown;  // Pages read of each shown image
  std::size_t was_watched = 0;

 private:
  struct Answer {
    bool accepted, watched;
  };
  void take(std::size_t but) {
    for (; taken_ + but < answers_.size(); ++taken_) {
      const Answer& answer = answers_[taken_];
      if (!answer.accepted && !rejected_) rejected_ = taken_;
      if (answer.accepted && answer.watched && tells) reads_.emplace(taken_, shown[taken_]);
    }
  }

  const Check check_;
  const std::size_t late_;
  Image image_;
  std::vector<Answer> answers_;
  std::map<std::uint64_t, std::vector<std::uint64_t>> reads_;
  std::optional<std::uint64_t> rejected_;
  std::size_t taken_ = 0;
};

}  // namespace pmemsim::litmus
