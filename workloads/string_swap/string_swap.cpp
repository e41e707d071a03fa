// string_swap: an array of strings, two of which are swapped at random in each region.
//
// One region takes two different strings at random and swaps them. The two have --data-bytes in
// total, which ASAP (7.1) calls the data size of an atomic region: 64 bytes are two strings of 32.
// They are declared at once: three fences.
//
// In PM: Root {Header header; u64 array; u64 item_bytes}; array is the address of header.items
// slots of item_bytes each, rounded up to whole lines. A slot holds a string of item_bytes - 1
// printable characters, and a zero behind it. The characters are kAlphabet[byte % 64], where byte
// is the byte at that position in the words word(number, header.seed, index) of the payload; number
// (from 0) is the string's.
//
// Locks: slot i has lock i % 1024; a swap takes the two in ascending order.
#include "swap_array.hpp"

namespace {

struct Strings {
  static constexpr std::uint64_t kShares = 2;

  static void fill(char* slot, std::uint64_t item, const workload::SlotArray& root) {
    const workload::Payload payload = root.header.payload();
    const std::uint64_t last = root.item_bytes - 1;
    for (std::uint64_t i = 0; i < last; ++i) {
      const std::uint64_t word = payload.word(item, root.header.seed, i / sizeof word);
      slot[i] = kAlphabet[word >> i % sizeof word * 8 & 63];
    }
    slot[last] = '\0';
  }

 private:
  static constexpr char kAlphabet[] =
      "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-.";
};

struct StringSwap : Strings, workload::RegionSwap {
  using RegionSwap::RegionSwap;

  static constexpr workload::About kAbout = {
      "string_swap",
      "Swaps two random strings of an array in every atomic region. --data-bytes is the size of "
      "both\n"
      "together, with the zeros that end them: 64 are two strings of 32 bytes.",
      10000,
      64,
      nullptr,
      16};
};

}  // namespace

int main(int argc, char** argv) {
  return workload::main<workload::SwapWorkload<StringSwap>>(argc, argv);
}
