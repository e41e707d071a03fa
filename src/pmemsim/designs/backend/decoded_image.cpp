#include "pmemsim/designs/backend/decoded_image.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "pmemsim/common/error.hpp"
#include "pmemsim/designs/backend/bdi.hpp"
#include "pmemsim/designs/backend/sealed_image.hpp"
#include "pmemsim/designs/backend/wear_levelled_image.hpp"

namespace pmemsim {
namespace {

// Operations that need the entries of lines. Encryption and integrity need a key, too.
constexpr std::array<std::string_view, 3> kSealing{"deduplication", "encryption", "integrity"};

class Decoder {
 public:
  explicit Decoder(const SurvivingRegisters& registers) : registers_(registers) {
    check();
    if (registers.encryption_key) cipher_.emplace(*registers.encryption_key);
    if (registers.published_macs) {
      authenticator_.emplace("SHA1");
    } else if (registers.authentication_key) {
      authenticator_.emplace(*registers.authentication_key);
    }
    if (std::ranges::any_of(kSealing, [&](std::string_view name) { return has(name); })) {
      sealed_.emplace(EntryLayout(has("integrity")), keys());
    }
    if (has("wear-leveling")) {
      regions_.emplace(registers.levelling->region_lines, registers.levelling->regions);
      levelled_.emplace(*regions_, moved_);
    }
  }

  DecodedImage decode(DeviceImage device) {
    if (has("error-correction")) correct(device);
    if (!image_.problem.empty()) return std::move(image_);
    for (const auto& [place, line] : device) unlevel(place, line.data);
    if (has("compression")) decompress(device);
    if (sealed_) {
      image_.unreadable.assign(sealed_->unreadable().begin(), sealed_->unreadable().end());
      image_.duplicated_lines = sealed_->duplicated_lines();
      image_.problem = sealed_->problem();
    }
    return std::move(image_);
  }

 private:
  bool has(std::string_view name) const {
    return std::ranges::count(registers_.operations, name) > 0;
  }
  void check() const {
    std::vector<std::string> problems;
    const auto need = [&](std::string_view operation, bool there, std::string_view what) {
      if (has(operation) && !there) {
        problems.push_back(fmt::format("with {}, the registers must contain {}", operation, what));
      }
    };
    need("encryption", registers_.encryption_key.has_value(), "an encryption key");
    need("integrity", registers_.published_macs || registers_.authentication_key.has_value(),
         "an authentication key");
    need("integrity", registers_.tree.has_value(), "the roots of the tree");
    need("wear-leveling", registers_.levelling.has_value(), "those of the regions");
    if (!problems.empty()) throw ConfigError(problems);
  }
  ImageKeys keys() const {
    ImageKeys keys{.cipher = has("encryption") ? &*cipher_ : nullptr};
    if (!has("integrity")) return keys;
    keys.authenticator = &*authenticator_;
    keys.macs_have_address = !registers_.published_macs;
    keys.tree_levels = registers_.tree->levels;
    keys.roots = [this]() -> const MerkleTree::Roots& { return registers_.tree->roots; };
    keys.nodes_persisted = registers_.nodes_persisted;
    return keys;
  }

  void correct(DeviceImage& device) {
    std::uint64_t uncorrectable = 0;
    for (auto& [_, line] : device) {
      CodedLine coded{line.data, line.check};
      const Correction correction = pmemsim::correct(coded);
      uncorrectable += correction == Correction::kUncorrectable;
      image_.corrected += correction == Correction::kCorrected;
      line.data = coded.data;
    }
    if (uncorrectable == 0) return;
    image_.problem = fmt::format("{} lines have errors that can't be corrected", uncorrectable);
  }
  void unlevel(Line place, const LineData& data) {
    const auto next = [this](Line line, const LineData& read) { unseal(line, read); };
    levelled_ ? levelled_->changed(place, data, next) : next(place, data);
  }
  void unseal(Line place, const LineData& data) {
    const auto next = [this](Line line, const LineData& read) { image_.plain.write(line, read); };
    sealed_ ? sealed_->changed(place, data, next) : next(place, data);
  }

  // Decompresses lines by their bit, which is stored where their data are.
  void decompress(const DeviceImage& device) {
    Image plain;
    image_.plain.for_each_page([&](std::uint64_t address, const std::byte*) {
      for (std::uint64_t at = 0; at < Image::kPageBytes; at += kLineBytes) {
        const Line line = Line::of(address + at);
        const LineData data = image_.plain.read(line);
        const auto found = device.find(place(line));
        const bool compressed = found != device.end() && found->second.compressed;
        plain.write(line, compressed ? pmemsim::decompress(data) : data);
      }
    });
    image_.plain = std::move(plain);
  }
  Line place(Line line) const {
    if (sealed_) line = sealed_->place(line);
    return regions_ ? regions_->place(line) : line;
  }

  const SurvivingRegisters& registers_;
  std::optional<LineCipher> cipher_;
  std::optional<LineHash> authenticator_;
  std::optional<SealedImage> sealed_;
  std::optional<StartGapRegions> regions_;
  const std::vector<Line> moved_{};  // empty: registers don't change while an image is decoded
  std::optional<WearLevelledImage> levelled_;
  DecodedImage image_;
};

}  // namespace

DecodedImage decode(const DeviceImage& device, const SurvivingRegisters& registers) {
  return Decoder(registers).decode(device);
}

}  // namespace pmemsim
