// What the workloads share that swap two random items of an array. A workload of this kind is a
// class
//
//   static constexpr About kAbout
//   struct Root                        its root object: begins with a Header, then the array
//   struct Scratch                     what a thread reuses; made of (number of the thread, Root&)
//   Array(pm_pool*, Root*)
//   void create()                      its part of the set-up, once header and array are there
//   void take_over()                   goes on with the array of an earlier run
//   void swap(first, second, scratch)  one swap, under both slots' locks
//   static void fill(slot, item, header)  writes an item, as DataItems does
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "digest.hpp"
#include "hints.hpp"
#include "random.hpp"
#include "workload.hpp"

namespace workload {

// The slots, at an address that stands in the root object: header.items of header.data_bytes each,
// rounded up to whole lines.
struct SlotArray {
  Header header;
  char* slots;

  char* slot(std::uint64_t index) const { return slots + index * padded(header.data_bytes); }
};

// Items that are nothing but data: words word(number, header.seed, index) of the payload.
struct DataItems {
  static void fill(char* slot, std::uint64_t item, const Header& header) {
    header.payload().fill(slot, item, header.seed);
  }
};

// Swaps in an atomic region that declares both slots at once: three fences.
class RegionSwap {
 public:
  using Root = SlotArray;

  struct Scratch {
    Scratch(unsigned, const Root& root) : buffer(root.header.data_bytes) {}
    std::vector<char> buffer;
  };

  RegionSwap(pm_pool* pool, Root* root) : pool_(pool), root_(root) {}

  void create() {}
  void take_over() {}

  void swap(std::uint64_t first, std::uint64_t second, Scratch& scratch) {
    char *a = root_->slot(first), *b = root_->slot(second);
    const std::uint64_t bytes = root_->header.data_bytes;
    pm_begin(pool_);
    // Janus: what each slot will hold stands in the other, and is announced before it is logged.
    announce(a, b, bytes);
    announce(b, a, bytes);
    const pm_range ranges[] = {{a, bytes}, {b, bytes}};
    pm_log_ranges(ranges, 2);
    std::memcpy(scratch.buffer.data(), a, bytes);
    std::memcpy(a, b, bytes);
    std::memcpy(b, scratch.buffer.data(), bytes);
    pm_end();
  }

 private:
  pm_pool* pool_;
  Root* root_;
};

// Locks: slot i has lock i % kLocks; a swap takes the two in ascending order.
template <class Array>
class SwapWorkload {
 public:
  static constexpr About kAbout = Array::kAbout;

  static std::uint64_t pool_bytes(const Options& options) {
    return pool_bytes_for(options, options.items);
  }

  SwapWorkload(pm_pool* pool, const Options& options) : SwapWorkload(pool, root_of<Root>(pool)) {
    describe(root_->header, kAbout, options);
    const std::uint64_t bytes = options.items * padded(options.data_bytes);
    root_->slots = static_cast<char*>(require(pm_alloc(pool, bytes)));
    for (std::uint64_t item = 0; item < options.items; ++item)
      Array::fill(root_->slot(item), item, root_->header);
    pm_flush(root_->slots, bytes);
    array_.create();
    pm_flush(root_, sizeof *root_);
    set_ready(root_->header);
  }

  explicit SwapWorkload(pm_pool* pool) : SwapWorkload(pool, root_of<Root>(pool)) {
    array_.take_over();
  }

  Tally run(const Work& work) {
    Random random(work.seed, work.thread + 1);
    typename Array::Scratch scratch(work.thread, *root_);
    const std::uint64_t items = root_->header.items;
    for (std::uint64_t i = 0; i < work.regions; ++i) {
      const std::uint64_t first = random.below(items);
      const std::uint64_t second = (first + 1 + random.below(items - 1)) % items;
      const std::size_t lower = std::min(first % kLocks, second % kLocks);
      const std::size_t upper = std::max(first % kLocks, second % kLocks);
      locks_[lower].lock();
      if (upper != lower) locks_[upper].lock();
      array_.swap(first, second, scratch);
      if (upper != lower) locks_[upper].unlock();
      locks_[lower].unlock();
    }
    return {};
  }

  // Every slot must hold an item, and every item be there as often as the set-up made it: with a
  // share of duplicates, several items may be equal.
  Check check() const {
    const Header& header = root_->header;
    std::unordered_map<std::uint64_t, std::uint64_t> missing;
    std::vector<char> made(header.data_bytes);
    for (std::uint64_t item = 0; item < header.items; ++item) {
      Array::fill(made.data(), item, header);
      ++missing[digest_of(made.data())];
    }
    for (std::uint64_t i = 0; i < header.items; ++i) {
      const auto found = missing.find(digest_of(root_->slot(i)));
      if (found == missing.end()) return {"slot " + std::to_string(i) + " holds no whole item"};
      if (found->second-- == 0)
        return {"slot " + std::to_string(i) + " holds an item that is elsewhere, too"};
    }
    return {"", header.items};
  }

 private:
  using Root = typename Array::Root;

  static constexpr std::size_t kLocks = 1024;

  std::uint64_t digest_of(const char* item) const {
    Digest digest;
    digest.add(item, root_->header.data_bytes);
    return digest.value();
  }

  SwapWorkload(pm_pool* pool, Root* root) : root_(root), array_(pool, root), locks_(kLocks) {}

  Root* root_;
  Array array_;
  std::vector<std::mutex> locks_;
};

}  // namespace workload
