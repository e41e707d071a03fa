#include "pmemsim/designs/backend/error_correction.hpp"

#include <set>

#include "pmemsim/common/mix.hpp"
#include "pmemsim/designs/backend/secded.hpp"

namespace pmemsim {
namespace {

// Returns a line as a crash leaves it.
CodedLine after_crash(const ErrorCorrectionParameters& parameters, Line place,
                      const LineData& data) {
  CodedLine line = coded(data);
  for (std::size_t word = 0; word < kWordsALine; ++word) {
    const FlippedBits bits = flipped_bits(parameters.seed, place, word);
    if (parameters.flipped_bits > 0) flip(line, word, bits.first);
    if (parameters.flipped_bits > 1) flip(line, word, bits.second);
  }
  return line;
}

// Implements rule 3 (error_correction.hpp).
class CorrectedImage final : public ImageDecoder {
 public:
  explicit CorrectedImage(const ErrorCorrectionParameters& parameters) : parameters_(parameters) {}

  void changed(Line place, const LineData& data, const Tell& tell) override {
    const CodedLine line = after_crash(parameters_, place, data);
    CodedLine corrected = line;
    const bool wrong = correct(corrected) == Correction::kUncorrectable;
    if (wrong && !parameters_.faults.detect) uncorrectable_.insert(place);
    tell(place, parameters_.faults.correct ? line.data : corrected.data);
  }
  void registers_changed(const Tell&) override {}
  std::string problem() const override {
    if (uncorrectable_.empty()) return {};
    return std::to_string(uncorrectable_.size()) + " lines have errors that can't be corrected";
  }

 private:
  const ErrorCorrectionParameters parameters_;
  // Lines that always remain uncorrectable: as many bits flip with any contents.
  std::set<Line> uncorrectable_;
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
           .work = WorkKind::kCheckBits,
           .external = {.data = true},
           .after = {"C1", "E3"},
           .unless_duplicate = true}};
}

std::unique_ptr<ImageDecoder> ErrorCorrection::decoder() const {
  if (parameters_.flipped_bits == 0) return nullptr;
  return std::make_unique<CorrectedImage>(parameters_);
}

// Flips bits of all lines, also of those that the run hasn't written: they have been in PM for
// longer.
void ErrorCorrection::add_spare_bits(DeviceImage& device, const std::function<Line(Line)>&) const {
  for (auto& [place, line] : device) {
    const CodedLine left = after_crash(parameters_, place, line.data);
    line.data = left.data;
    line.check = left.check;
  }
}

}  // namespace pmemsim
