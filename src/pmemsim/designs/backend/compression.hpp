// Compression is the first of all operations: it precedes deduplication and encryption (Janus,
// Table 1: "reduce the size of memory accesses to save the bandwidth"; bdi.hpp).
//
//   C1  Compresses the line.
//
//   1  A line that becomes shorter is stored compressed, at the beginning of its location. Other
//      lines are stored unchanged. One of the line's spare bits (spare_bits.hpp) says whether it is
//      compressed. The bit is read, accepted and dropped together with the line, and costs no
//      traffic.
//   2  Compression saves no time and no traffic in this model: bursts and writes always have the
//      length of a whole line. Only the statistics count the saved bytes. [Open: the bus and bank
//      time that shorter accesses would save.]
//   3  If deduplication has mapped a line to another location, the bit of that location applies,
//      because the data determine the bit.
//   4  A read is decompressed after the line's data have arrived.
//   5  A compressed line can be read only if all of its words are present. It must therefore
//      persist as a whole, as it does on machines whose queues survive a crash.
#pragma once

#include "pmemsim/common/relations.hpp"
#include "pmemsim/designs/backend/operation.hpp"
#include "pmemsim/designs/backend/spare_bits.hpp"

namespace pmemsim {

struct CompressionFaults {
  bool flag = false;
  bool dropped = false;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("flag", flag, "the bit that marks a line as compressed is never cleared");
    visit("dropped", dropped, "the bit of a line whose write is dropped keeps its old value");
  }
};

struct CompressionParameters {
  Picoseconds latency{30'000};
  Picoseconds decompression_latency{250};
  CompressionFaults faults;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("latency", latency, {.most = 1e9}, "Time to compress a line");
    visit("decompression_latency", decompression_latency, {.most = 1e9},
          "Time to decompress a line");
  }
};

struct CompressionStatistics {
  std::uint64_t compressed = 0;
  std::uint64_t incompressible = 0;
  std::uint64_t bytes = 0;
  std::uint64_t compressed_bytes = 0;

  template <class Visitor>
  void describe(Visitor& visit) const {
    visit("compressed", compressed, "lines", "Lines written in compressed form",
          share_of("bytes").each(kLineBytes));
    visit("incompressible", incompressible, "lines", "Lines written uncompressed",
          share_of("bytes").each(kLineBytes));
    visit("bytes", bytes, "bytes", "Bytes of all written lines before compression");
    visit("compressed_bytes", compressed_bytes, "bytes",
          "Bytes of all written lines after compression", part_of("bytes"));
  }
};

class Compression final : public BackendOperation {
 public:
  explicit Compression(const CompressionParameters& parameters) : parameters_(parameters) {}

  std::vector<SubOperation> sub_operations() const override;
  Traits traits() const override { return {.after_read = parameters_.decompression_latency}; }
  void encode(const Write&, const Prepared&, Encoded& encoded) const override;
  void accepted(const Write& write, const Encoded& encoded) override;
  void dropped(const Write& write, const Encoded& encoded, bool accepted) override;
  void written(const Write&, const Encoded& encoded) override {
    is_compressed_.written(encoded.order);
  }
  LineData decode(Line line, const LineData& data) const override;
  std::unique_ptr<ImageDecoder> decoder() const override;
  void add_registers(SurvivingRegisters& registers) const override {
    registers.add_operation("compression");
  }
  void add_spare_bits(DeviceImage& device, const std::function<Line(Line)>& place) const override;
  void statistics(StatisticsCollector& collector) const override {
    collector.group("compression", statistics_);
  }

 private:
  class DecompressedImage;

  const CompressionParameters parameters_;
  SpareBits<bool> is_compressed_;
  CompressionStatistics statistics_;
};

}  // namespace pmemsim
