#include "pmemsim/designs/backend/bdi.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace pmemsim {
namespace {

// A form of compression: the bytes of an element and of a difference.
struct Way {
  std::uint32_t element, difference;

  constexpr std::uint32_t elements() const { return kLineBytes / element; }
  constexpr std::uint32_t mask_bytes() const { return elements() / 8; }
  // Returns the number of bytes, including the one that gives the form.
  constexpr std::uint32_t bytes() const {
    return 1 + mask_bytes() + element + elements() * difference;
  }
};

// Forms, the shortest first. A compressed line begins with a byte that is one more than the index
// of its form, or kZero or kRepeated.
constexpr std::array<Way, 6> kWays{{{8, 1}, {4, 1}, {8, 2}, {2, 1}, {4, 2}, {8, 4}}};
static_assert(std::ranges::is_sorted(kWays, {}, &Way::bytes));
static_assert(kWays.back().bytes() < kLineBytes);
// First bytes of lines that are stored as one word.
constexpr std::byte kZero{0}, kRepeated{kWays.size() + 1};
constexpr std::uint32_t kWord = 8;

std::uint64_t get(const std::byte* from, std::uint32_t bytes) {
  std::uint64_t value = 0;
  std::memcpy(&value, from, bytes);
  return value;
}

// Returns the value, sign-extended from that number of bytes.
std::uint64_t extended(std::uint64_t value, std::uint32_t bytes) {
  const std::uint32_t above = 64 - 8 * bytes;
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(value << above) >> above);
}

// True if a difference fits. Elements' arithmetic wraps around.
bool fits(std::uint64_t difference, const Way& way) {
  const std::uint64_t wrapped = extended(difference, way.element);
  return extended(wrapped, way.difference) == wrapped;
}

// Implements rule 2 (bdi.hpp).
std::optional<LineData> compress(const LineData& data, std::size_t number) {
  const Way& way = kWays[number];
  LineData line{static_cast<std::byte>(number + 1)};
  std::byte* const mask = line.data() + 1;
  std::byte* const base_at = mask + way.mask_bytes();
  std::byte* const differences = base_at + way.element;
  std::optional<std::uint64_t> base;
  for (std::uint32_t i = 0; i < way.elements(); ++i) {
    std::uint64_t difference = get(data.data() + i * way.element, way.element);
    if (!fits(difference, way)) {
      if (!base) base = difference;
      difference -= *base;
      if (!fits(difference, way)) return {};
      mask[i / 8] |= std::byte{1} << i % 8;
    }
    std::memcpy(differences + i * way.difference, &difference, way.difference);
  }
  if (base) std::memcpy(base_at, &*base, way.element);
  return line;
}

LineData decompress(const LineData& line, const Way& way) {
  const std::byte* const mask = line.data() + 1;
  const std::byte* const base_at = mask + way.mask_bytes();
  const std::byte* const differences = base_at + way.element;
  const std::uint64_t base = get(base_at, way.element);
  LineData data{};
  for (std::uint32_t i = 0; i < way.elements(); ++i) {
    std::uint64_t element =
        extended(get(differences + i * way.difference, way.difference), way.difference);
    if ((mask[i / 8] >> i % 8 & std::byte{1}) != std::byte{0}) element += base;
    std::memcpy(data.data() + i * way.element, &element, way.element);
  }
  return data;
}

LineData repeated(const std::byte* word) {
  LineData data;
  for (std::size_t at = 0; at < kLineBytes; at += kWord) std::memcpy(data.data() + at, word, kWord);
  return data;
}

}  // namespace

// Implements rule 3 (bdi.hpp): a repeated word is shorter than every form with a base.
std::optional<CompressedLine> compress(const LineData& data) {
  if (data == LineData{}) return CompressedLine{{kZero}, 1};
  if (data == repeated(data.data())) {
    CompressedLine compressed{{kRepeated}, 1 + kWord};
    std::memcpy(compressed.line.data() + 1, data.data(), kWord);
    return compressed;
  }
  for (std::size_t way = 0; way < kWays.size(); ++way) {
    if (const auto line = compress(data, way)) return CompressedLine{*line, kWays[way].bytes()};
  }
  return {};
}

LineData decompress(const LineData& line) {
  if (line[0] == kZero) return {};
  if (line[0] == kRepeated) return repeated(line.data() + 1);
  const auto way = std::to_integer<std::size_t>(line[0]) - 1;
  return way < kWays.size() ? decompress(line, kWays[way]) : line;
}

}  // namespace pmemsim
