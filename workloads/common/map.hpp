// What the maps share: keys are below 2 * header.items, half of which the set-up inserts; a thread
// takes random keys, and inserts those that are not there. A map is a class
//
//   static constexpr About kAbout
//   static constexpr bool kRegions           whether it needs atomic regions
//   static constexpr bool kRemoves           whether it also removes items
//   static constexpr std::size_t kLocks      how many locks, one of which protects a key:
//   std::size_t lock_of(key)
//   struct Root                              its root object, which begins with a Header
//   struct Scratch                           what a thread reuses from region to region
//   Map(pm_pool*, Root*)
//   void create()                            makes an empty map out of a root with a header
//   void take_over()                         goes on with the map of an earlier run
//   Tally execute(const Operation&, Scratch&)  one region, under the key's lock
//   void check(Census&)                      adds every item, and reports what else is wrong
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "hints.hpp"
#include "item.hpp"
#include "random.hpp"
#include "requests.hpp"
#include "workload.hpp"

namespace workload {

inline constexpr Tally kAdded{1, 0}, kUpdated{0, 0}, kRemoved{0, 1};

// What one region is to do with an item.
struct Operation : NewItem {
  using NewItem::NewItem;
  bool remove = false;  // if the map has it, rather than update it

  // Gives the item that is there the new stamp and the new data. Nothing is declared yet.
  template <class Node>
  Tally update(Node* node) const {
    announce_address(node);
    announce_value(&node->stamp, stamp);
    const pm_range ranges[] = {{&node->stamp, sizeof stamp}, {data_of(node), data_bytes()}};
    pm_log_ranges(ranges, 2);
    node->stamp = stamp;
    store_data(node);
    return kUpdated;
  }
};

// What the maps that are trees have in common. There are several, so that threads find some that
// are not locked: key k is in tree k % kTrees, and each has a lock. Empty ones are all zero.
struct Trees {
  static constexpr std::uint64_t kTrees = 32;
  static constexpr std::size_t kLocks = kTrees;
  static constexpr bool kRegions = true;
  static constexpr bool kRemoves = false;

  struct Scratch {};

  static std::size_t lock_of(std::uint64_t key) { return key % kTrees; }
  void create() {}
  void take_over() {}
};

// The items that a check has found.
class Census {
 public:
  explicit Census(const Header& header)
      : payload_(header.payload()), found_(2 * header.items), check_{} {}

  std::uint64_t keys() const { return found_.size(); }
  bool whole() const { return check_.problem.empty(); }
  const Check& result() const { return check_; }

  // The first problem is the one that is reported.
  void report(const std::string& problem) {
    if (whole()) check_.problem = problem;
  }

  // Counts an item, which stands `in_place` if the map would find it there by its key.
  template <class Node>
  void add(const Node* node, bool in_place) {
    if (node->key >= keys() || !in_place)
      report(name(node) + " is in a wrong place");
    else if (found_[node->key])
      report(name(node) + " is there twice");
    else if (!payload_.matches(data_of(node), node->key, node->stamp))
      report("the data of " + name(node) + " are incomplete");
    else
      found_[node->key] = true;
    ++check_.items;
  }

  template <class Node>
  static std::string name(const Node* node) {
    return "key " + std::to_string(node->key);
  }

 private:
  Payload payload_;
  std::vector<bool> found_;
  Check check_;
};

template <class Structure>
class Map {
 public:
  static constexpr About kAbout = Structure::kAbout;

  static std::uint64_t pool_bytes(const Options& options) {
    return pool_bytes_for(options, 2 * options.items);
  }

  Map(pm_pool* pool, const Options& options) : Map(pool, root_of<Root>(pool)) {
    describe(root_->header, kAbout, options);
    structure_.create();
    pm_flush(root_, sizeof *root_);
    pm_durable();

    Random random(options.seed, 0);
    Operation operation(options.data_bytes);
    Scratch scratch;
    for (std::uint64_t items = 0; items < options.items;) {
      const std::uint64_t key = random.below(keys()), stamp = random.next();
      operation.make(root_->header.payload(), key, stamp);
      items += execute(operation, scratch).added;
    }
    set_ready(root_->header);
  }

  explicit Map(pm_pool* pool) : Map(pool, root_of<Root>(pool)) { structure_.take_over(); }

  class Source {
   public:
    using Request = Operation;

    Source(const Header& header, const Work& work)
        : header_(header), random_(work.seed, work.thread + 1) {}

    Operation empty() const { return Operation(header_.data_bytes); }
    void draw(Operation& operation) {
      const std::uint64_t key = random_.below(2 * header_.items), stamp = random_.next();
      if constexpr (Structure::kRemoves) operation.remove = random_.below(2) == 0;
      operation.make(header_.payload(), key, stamp);
    }

   private:
    const Header& header_;
    Random random_;
  };

  Requests<Source> draw(const Work& work) const {
    const Header& header = root_->header;
    return {Source(header, work), work.regions, sizeof(Operation) + padded(header.data_bytes)};
  }

  Tally run(const Work& work, Requests<Source>& requests) {
    Scratch scratch;
    Tally sum;
    for (std::uint64_t i = 0; i < work.regions; ++i) {
      const Tally one = execute(requests.next(), scratch);
      sum.added += one.added;
      sum.removed += one.removed;
    }
    return sum;
  }

  Check check() const {
    Census census(root_->header);
    structure_.check(census);
    return census.result();
  }

 private:
  using Root = typename Structure::Root;
  using Scratch = typename Structure::Scratch;

  Map(pm_pool* pool, Root* root)
      : pool_(pool), root_(root), structure_(pool, root), locks_(Structure::kLocks) {}

  std::uint64_t keys() const { return 2 * root_->header.items; }

  Tally execute(Operation& operation, Scratch& scratch) {
    operation.announce_data();
    const std::lock_guard lock(locks_[structure_.lock_of(operation.key)]);
    if constexpr (Structure::kRegions) pm_begin(pool_);
    const Tally tally = structure_.execute(operation, scratch);
    if constexpr (Structure::kRegions) pm_end();
    return tally;
  }

  pm_pool* pool_;
  Root* root_;
  Structure structure_;
  std::vector<std::mutex> locks_;
};

}  // namespace workload
