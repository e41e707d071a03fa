// The shared part of workloads that swap two random items of an array. Such a workload is a
// class
//
//   static constexpr About kAbout
//   struct Root                        its root object: begins with a Header, then the array
//   struct Scratch                     memory that a thread reuses; made of (thread, Root&)
//   Array(pm_pool*, Root*)
//   void create()                      its part of the set-up, after header and array
//   void take_over()                   continues with the array of an earlier run
//   void swap(first, second, scratch)  one swap, under both slots' locks
//   static constexpr std::uint64_t kShares   number of items whose total size is --data-bytes
//   static void fill(slot, item, root)  writes an item, as DataItems does
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
#include "requests.hpp"
#include "workload.hpp"

namespace workload {

// The slots, at an address in the root object: header.items of item_bytes each, rounded up to whole
// lines.
struct SlotArray {
  Header header;
  char* slots;
  std::uint64_t item_bytes;

  char* slot(std::uint64_t index) const { return slots + index * padded(item_bytes); }
};

// Items that consist of data only: words word(number, header.seed, index) of the payload.
struct DataItems {
  static constexpr std::uint64_t kShares = 1;

  static void fill(char* slot, std::uint64_t item, const SlotArray& root) {
    root.header.payload().fill(slot, item, root.header.seed);
  }
};

// Swaps in an atomic region that declares both slots at once: three fences.
class RegionSwap {
 public:
  using Root = SlotArray;

  struct Scratch {
    Scratch(unsigned, const Root& root) : buffer(root.item_bytes) {}
    std::vector<char> buffer;
  };

  RegionSwap(pm_pool* pool, Root* root) : pool_(pool), root_(root) {}

  void create() {}
  void take_over() {}

  void swap(std::uint64_t first, std::uint64_t second, Scratch& scratch) {
    char *a = root_->slot(first), *b = root_->slot(second);
    const std::uint64_t bytes = root_->item_bytes;
    pm_begin(pool_);
    // Janus: each slot's new contents are in the other, and are announced before they are logged.
    if constexpr (kHints) {
      announce(a, b, bytes);
      announce(b, a, bytes);
    }
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
    root_->item_bytes = options.data_bytes / Array::kShares;
    const std::uint64_t bytes = options.items * padded(root_->item_bytes);
    root_->slots = static_cast<char*>(require(pm_alloc(pool, bytes)));
    for (std::uint64_t item = 0; item < options.items; ++item)
      Array::fill(root_->slot(item), item, *root_);
    pm_flush(root_->slots, bytes);
    array_.create();
    pm_flush(root_, sizeof *root_);
    set_ready(root_->header);
  }

  explicit SwapWorkload(pm_pool* pool) : SwapWorkload(pool, root_of<Root>(pool)) {
    array_.take_over();
  }

  class Source {
   public:
    struct Request {
      std::uint64_t first, second;
    };

    Source(std::uint64_t items, const Work& work) : items_(items), random_(work.random()) {}

    Request empty() const { return {}; }
    void draw(Request& request) {
      request.first = random_.below(items_);
      request.second = (request.first + 1 + random_.below(items_ - 1)) % items_;
    }

   private:
    std::uint64_t items_;
    Random random_;
  };

  Requests<Source> draw(const Work& work) const {
    return {Source(root_->header.items, work), work.regions, sizeof(typename Source::Request)};
  }

  Tally run(const Work& work, Requests<Source>& requests) {
    typename Array::Scratch scratch(work.thread, *root_);
    for (std::uint64_t i = 0; i < work.regions; ++i) {
      const auto [first, second] = requests.next();
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

  // Checks that every slot holds an item, and that every item exists as often as the set-up made
  // it. With a share of duplicates, several items may be equal.
  Check check() const {
    const Header& header = root_->header;
    std::unordered_map<std::uint64_t, std::uint64_t> missing;
    std::vector<char> made(root_->item_bytes);
    for (std::uint64_t item = 0; item < header.items; ++item) {
      Array::fill(made.data(), item, *root_);
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
    digest.add(item, root_->item_bytes);
    return digest.value();
  }

  SwapWorkload(pm_pool* pool, Root* root) : root_(root), array_(pool, root), locks_(kLocks) {}

  Root* root_;
  Array array_;
  std::vector<std::mutex> locks_;
};

}  // namespace workload
