// hashmap_lowlevel: a chained hash table whose pointers are changed directly, without a log, as
// PMDK's hashmap_atomic.
//
// One operation draws a random key. At the start, half of the keys have an item. If the map has it,
// a new node replaces its node; otherwise one is inserted in front of its bucket's chain. The node
// is made durable, then the pointer to it is switched: two fences (common/chains.hpp). With --mix
// pmweaver there are 4007 buckets, and the pointer is the one at the chain's end. With --mix
// read-update every key has an item, which is read or updated in its node, with an undo log written
// by hand: four fences (common/section_logs.hpp).
//
// In PM: Root {Header header; u64 nodes, node_count, node_bytes; u64 bucket_count; u64 buckets;
// u64 logs, log_bytes}, where buckets is the address of bucket_count words, each the address of a
// chain's first node or 0. logs is 0 but with --mix read-update. nodes is the address of all nodes,
// free ones too. Node {u64 next, key, stamp; from byte 64 on: the data}, where next is 0 at the
// end. A key's bucket is mix(key) % bucket_count (common/random.hpp); keys are below header.keys().
// The data are word(key, stamp, index) of the payload (common/payload.hpp).
//
// Locks: the eight buckets of one line share a lock, and so does every 1024th line: bucket b has
// lock b / 8 % 1024.
#include "bucket_table.hpp"
#include "chains.hpp"
#include "section_logs.hpp"

namespace {

class LowLevelHashMap {
 public:
  static constexpr workload::About kAbout = {
      "hashmap_lowlevel",
      "Inserts an item into a hash table, or updates one that is there, by switching a pointer to "
      "a\n"
      "new node: --regions counts such operations. --data-bytes is the size of an item's value.",
      20000};
  static constexpr bool kRegions = false;
  static constexpr bool kRemoves = false;
  static constexpr bool kReads = true;
  static constexpr bool kPmweaver = true;
  static constexpr std::uint64_t kPmweaversBuckets = 4007;

  using Node = workload::ChainNode;
  struct Scratch : workload::Chains::Scratch {
    unsigned thread = 0;
  };

  static constexpr std::size_t kLocks = workload::BucketTable<Node>::kLocks;

  struct Root {
    workload::Header header;
    workload::NodeArray nodes;
    workload::BucketTable<Node> buckets;
    workload::SectionLogs logs;
  };

  LowLevelHashMap(pm_pool* pool, Root* root) : pool_(pool), root_(root), chains_(&root->nodes) {}

  void create(const workload::Options& options) {
    const bool pmweaver = options.mix == workload::Mix::kPmweaver;
    root_->buckets.create(pool_, pmweaver ? kPmweaversBuckets : 2 * options.items);
    chains_.create(pool_, root_->header);
    if (options.mix == workload::Mix::kReadUpdate) root_->logs.create(pool_, node_bytes());
  }

  void take_over() {
    root_->logs.take_over();
    chains_.take_over(root_->header);
    for (std::uint64_t i = 0; i < root_->buckets.count; ++i) chains_.claim(root_->buckets.first[i]);
    chains_.free_unclaimed();
  }

  std::size_t lock_of(std::uint64_t key) const { return root_->buckets.lock_of(key); }

  workload::Tally execute(const workload::Operation& item, Scratch& cache) {
    Node** bucket = root_->buckets.of(item.key);
    if (root_->logs.exist()) {
      if (Node* node = workload::Chains::find(*bucket, item.key)) {
        return item.read ? item.update(node) : update_in_section(node, item, cache.thread);
      }
    }
    return item.at_end ? chains_.append(bucket, item, cache) : chains_.execute(bucket, item, cache);
  }

  void check(workload::Census& census) const {
    for (std::uint64_t i = 0; i < root_->buckets.count; ++i)
      chains_.check(root_->buckets.first[i], census,
                    [&](std::uint64_t key) { return root_->buckets.index_of(key) == i; });
  }

 private:
  std::uint64_t node_bytes() const {
    return sizeof(Node) + workload::padded(root_->header.data_bytes);
  }

  workload::Tally update_in_section(Node* node, const workload::Operation& item, unsigned thread) {
    root_->logs.begin(thread, node, node_bytes());
    node->stamp = item.stamp;
    item.store_data(node);
    pm_flush(node, node_bytes());
    root_->logs.end(thread);
    return workload::kUpdated;
  }

  pm_pool* pool_;
  Root* root_;
  workload::Chains chains_;
};

}  // namespace

int main(int argc, char** argv) {
  return workload::main<workload::Map<LowLevelHashMap>>(argc, argv);
}
