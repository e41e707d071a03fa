#include "pmemsim/designs/backend/compression.hpp"

#include "pmemsim/designs/backend/bdi.hpp"

namespace pmemsim {

// Decompresses lines. The operation itself keeps the bit that the hardware stores with the line.
class Compression::DecompressedImage final : public ImageDecoder {
 public:
  explicit DecompressedImage(const Compression& compression) : compression_(compression) {}
  void changed(Line line, const LineData& data, const Tell& tell) override {
    tell(line, compression_.decode(line, data));
  }
  void registers_changed(const Tell&) override {}

 private:
  const Compression& compression_;
};

std::vector<SubOperation> Compression::sub_operations() const {
  return {{.name = "C1",
           .latency = parameters_.latency,
           .work = WorkKind::kCompression,
           .external = {.data = true}}};
}

// Implements rule 1 (compression.hpp).
void Compression::encode(const Write&, const Prepared&, Encoded& encoded) const {
  if (const auto compressed = compress(encoded.data)) encoded.data = compressed->line;
}

void Compression::accepted(const Write& write, const Encoded& encoded) {
  const auto compressed = compress(write.data);
  const bool stays_set = parameters_.faults.flag && is_compressed_.of(write.line);
  is_compressed_.accepted(write.line, encoded.order, compressed.has_value() || stays_set);
  if (encoded.duplicate) return;
  ++(compressed ? statistics_.compressed : statistics_.incompressible);
  statistics_.bytes += kLineBytes;
  statistics_.compressed_bytes += compressed ? compressed->bytes : kLineBytes;
}

void Compression::dropped(const Write& write, const Encoded& encoded, bool accepted) {
  if (accepted && !parameters_.faults.dropped) is_compressed_.dropped(write.line, encoded.order);
}

LineData Compression::decode(Line line, const LineData& data) const {
  return is_compressed_.of(line) ? decompress(data) : data;
}

std::unique_ptr<ImageDecoder> Compression::decoder() const {
  return std::make_unique<DecompressedImage>(*this);
}

void Compression::add_spare_bits(DeviceImage& device,
                                 const std::function<Line(Line)>& place) const {
  is_compressed_.for_each([&](Line line, bool compressed) {
    if (compressed) device[place(line)].compressed = true;
  });
}

}  // namespace pmemsim
