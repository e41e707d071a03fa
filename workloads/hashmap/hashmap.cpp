// hashmap: a chained hash table with a fixed number of buckets.
//
// One region draws a random key. At the start, half of the keys have an item. If the map has it,
// its item gets new data; otherwise an item is inserted in front of its bucket's chain. The ranges
// are declared at once: three fences.
//
// In PM: Root {Header header; u64 bucket_count; u64 buckets}, where buckets is the address of
// bucket_count words, each the address of a chain's first node or 0. Node {u64 next, key, stamp;
// from byte 64 on: the data}, where next is 0 at the end. A key's bucket is mix(key) % bucket_count
// (common/random.hpp); keys are below header.keys(). The data are word(key, stamp, index) of the
// payload (common/payload.hpp).
//
// Locks: the eight buckets of one line share a lock, and so does every 1024th line: bucket b has
// lock b / 8 % 1024.
#include "bucket_table.hpp"
#include "map.hpp"

namespace {

class HashMap {
 public:
  static constexpr workload::About kAbout = {
      "hashmap",
      "Inserts an item into a hash table, or updates one that is there, in every atomic region.\n"
      "--data-bytes is the size of an item's value.",
      20000};
  static constexpr bool kRegions = true;
  static constexpr bool kRemoves = false;
  static constexpr bool kReads = true;
  static constexpr bool kPmweaver = true;

  struct alignas(PM_LINE_BYTES) Node {
    Node* next;
    std::uint64_t key, stamp;
  };

  struct Root {
    workload::Header header;
    workload::BucketTable<Node> buckets;
  };

  static constexpr std::size_t kLocks = workload::BucketTable<Node>::kLocks;

  struct Scratch {};

  HashMap(pm_pool* pool, Root* root) : pool_(pool), root_(root) {}

  void create(const workload::Options& options) { root_->buckets.create(pool_, 2 * options.items); }
  void take_over() {}

  std::size_t lock_of(std::uint64_t key) const { return root_->buckets.lock_of(key); }

  workload::Tally execute(const workload::Operation& item, Scratch&) {
    Node** bucket = root_->buckets.of(item.key);
    Node* node = *bucket;
    while (node && node->key != item.key) node = node->next;
    return node ? item.update(node) : insert(bucket, item);
  }

  void check(workload::Census& census) const {
    const workload::BucketTable<Node>& buckets = root_->buckets;
    for (std::uint64_t i = 0; i < buckets.count; ++i)
      for (const Node* node = buckets.first[i]; node && census.whole(); node = node->next)
        census.add(node, buckets.index_of(node->key) == i);
  }

 private:
  workload::Tally insert(Node** bucket, const workload::Operation& item) {
    Node* node = item.allocate<Node>(pool_);
    // Janus: the future contents of node and bucket are known before the log is written. Fields
    // that share a line are announced together (figure 8b).
    if constexpr (workload::kHints) {
      pm_pre fields;
      pm_pre_init(&fields);
      pm_pre_both_buf(&fields, &node->next, bucket, sizeof *bucket);
      pm_pre_both_buf(&fields, &node->key, &item.key, 2 * sizeof item.key);
      pm_pre_start_buf(&fields);
      workload::announce_pointer(bucket, node);
    }

    pm_log(bucket, sizeof *bucket);
    *node = {*bucket, item.key, item.stamp};
    item.store_data(node);
    *bucket = node;
    return workload::kAdded;
  }

  pm_pool* pool_;
  Root* root_;
};

}  // namespace

int main(int argc, char** argv) { return workload::main<workload::Map<HashMap>>(argc, argv); }
