// string_swap: an array of strings, two of which are swapped at random a region.
//
// One region: takes two different strings at random and swaps them. It writes twice --data-bytes,
// declared at once: three fences.
//
// In PM: Root {Header header; u64 array}, array being the address of header.items slots of
// header.data_bytes each, rounded up to whole lines. A slot holds a string of header.data_bytes - 1
// printable characters, and a zero behind it. Its first eight characters are the string's number
// (from 0) in hexadecimal, with leading zeros; the others are kAlphabet[byte % 64], byte being the
// byte at that place in the words word(number, header.seed, index) of the payload.
//
// Locks: slot i has lock i % 1024; a swap takes the two in ascending order.
#include "swap_array.hpp"

namespace {

struct Strings {
  static void fill(char* slot, std::uint64_t item, const workload::Header& header) {
    const std::uint64_t last = header.data_bytes - 1;
    for (std::uint64_t i = 0; i < last; ++i) slot[i] = character(item, i, header);
    slot[last] = '\0';
  }

  static std::optional<std::uint64_t> item_in(const char* slot, const workload::Header& header) {
    const std::uint64_t last = header.data_bytes - 1;
    std::uint64_t item = 0;
    const auto [end, error] = std::from_chars(slot, slot + kDigits, item, 16);
    if (error != std::errc() || end != slot + kDigits || slot[last] != '\0') return std::nullopt;
    for (std::uint64_t i = kDigits; i < last; ++i)
      if (slot[i] != character(item, i, header)) return std::nullopt;
    return item;
  }

 private:
  static constexpr std::uint64_t kDigits = 8;
  static constexpr char kAlphabet[] =
      "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-.";

  static char character(std::uint64_t item, std::uint64_t index, const workload::Header& header) {
    if (index < kDigits) return kAlphabet[item >> (kDigits - 1 - index) * 4 & 15];
    const std::uint64_t word = header.payload().word(item, header.seed, index / sizeof word);
    return kAlphabet[word >> index % sizeof word * 8 & 63];
  }
};

struct StringSwap : Strings, workload::RegionSwap {
  using RegionSwap::RegionSwap;

  static constexpr workload::About kAbout = {
      "string_swap",
      "Swaps two random strings of an array in every atomic region. --data-bytes is the size of a\n"
      "string, with the zero that ends it; a region writes two.",
      10000};
};

}  // namespace

int main(int argc, char** argv) {
  return workload::main<workload::SwapWorkload<StringSwap>>(argc, argv);
}
