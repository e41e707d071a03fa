// hashmap: a chained hash table with a fixed number of buckets.
//
// One region: takes a random key out of twice as many as there are items at the start; if the map
// has it, gives its item new data, otherwise inserts an item in front of its bucket's chain. Its
// ranges are declared at once: three fences.
//
// In PM: Root {Header header; u64 bucket_count; u64 buckets}, buckets being the address of
// bucket_count words, each the address of a chain's first node or 0. Node {u64 next, key, stamp;
// from byte 64 on: the data}, next being 0 at the end. A key's bucket is mix(key) % bucket_count
// (common/random.hpp); keys are below 2 * header.items. The data are
// word(key, stamp, index) of the payload (common/payload.hpp).
//
// Locks: the eight buckets of one line share a lock, and so does every kLocks-th line: bucket b has
// lock b / 8 % kLocks.
#include <mutex>
#include <vector>

#include "workload.hpp"

namespace {

class HashMap {
 public:
  static constexpr workload::About kAbout = {
      "hashmap",
      "Inserts an item into a hash table, or updates one that is there, in every atomic region.\n"
      "--data-bytes is the size of an item's value.",
      20000};

  static std::uint64_t pool_bytes(const workload::Options& options) {
    return workload::pool_bytes_for(options, 2 * options.items);
  }

  HashMap(pm_pool* pool, const workload::Options& options)
      : pool_(pool), root_(workload::root_of<Root>(pool)), locks_(kLocks) {
    workload::describe(root_->header, kAbout, options);
    root_->bucket_count = 2 * options.items;
    const std::uint64_t bytes = root_->bucket_count * sizeof(Node*);
    root_->buckets = static_cast<Node**>(workload::require(pm_alloc(pool, bytes)));
    std::memset(root_->buckets, 0, bytes);
    pm_flush(root_->buckets, bytes);
    pm_flush(root_, sizeof *root_);
    pm_durable();

    workload::Random random(options.seed, 0);
    std::vector<char> data(options.data_bytes);
    for (std::uint64_t items = 0; items < options.items;) {
      const std::uint64_t key = random.below(keys()), stamp = random.next();
      items += put(key, stamp, data);
    }
    workload::set_ready(root_->header);
  }

  explicit HashMap(pm_pool* pool)
      : pool_(pool), root_(workload::root_of<Root>(pool)), locks_(kLocks) {}

  workload::Tally run(const workload::Work& work) {
    workload::Random random(work.seed, work.thread + 1);
    std::vector<char> data(data_bytes());
    workload::Tally tally;
    for (std::uint64_t i = 0; i < work.regions; ++i) {
      const std::uint64_t key = random.below(keys());
      tally.added += put(key, random.next(), data);
    }
    return tally;
  }

  workload::Check check() const {
    std::vector<bool> found(keys());
    std::uint64_t items = 0;
    for (std::uint64_t bucket = 0; bucket < root_->bucket_count; ++bucket)
      for (const Node* node = root_->buckets[bucket]; node; node = node->next) {
        if (node->key >= keys() || bucket_of(node->key) != bucket || found[node->key])
          return {"bucket " + std::to_string(bucket) + " has a key that doesn't belong there"};
        if (!root_->header.payload().matches(node->data(), node->key, node->stamp))
          return {"the data of key " + std::to_string(node->key) + " are incomplete"};
        found[node->key] = true;
        ++items;
      }
    return {"", items};
  }

 private:
  static constexpr std::size_t kLocks = 1024;
  static constexpr std::size_t kBucketsPerLine = PM_LINE_BYTES / sizeof(void*);

  struct alignas(PM_LINE_BYTES) Node {
    Node* next;
    std::uint64_t key, stamp;

    char* data() { return reinterpret_cast<char*>(this + 1); }
    const char* data() const { return reinterpret_cast<const char*>(this + 1); }
  };

  struct Root {
    workload::Header header;
    std::uint64_t bucket_count;
    Node** buckets;
  };

  std::uint64_t data_bytes() const { return root_->header.data_bytes; }
  std::uint64_t keys() const { return 2 * root_->header.items; }
  std::uint64_t bucket_of(std::uint64_t key) const {
    return workload::mix(key) % root_->bucket_count;
  }

  // True if the key is new.
  bool put(std::uint64_t key, std::uint64_t stamp, std::vector<char>& data) {
    root_->header.payload().fill(data.data(), key, stamp);
    const std::uint64_t bucket = bucket_of(key);
    const std::lock_guard lock(locks_[bucket / kBucketsPerLine % kLocks]);
    pm_begin(pool_);
    Node* node = root_->buckets[bucket];
    while (node && node->key != key) node = node->next;
    const bool is_new = !node;
    if (is_new)
      insert(&root_->buckets[bucket], key, stamp, data);
    else
      update(node, stamp, data);
    pm_end();
    return is_new;
  }

  void insert(Node** bucket, std::uint64_t key, std::uint64_t stamp,
              const std::vector<char>& data) {
    Node* node = static_cast<Node*>(workload::require(pm_alloc(pool_, sizeof(Node) + data.size())));
    pm_log(bucket, sizeof *bucket);
    *node = {*bucket, key, stamp};
    std::memcpy(node->data(), data.data(), data.size());
    *bucket = node;
  }

  void update(Node* node, std::uint64_t stamp, const std::vector<char>& data) {
    const pm_range ranges[] = {{&node->stamp, sizeof node->stamp}, {node->data(), data.size()}};
    pm_log_ranges(ranges, 2);
    node->stamp = stamp;
    std::memcpy(node->data(), data.data(), data.size());
  }

  pm_pool* pool_;
  Root* root_;
  std::vector<std::mutex> locks_;
};

}  // namespace

int main(int argc, char** argv) { return workload::main<HashMap>(argc, argv); }
