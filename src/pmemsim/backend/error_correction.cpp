#include "pmemsim/backend/error_correction.hpp"

#include <set>

#include "pmemsim/backend/secded.hpp"
#include "pmemsim/core/mix.hpp"

namespace pmemsim {
namespace {

// Rule 3.
class CorrectedImage final : public ImageDecoder {
 public:
  explicit CorrectedImage(const ErrorCorrectionParameters& parameters) : parameters_(parameters) {}

  void changed(Line place, const LineData& data, const Tell& tell) override {
    CodedLine line = coded(data);
    flip_some(place, line);
    CodedLine corrected = line;
    const bool wrong = correct(corrected) == Correction::kUncorrectable;
    if (wrong && !parameters_.defects.detect) uncorrectable_.insert(place);
    tell(place, parameters_.defects.correct ? line.data : corrected.data);
  }
  void registers_changed(const Tell&) override {}
  std::string problem() const override {
    if (uncorrectable_.empty()) return {};
    return std::to_string(uncorrectable_.size()) + " lines have errors that can't be corrected";
  }

 private:
  void flip_some(Line place, CodedLine& line) const {
    for (std::size_t word = 0; word < kWordsALine; ++word) {
      const FlippedBits bits = flipped_bits(parameters_.seed, place, word);
      if (parameters_.flipped_bits > 0) flip(line, word, bits.first);
      if (parameters_.flipped_bits > 1) flip(line, word, bits.second);
    }
  }

  const ErrorCorrectionParameters parameters_;
  std::set<Line> uncorrectable_;  // and always will be: as many bits flip whatever is there
};

}  // namespace

FlippedBits flipped_bits(std::uint32_t seed, Line place, std::size_t word) {
  constexpr std::uint32_t kBits = kDataBits + kCheckBits;
  const std::uint64_t drawn = mix(mix(seed) ^ mix(place.number * kWordsALine + word));
  const auto first = static_cast<std::uint32_t>(drawn % kBits);
  const auto apart = 1 + static_cast<std::uint32_t>(drawn / kBits % (kBits - 1));
  return {first, (first + apart) % kBits};
}

std::vector<SubOperation> ErrorCorrection::sub_operations() const {
  return {{.name = "X1",
           .latency = parameters_.latency,
           .external = {.data = true},
           .after = {"C1", "E3"},
           .unless_duplicate = true}};
}

std::unique_ptr<ImageDecoder> ErrorCorrection::decoder() const {
  if (parameters_.flipped_bits == 0) return nullptr;
  return std::make_unique<CorrectedImage>(parameters_);
}

}  // namespace pmemsim
