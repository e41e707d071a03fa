// array_swap: an array whose items are swapped, two random ones in each region.
//
// One region takes two different items at random and swaps their contents. It writes twice
// --data-bytes, declared at once: three fences.
//
// In PM: Root {Header header; u64 array}, where array is the address of header.items slots of
// header.data_bytes each, rounded up to whole lines. A slot holds an item: the words word(number,
// header.seed, index) of the payload, where number (from 0) is the item's.
//
// Locks: slot i has lock i % 1024; a swap takes the two in ascending order.
#include "swap_array.hpp"

namespace {

struct ArraySwap : workload::DataItems, workload::RegionSwap {
  using RegionSwap::RegionSwap;

  static constexpr workload::About kAbout = {
      "array_swap",
      "Swaps two random items of an array in every atomic region. --data-bytes is the size of an\n"
      "item; a region writes two.",
      10000};
};

}  // namespace

int main(int argc, char** argv) {
  return workload::main<workload::SwapWorkload<ArraySwap>>(argc, argv);
}
