// string_swap: an array of strings, two of which are swapped at random a region.
//
// One region: takes two different strings at random and swaps them. It writes twice --data-bytes,
// declared at once: three fences.
//
// In PM: Root {Header header; u64 array}, array being the address of header.items slots of
// header.data_bytes each, rounded up to whole lines. A slot holds a string of header.data_bytes - 1
// printable characters, and a zero behind it. The characters are kAlphabet[byte % 64], byte being
// the byte at that place in the words word(number, header.seed, index) of the payload, number (from
// 0) being the string's.
//
// Locks: slot i has lock i % 1024; a swap takes the two in ascending order.
#include "swap_array.hpp"

namespace {

struct Strings {
  static void fill(char* slot, std::uint64_t item, const workload::Header& header) {
    const workload::Payload payload = header.payload();
    const std::uint64_t last = header.data_bytes - 1;
    for (std::uint64_t i = 0; i < last; ++i) {
      const std::uint64_t word = payload.word(item, header.seed, i / sizeof word);
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
      "Swaps two random strings of an array in every atomic region. --data-bytes is the size of a\n"
      "string, with the zero that ends it; a region writes two.",
      10000};
};

}  // namespace

int main(int argc, char** argv) {
  return workload::main<workload::SwapWorkload<StringSwap>>(argc, argv);
}
