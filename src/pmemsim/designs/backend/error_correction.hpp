// Error correction: in every word of 8 bytes that is sent to the device, one wrong bit is corrected
// and two are detected (secded.hpp). Janus, Table 1: "corrects memory error", 0.4-3 ns.
//
//   X1  Computes the check bits of the line in the form in which the device receives it. X1 starts
//       only after compression and encryption.
//
//   1  Check bits are in a ninth chip. They are read and written with the line, in the same burst,
//      and cost no traffic of their own. They are a function of the line, in a queue as well as on
//      the device. They are therefore computed when they are needed, and not stored here.
//   2  A read takes the same time for its correction after the line's data have arrived.
//   3  Bits may flip while the power is off: data bits and check bits, also those of metadata.
//      Errors in a crash image are corrected before the image is used in any other way. Recovery
//      gives up if an error can't be corrected.
#pragma once

#include "pmemsim/common/relations.hpp"
#include "pmemsim/designs/backend/operation.hpp"

namespace pmemsim {

struct ErrorCorrectionFaults {
  bool correct = false;
  bool detect = false;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("correct", correct, "a wrong bit is found, but stays wrong");
    visit("detect", detect, "words with uncorrectable errors are used unchanged");
  }
};

struct ErrorCorrectionParameters {
  Picoseconds latency{3'000};
  std::uint32_t flipped_bits = 0;
  std::uint32_t seed = 1;
  ErrorCorrectionFaults faults;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("latency", latency, {.most = 1e9},
          "Time to compute a written line's check bits, or to correct a read line");
    visit("flipped_bits", flipped_bits, {.least = 0, .most = 2},
          "Number of bits that flip at a crash, of the 72 bits of each written word and its check "
          "bits");
    visit("seed", seed, {.least = 0, .most = 4e9}, "Seed for the random choice of these bits");
  }
};

struct ErrorCorrectionStatistics {
  std::uint64_t coded = 0;
  std::uint64_t checked = 0;

  template <class Visitor>
  void describe(Visitor& visit) const {
    visit("coded", coded, "lines", "Lines written with their check bits",
          part_of("backend.writes"));
    visit("checked", checked, "lines", "Lines read and checked",
          share_of("received.sent_reads", "checks"));
  }
};

// Two different bits of a word, or of its check bits, that flip at a crash.
struct FlippedBits {
  std::uint32_t first, second;
};
FlippedBits flipped_bits(std::uint32_t seed, Line place, std::size_t word);

class ErrorCorrection final : public BackendOperation {
 public:
  explicit ErrorCorrection(const ErrorCorrectionParameters& parameters) : parameters_(parameters) {}

  std::vector<SubOperation> sub_operations() const override;
  Traits traits() const override { return {.after_read = parameters_.latency}; }
  bool read(Line, Completion) override {
    ++statistics_.checked;
    return true;
  }
  void sent(const Write&, const Encoded& encoded) override {
    statistics_.coded += !encoded.duplicate;
  }
  std::unique_ptr<ImageDecoder> decoder() const override;
  void add_registers(SurvivingRegisters& registers) const override {
    registers.add_operation("error-correction");
  }
  void add_spare_bits(DeviceImage& device, const std::function<Line(Line)>& place) const override;
  void statistics(StatisticsCollector& collector) const override {
    collector.group("error_correction", statistics_);
  }

 private:
  const ErrorCorrectionParameters parameters_;
  ErrorCorrectionStatistics statistics_;
};

}  // namespace pmemsim
