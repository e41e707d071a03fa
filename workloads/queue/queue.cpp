// queue: a linked queue that threads enqueue to and dequeue from, at random.
//
// One region, with even odds, enqueues a new item (allocates a node, fills it, links it behind the
// last) or dequeues the first (reads its data, frees the node before it). The ranges are declared
// at once: three fences.
//
// In PM: Root {Header header; line {u64 node; u64 number} front; line {u64 node; u64 number} back},
// where node is an address. front.node is an empty node in front of the first item; back.node is
// the last node. Node {u64 next, number, key, stamp; from byte 64 on: the data}; next is 0 in the
// last node. Items are numbered as they are enqueued; front.number and back.number are the numbers
// of the two nodes, so that their difference is the number of items. The data are word(key, stamp,
// index) of the payload (common/payload.hpp).
//
// Locks: one for each end (Michael and Scott's two-lock queue). The dequeuing side must not see
// uncommitted nodes of the enqueuing side: it stops at the last committed node.
#include <atomic>
#include <mutex>
#include <vector>

#include "hints.hpp"
#include "item.hpp"
#include "random.hpp"
#include "requests.hpp"
#include "workload.hpp"

namespace {

class Queue {
 public:
  static constexpr workload::About kAbout = {
      "queue",
      "Enqueues an item to a concurrent queue, or dequeues one, with even odds, in every atomic\n"
      "region. --data-bytes is the size of an item.",
      10000};

  static std::uint64_t pool_bytes(const workload::Options& options) {
    return workload::pool_bytes_for(options, options.items + options.all_regions());
  }

  Queue(pm_pool* pool, const workload::Options& options)
      : pool_(pool), root_(workload::root_of<Root>(pool)) {
    workload::describe(root_->header, kAbout, options);
    Node* empty = static_cast<Node*>(workload::require(pm_alloc(pool, sizeof(Node))));
    *empty = {};
    root_->front = root_->back = {empty, 0};
    pm_flush(empty, sizeof *empty);
    pm_flush(root_, sizeof *root_);
    pm_durable();

    workload::Random random(options.seed, 0);
    workload::NewItem item(options.data_bytes);
    for (std::uint64_t i = 0; i < options.items; ++i) {
      const std::uint64_t key = random.next(), stamp = random.next();
      item.make(root_->header.payload(), key, stamp);
      enqueue(item);
    }
    workload::set_ready(root_->header);
  }

  explicit Queue(pm_pool* pool)
      : pool_(pool), root_(workload::root_of<Root>(pool)), committed_(root_->back.node) {}

  // A new item, and whether one is dequeued in its place, if there is one.
  struct Request : workload::NewItem {
    using NewItem::NewItem;
    bool dequeue = false;
  };

  class Source {
   public:
    using Request = Queue::Request;

    Source(const workload::Header& header, const workload::Work& work)
        : header_(header), random_(work.random()) {}

    Request empty() const { return Request(header_.data_bytes); }
    void draw(Request& request) {
      const std::uint64_t key = random_.next(), stamp = random_.next();
      request.dequeue = random_.below(2) == 0;
      request.make(header_.payload(), key, stamp);
    }

   private:
    const workload::Header& header_;
    workload::Random random_;
  };

  workload::Requests<Source> draw(const workload::Work& work) const {
    return {Source(root_->header, work), work.regions,
            sizeof(Request) + workload::padded(data_bytes())};
  }

  workload::Tally run(const workload::Work& work, workload::Requests<Source>& requests) {
    std::vector<char> data(data_bytes());
    workload::Tally tally;
    for (std::uint64_t i = 0; i < work.regions; ++i) {
      Request& request = requests.next();
      if (request.dequeue && dequeue(data)) {
        ++tally.removed;
      } else {
        enqueue(request);
        ++tally.added;
      }
    }
    return tally;
  }

  workload::Check check() const {
    const Node* node = root_->front.node;
    std::uint64_t number = root_->front.number;
    for (; node->next; node = node->next) {
      const Node* next = node->next;
      if (next->number != ++number)
        return {"node " + std::to_string(number) + " is missing or linked twice"};
      if (!root_->header.payload().matches(workload::data_of(next), next->key, next->stamp))
        return {"the data of node " + std::to_string(number) + " are incomplete"};
    }
    if (node != root_->back.node || number != root_->back.number)
      return {"the back is not the last node"};
    return {"", number - root_->front.number};
  }

 private:
  struct alignas(PM_LINE_BYTES) Node {
    Node* next;
    std::uint64_t number;
    std::uint64_t key, stamp;
  };

  struct alignas(PM_LINE_BYTES) End {
    Node* node;
    std::uint64_t number;
  };

  struct Root {
    workload::Header header;
    End front, back;
  };

  std::uint64_t data_bytes() const { return root_->header.data_bytes; }

  void enqueue(workload::NewItem& item) {
    if constexpr (workload::kHints) item.announce_data();
    const std::lock_guard lock(back_lock_);
    End& back = root_->back;
    const std::uint64_t number = back.number + 1;
    pm_begin(pool_);
    Node* node = item.allocate<Node>(pool_);
    // Janus: fields that share a line are announced together (figure 8b), before the log is
    // written.
    if constexpr (workload::kHints) {
      pm_pre fields;
      pm_pre_init(&fields);
      pm_pre_both_buf(&fields, &node->number, &number, sizeof number);
      pm_pre_both_buf(&fields, &node->key, &item.key, 2 * sizeof item.key);
      pm_pre_start_buf(&fields);
      workload::announce_pointer(&back.node->next, node);
      announce_end(back, &node, number);
    }

    const pm_range ranges[] = {{&back.node->next, sizeof(Node*)}, {&back, 2 * sizeof(Node*)}};
    pm_log_ranges(ranges, 2);
    *node = {nullptr, number, item.key, item.stamp};
    item.store_data(node);
    back.node->next = node;
    back.node = node;
    back.number = number;
    pm_end();
    committed_.store(node, std::memory_order_release);
  }

  // Dequeues an item. False if the queue is empty.
  bool dequeue(std::vector<char>& data) {
    const std::lock_guard lock(front_lock_);
    End& front = root_->front;
    Node* node = front.node;
    if (node == committed_.load(std::memory_order_acquire)) return false;
    pm_begin(pool_);
    if constexpr (workload::kHints) announce_end(front, &node->next, front.number + 1);
    pm_free(pool_, node);
    pm_log(&front, 2 * sizeof(Node*));
    front.node = node->next;
    ++front.number;
    std::memcpy(data.data(), workload::data_of(front.node), data.size());
    pm_end();
    return true;
  }

  // Janus: both fields of an end share a line. `node` points to the value that will be written.
  static void announce_end(const End& end, Node* const* node, const std::uint64_t& number) {
    pm_pre fields;
    pm_pre_init(&fields);
    pm_pre_both_buf(&fields, &end.node, node, sizeof *node);
    pm_pre_both_buf(&fields, &end.number, &number, sizeof number);
    pm_pre_start_buf(&fields);
  }

  pm_pool* pool_;
  Root* root_;
  std::mutex front_lock_, back_lock_;
  std::atomic<const Node*> committed_{nullptr};  // the last node whose region has committed
};

}  // namespace

int main(int argc, char** argv) { return workload::main<Queue>(argc, argv); }
