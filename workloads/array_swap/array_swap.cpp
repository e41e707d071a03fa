// array_swap: an array whose items are swapped, two at random a region.
//
// One region: takes two different items at random and swaps their contents. It writes twice
// --data-bytes, declared at once: three fences.
//
// In PM: Root {Header header; u64 array}, array being the address of header.items slots of
// header.data_bytes each, rounded up to whole lines. A slot holds an item: word 0 is the item's
// number (from 0), the other words are word(number, header.seed, index) of the payload.
//
// Locks: slot i has lock i % kLocks; a swap takes the two in ascending order.
#include <algorithm>
#include <mutex>
#include <vector>

#include "workload.hpp"

namespace {

class ArraySwap {
 public:
  static constexpr workload::About kAbout = {
      "array_swap",
      "Swaps two random items of an array in every atomic region. --data-bytes is the size of an\n"
      "item; a region writes two.",
      10000};

  static std::uint64_t pool_bytes(const workload::Options& options) {
    return workload::pool_bytes_for(options, options.items);
  }

  ArraySwap(pm_pool* pool, const workload::Options& options)
      : pool_(pool), root_(workload::root_of<Root>(pool)), locks_(kLocks) {
    workload::describe(root_->header, kAbout, options);
    const std::uint64_t slot_bytes = workload::padded(options.data_bytes);
    root_->array =
        static_cast<char*>(workload::require(pm_alloc(pool, options.items * slot_bytes)));
    for (std::uint64_t item = 0; item < options.items; ++item) {
      char* slot = root_->array + item * slot_bytes;
      root_->header.payload().fill(slot, item, options.seed);
      *reinterpret_cast<std::uint64_t*>(slot) = item;
    }
    pm_flush(root_->array, options.items * slot_bytes);
    pm_flush(root_, sizeof *root_);
    workload::set_ready(root_->header);
  }

  explicit ArraySwap(pm_pool* pool)
      : pool_(pool), root_(workload::root_of<Root>(pool)), locks_(kLocks) {}

  workload::Tally run(const workload::Work& work) {
    workload::Random random(work.seed, work.thread + 1);
    std::vector<char> buffer(data_bytes());
    for (std::uint64_t i = 0; i < work.regions; ++i) {
      const std::uint64_t first = random.below(items());
      const std::uint64_t second = (first + 1 + random.below(items() - 1)) % items();
      swap(first, second, buffer.data());
    }
    return {};
  }

  workload::Check check() const {
    const workload::Payload payload = root_->header.payload();
    std::vector<bool> found(items());
    for (std::uint64_t i = 0; i < items(); ++i) {
      const auto* slot = reinterpret_cast<const std::uint64_t*>(slot_of(i));
      const std::uint64_t item = slot[0];
      if (item >= items() || found[item])
        return {"slot " + std::to_string(i) + " holds an item that doesn't exist or is elsewhere"};
      found[item] = true;
      for (std::size_t word = 1; word < data_bytes() / sizeof *slot; ++word)
        if (slot[word] != payload.word(item, root_->header.seed, word))
          return {"slot " + std::to_string(i) + " holds only part of item " + std::to_string(item)};
    }
    return {"", items()};
  }

 private:
  static constexpr std::size_t kLocks = 1024;

  struct Root {
    workload::Header header;
    char* array;
  };

  std::uint64_t items() const { return root_->header.items; }
  std::uint64_t data_bytes() const { return root_->header.data_bytes; }
  char* slot_of(std::uint64_t index) const {
    return root_->array + index * workload::padded(data_bytes());
  }

  void swap(std::uint64_t first, std::uint64_t second, char* buffer) {
    const std::uint64_t lower = std::min(first % kLocks, second % kLocks);
    const std::uint64_t upper = std::max(first % kLocks, second % kLocks);
    locks_[lower].lock();
    if (upper != lower) locks_[upper].lock();

    char *a = slot_of(first), *b = slot_of(second);
    const std::uint64_t bytes = data_bytes();
    const pm_range ranges[] = {{a, bytes}, {b, bytes}};
    pm_begin(pool_);
    pm_log_ranges(ranges, 2);
    std::memcpy(buffer, a, bytes);
    std::memcpy(a, b, bytes);
    std::memcpy(b, buffer, bytes);
    pm_end();

    if (upper != lower) locks_[upper].unlock();
    locks_[lower].unlock();
  }

  pm_pool* pool_;
  Root* root_;
  std::vector<std::mutex> locks_;
};

}  // namespace

int main(int argc, char** argv) { return workload::main<ArraySwap>(argc, argv); }
