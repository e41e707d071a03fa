// The shared part of the maps: keys are below header.keys(). A thread draws random keys, and
// inserts the keys that the map lacks. --mix determines how many keys the map has:
//
//  - insert-update, insert-delete: half of the keys, since the set-up inserts header.items of twice
//    as many;
//  - read-update: all keys, since there are as many keys as items;
//  - insert: none of the keys that regions draw, since each region has a key of its own;
//  - pmweaver: the same as insert, with keys in a random order, far from each other. If there are
//    several trees, all keys are in the first, as in a program that has one.
//
// A map is a class
//
//   static constexpr About kAbout
//   static constexpr bool kRegions           true if it needs atomic regions
//   static constexpr bool kRemoves           true if it also removes items
//   static constexpr bool kReads             true if it can read an item without changing it
//   static constexpr bool kPmweaver          true if PMWeaver is measured with such a map
//   static constexpr std::size_t kLocks      number of locks, one of which protects a key:
//   std::size_t lock_of(key)
//   struct Root                              its root object, which begins with a Header
//   struct Scratch                           memory that a thread reuses in each region; its
//                                            `thread`, if it has one, is the thread's number
//   Map(pm_pool*, Root*)
//   void create(const Options&)              makes an empty map out of a root with a header
//   void take_over()                         continues with the map of an earlier run
//   Tally execute(const Operation&, Scratch&)  one region, under the key's lock
//   void check(Census&)                      adds every item, and reports other errors
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
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

// The operation of one region on an item.
struct Operation : NewItem {
  using NewItem::NewItem;
  bool remove = false;  // if the map has the item: remove it instead of updating it
  bool read = false;    // if the map has the item: read it instead of updating it
  bool at_end = false;  // if the map lacks the item: insert it at its chain's end, not at the front

  // Updates the existing item's stamp and data. The caller has not declared these ranges yet.
  template <class Node>
  Tally update(Node* node) const {
    if (read) return read_data(node);
    if constexpr (kHints) {
      announce_address(node);
      announce_value(&node->stamp, stamp);
    }
    const pm_range ranges[] = {{&node->stamp, sizeof stamp}, {data_of(node), data_bytes()}};
    pm_log_ranges(ranges, 2);
    node->stamp = stamp;
    store_data(node);
    return kUpdated;
  }

 private:
  template <class Node>
  Tally read_data(const Node* node) const {
    std::uint64_t sum = node->stamp;
    for (std::uint64_t i = 0; i < data_bytes(); i += sizeof sum) {
      std::uint64_t word;
      std::memcpy(&word, data_of(node) + i, sizeof word);
      sum += word;
    }
    asm volatile("" : : "r"(sum));  // keeps the loads
    return kUpdated;
  }
};

// Returns the numbers below a power of two in a seemingly random order: keys that regions insert.
constexpr std::uint64_t scattered(std::uint64_t index, std::uint64_t power_of_two) {
  return index * kGolden & (power_of_two - 1);
}

// Returns the numbers below a power of two in a random order, without a list of them.
constexpr std::uint64_t shuffled(std::uint64_t index, std::uint64_t power_of_two,
                                 std::uint64_t seed) {
  const std::uint64_t mask = power_of_two - 1;
  const int half = std::bit_width(mask) / 2 + 1;
  std::uint64_t word = index;
  for (std::uint64_t round = 0; round < 4; ++round) {
    word = (word + mix(seed + round)) * kGolden & mask;
    word ^= word >> half;
  }
  return word;
}

// The shared part of maps that are trees. There are several trees, so that threads rarely contend
// for one: key k is in tree k % kTrees, and each tree has a lock. An empty tree is all zero.
struct Trees {
  static constexpr std::uint64_t kTrees = 32;
  static constexpr std::size_t kLocks = kTrees;
  static constexpr bool kRegions = true;
  static constexpr bool kRemoves = false;
  static constexpr bool kReads = true;
  static constexpr bool kPmweaver = true;

  struct Scratch {};

  static std::size_t lock_of(std::uint64_t key) { return key % kTrees; }
  void create(const Options&) {}
  void take_over() {}
};

// The items that a check has found.
class Census {
 public:
  explicit Census(const Header& header)
      : payload_(header.payload()), found_(header.keys()), check_{} {}

  std::uint64_t keys() const { return found_.size(); }
  bool whole() const { return check_.problem.empty(); }
  const Check& result() const { return check_; }

  // Reports a problem; only the first one is kept.
  void report(const std::string& problem) {
    if (whole()) check_.problem = problem;
  }

  // Counts an item; `in_place` is true if the map would find it at its location by its key.
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
  static constexpr About kAbout = [] {
    About about = Structure::kAbout;
    about.least_data_bytes = 8;
    const auto add = [&about](Mix mix) { about.mixes |= bit_of(mix); };
    add(Mix::kInsertUpdate);
    add(Mix::kInsert);
    if (Structure::kReads) add(Mix::kReadUpdate);
    if (Structure::kRemoves) add(Mix::kInsertDelete);
    if (Structure::kPmweaver) add(Mix::kPmweaver);
    return about;
  }();

  static std::uint64_t pool_bytes(const Options& options) {
    const std::uint64_t keys = key_space(options);
    const std::uint64_t most = options.mix == Mix::kPmweaver ? inserted(options) : keys;
    return pool_bytes_for(options, std::max(2 * options.items, most));
  }

  Map(pm_pool* pool, const Options& options) : Map(pool, root_of<Root>(pool)) {
    describe(root_->header, kAbout, options);
    root_->header.key_space = key_space(options);
    pm_flush(&root_->header, sizeof root_->header);
    structure_.create(options);
    pm_flush(root_, sizeof *root_);
    pm_durable();

    Random random(options.seed, 0);
    Operation operation(options.data_bytes);
    Scratch scratch;
    operation.at_end = options.mix == Mix::kPmweaver;
    for (std::uint64_t items = 0, index = 0; items < options.items; ++index) {
      const std::uint64_t key = options.mix == Mix::kReadUpdate
                                    ? scattered(index, std::bit_ceil(keys()))
                                    : draw_key(root_->header, options.mix, index, random);
      const std::uint64_t stamp = random.next();
      if (key >= keys()) continue;
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
        : header_(header),
          random_(work.random()),
          mix_(work.mix),
          next_(header.items + work.first) {}

    Operation empty() const { return Operation(header_.data_bytes); }
    void draw(Operation& operation) {
      const std::uint64_t key = draw_key(header_, mix_, next_++, random_);
      const std::uint64_t stamp = random_.next();
      if constexpr (Structure::kRemoves) {
        operation.remove =
            mix_ == Mix::kInsertDelete || (mix_ == Mix::kInsertUpdate && random_.below(2) == 0);
      }
      operation.read = mix_ == Mix::kReadUpdate && random_.below(2) == 0;
      operation.at_end = mix_ == Mix::kPmweaver;
      operation.make(header_.payload(), key, stamp);
    }

   private:
    const Header& header_;
    Random random_;
    Mix mix_;
    std::uint64_t next_;  // index of the key, in mixes whose regions only insert
  };

  Requests<Source> draw(const Work& work) const {
    const Header& header = root_->header;
    return {Source(header, work), work.regions, sizeof(Operation) + padded(header.data_bytes)};
  }

  Tally run(const Work& work, Requests<Source>& requests) {
    Scratch scratch;
    if constexpr (requires { scratch.thread; }) scratch.thread = work.thread;
    Tally sum;
    for (std::uint64_t i = 0; i < work.regions; ++i) {
      sum += execute(requests.next(), scratch);
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

  // With several trees, all keys of one tree are multiples of this number. Other keys are never
  // inserted.
  static constexpr std::uint64_t kKeysOfTrees = [] {
    if constexpr (requires { Structure::kTrees; }) return Structure::kTrees;
    return std::uint64_t{1};
  }();
  static constexpr std::uint64_t kSparse = 16;

  static std::uint64_t draw_key(const Header& header, Mix mix, std::uint64_t index,
                                Random& random) {
    const std::uint64_t keys = header.keys();
    if (mix == Mix::kInsert) return scattered(index, keys);
    if (mix == Mix::kPmweaver)
      return kKeysOfTrees * shuffled(index, keys / kKeysOfTrees, header.seed);
    return random.below(keys);
  }

  // Returns the number of inserted items, including the regions' if these only insert.
  static std::uint64_t inserted(const Options& options) {
    return options.items + options.all_regions();
  }

  // Returns the value of header.key_space: a power of two if regions only insert.
  static std::uint64_t key_space(const Options& options) {
    switch (options.mix) {
      case Mix::kInsert:
        return std::bit_ceil(inserted(options));
      case Mix::kPmweaver:
        return kKeysOfTrees * kSparse * std::bit_ceil(inserted(options));
      case Mix::kReadUpdate:
        return options.items;
      case Mix::kInsertUpdate:
      case Mix::kInsertDelete:
      case Mix::kSections:
        break;
    }
    return 0;
  }
  std::uint64_t keys() const { return root_->header.keys(); }

  Tally execute(Operation& operation, Scratch& scratch) {
    if constexpr (kHints) operation.announce_data();
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
