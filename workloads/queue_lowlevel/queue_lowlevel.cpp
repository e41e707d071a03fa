// queue_lowlevel: linked queues without log and locks, as Janus and PMWeaver ("linked list")
// measure them: bare flushes and fences, no atomic regions.
//
// One operation, with even odds, enqueues a new item or dequeues the first. Enqueuing fills a node,
// links it behind the last, flushes it, fence; sets the tail, fence. Dequeuing sets the head,
// fence. A queue with one item enqueues in any case, a full one dequeues.
//
// With --mix sections all threads share one queue, and each operation is a failure-atomic section
// with an undo log written by hand: it saves the line of the tail or the head before it changes it,
// with four fences (common/section_logs.hpp). The node is flushed before the third.
//
// In PM: Root {Header header; u64 nodes, queues, nodes_of_queue, logs, log_bytes; from byte 128 on
// Queue queue[PM_MAX_THREADS]}; logs is 0 but with --mix sections; nodes is the address of `queues`
// times nodes_of_queue nodes. Queue is a line {u64 tail} and a line {u64 head}, the addresses of
// the last and of the first node. Node is a line {u64 value; u64 next; zeros}. The upper half of a
// value follows from the lower one: a check detects a value that was never enqueued.
//
// No crash leaves a torn queue: the tail leads to a node only once that is durable. The link from
// the last node to it is durable only when its line happens to be written back. Recovery doesn't
// need that link: nodes are used in cyclic address order, so a node's next is its neighbour.
//
// Locks: none that an operation takes. Each thread has a queue of its own, and keeps its lock as
// long as it runs. Threads that continue with a pool of fewer queues share these one after the
// other. With --mix sections there is one for each end (Michael and Scott's two-lock queue), until
// the log is invalid again. An end must not see uncommitted changes of the other: it goes by the
// last committed ones.
#include <algorithm>
#include <atomic>
#include <mutex>
#include <string>
#include <vector>

#include "hints.hpp"
#include "random.hpp"
#include "requests.hpp"
#include "section_logs.hpp"
#include "workload.hpp"

namespace {

class LowLevelQueues {
 public:
  static constexpr workload::About kAbout = {
      "queue_lowlevel",
      "Enqueues an item to a linked queue of the thread's own, or dequeues one, with even odds,\n"
      "without a log: --regions counts such operations. --items is the number of items in each\n"
      "queue. With --mix sections all threads share one queue, and have undo logs.",
      500,
      64,
      "a node is a line",
      8,
      workload::bit_of(workload::Mix::kSections)};

  static std::uint64_t pool_bytes(const workload::Options& options) {
    return workload::pool_bytes_for(options, options.threads * nodes_for(options));
  }

  LowLevelQueues(pm_pool* pool, const workload::Options& options)
      : LowLevelQueues(workload::root_of<Root>(pool)) {
    workload::describe(root_->header, kAbout, options);
    const bool sections = options.mix == workload::Mix::kSections;
    root_->queues = sections ? 1 : options.threads;
    root_->nodes_of_queue = nodes_for(options);
    const std::uint64_t bytes = root_->queues * root_->nodes_of_queue * sizeof(Node);
    root_->nodes = static_cast<Node*>(workload::require(pm_alloc(pool, bytes)));
    std::memset(static_cast<void*>(root_->nodes), 0, bytes);
    workload::Random random(options.seed, 0);
    for (std::uint64_t i = 0; i < root_->queues; ++i) fill(i, options.items, random);
    if (sections) root_->logs.create(pool, PM_LINE_BYTES);
    commit_ends();
    pm_flush(root_->nodes, bytes);
    pm_flush(root_, sizeof *root_);
    workload::set_ready(root_->header);
  }

  explicit LowLevelQueues(pm_pool* pool) : LowLevelQueues(workload::root_of<Root>(pool)) {
    root_->logs.take_over();
    commit_ends();
    for (std::uint64_t i = 0; i < root_->queues; ++i)
      if (is_whole(i)) link_all(i);
  }

  struct Source {
    struct Request {
      bool dequeue;
      std::uint64_t value;
    };

    const workload::Header& header;
    workload::Random random;

    Request empty() const { return {}; }
    void draw(Request& request) {
      request.dequeue = random.below(2) == 0;
      request.value = draw_value(header, random);
    }
  };

  workload::Requests<Source> draw(const workload::Work& work) const {
    return {Source{root_->header, work.random()}, work.regions, sizeof(Source::Request)};
  }

  workload::Tally run(const workload::Work& work, workload::Requests<Source>& requests) {
    if (root_->logs.exist()) return run_sections(work, requests);
    const std::uint64_t number = work.thread % root_->queues;
    const std::lock_guard lock(locks_[number]);
    Queue& queue = root_->queue[number];
    workload::Tally tally;
    for (std::uint64_t i = 0; i < work.regions; ++i) {
      const Source::Request& request = requests.next();
      Node* next = neighbour(number, queue.tail);
      const bool dequeues = request.dequeue ? queue.head != queue.tail : next == queue.head;
      if (dequeues) {
        dequeue(queue);
        ++tally.removed;
      } else {
        enqueue(queue, next, request.value);
        ++tally.added;
      }
    }
    return tally;
  }

  workload::Check check() const {
    std::uint64_t items = 0;
    for (std::uint64_t i = 0; i < root_->queues; ++i) {
      const std::string name = "queue " + std::to_string(i);
      if (!is_whole(i)) return {name + " begins or ends at no node"};
      const Queue& queue = root_->queue[i];
      for (const Node* node = queue.head;; node = node->next, ++items) {
        if (!is_complete(*node)) return {name + " has an incomplete node"};
        if (node == queue.tail) break;
        if (node->next != neighbour(i, node)) return {name + " leads to a wrong node"};
      }
      ++items;
    }
    return {"", items};
  }

 private:
  struct alignas(PM_LINE_BYTES) Node {
    std::uint64_t value;
    Node* next;
    std::uint64_t unused[6];
  };
  static_assert(sizeof(Node) == PM_LINE_BYTES);

  struct Queue {
    alignas(PM_LINE_BYTES) Node* tail;
    alignas(PM_LINE_BYTES) Node* head;
  };

  struct Root {
    workload::Header header;
    Node* nodes;
    std::uint64_t queues, nodes_of_queue;
    workload::SectionLogs logs;
    alignas(PM_LINE_BYTES) Queue queue[PM_MAX_THREADS];
  };

  static constexpr std::uint64_t kDuplicates = 16;

  explicit LowLevelQueues(Root* root) : root_(root), locks_(PM_MAX_THREADS) {}

  // Returns a number of nodes with which a queue is seldom full.
  static std::uint64_t nodes_for(const workload::Options& options) { return 2 * options.items; }

  static std::uint64_t whole_value(std::uint64_t value) {
    const std::uint64_t low = value & 0xffffffff;
    return workload::mix(~low) << 32 | low;
  }

  static bool is_complete(const Node& node) {
    const auto is_zero = [](std::uint64_t word) { return word == 0; };
    return node.value == whole_value(node.value) && std::ranges::all_of(node.unused, is_zero);
  }

  static std::uint64_t draw_value(const workload::Header& header, workload::Random& random) {
    const bool duplicate = random.next() < header.duplicates;
    return whole_value(duplicate ? random.below(kDuplicates) : random.next());
  }

  void enqueue(Queue& queue, Node* node, std::uint64_t value) {
    const Node item = {value, nullptr, {}};
    if constexpr (workload::kHints) {
      workload::announce(node, &item, sizeof item);
      workload::announce_pointer(&queue.tail, node);
    }
    std::memcpy(static_cast<void*>(node), &item, sizeof item);
    queue.tail->next = node;
    pm_flush(node, sizeof *node);
    pm_order();

    queue.tail = node;
    pm_flush(&queue.tail, sizeof queue.tail);
    pm_durable();
  }

  void dequeue(Queue& queue) {
    Node* first = queue.head;
    if constexpr (workload::kHints) workload::announce_pointer(&queue.head, first->next);
    queue.head = first->next;
    pm_flush(&queue.head, sizeof queue.head);
    pm_durable();
  }

  // ---- Sections, which all threads execute on one queue -----------------------------------------

  workload::Tally run_sections(const workload::Work& work, workload::Requests<Source>& requests) {
    workload::Tally tally;
    for (std::uint64_t i = 0; i < work.regions; ++i) {
      const Source::Request& request = requests.next();
      bool done = request.dequeue && dequeue_in_section(work.thread);
      tally.removed += done;
      while (!done) {
        done = enqueue_in_section(work.thread, request.value);
        tally.added += done;
        if (done) break;
        done = dequeue_in_section(work.thread);
        tally.removed += done;
      }
    }
    return tally;
  }

  // False if the queue is full.
  bool enqueue_in_section(unsigned thread, std::uint64_t value) {
    const std::lock_guard lock(locks_[0]);
    Queue& queue = root_->queue[0];
    Node* node = neighbour(0, queue.tail);
    if (node == committed_head_.load(std::memory_order_acquire)) return false;
    root_->logs.begin(thread, &queue.tail, PM_LINE_BYTES);
    *node = {value, nullptr, {}};
    queue.tail->next = node;
    pm_flush(node, sizeof *node);
    pm_flush(queue.tail, sizeof *queue.tail);
    queue.tail = node;
    pm_flush(&queue.tail, sizeof queue.tail);
    root_->logs.end(thread);
    committed_tail_.store(node, std::memory_order_release);
    return true;
  }

  // False if the queue has one item.
  bool dequeue_in_section(unsigned thread) {
    const std::lock_guard lock(locks_[1]);
    Queue& queue = root_->queue[0];
    if (queue.head == committed_tail_.load(std::memory_order_acquire)) return false;
    root_->logs.begin(thread, &queue.head, PM_LINE_BYTES);
    queue.head = queue.head->next;
    pm_flush(&queue.head, sizeof queue.head);
    root_->logs.end(thread);
    committed_head_.store(queue.head, std::memory_order_release);
    return true;
  }

  void commit_ends() {
    committed_tail_ = root_->queue[0].tail;
    committed_head_ = root_->queue[0].head;
  }

  // ---- Set-up and recovery ----------------------------------------------------------------------

  Node* first_of(std::uint64_t number) const {
    return root_->nodes + number * root_->nodes_of_queue;
  }
  Node* neighbour(std::uint64_t number, const Node* node) const {
    Node* first = first_of(number);
    const std::int64_t index = node - first + 1;
    return index == static_cast<std::int64_t>(root_->nodes_of_queue) ? first : first + index;
  }

  void fill(std::uint64_t number, std::uint64_t items, workload::Random& random) {
    Node* first = first_of(number);
    for (std::uint64_t i = 0; i < items; ++i) {
      first[i].value = draw_value(root_->header, random);
      if (i + 1 < items) first[i].next = &first[i + 1];
    }
    root_->queue[number].head = first;
    root_->queue[number].tail = first + items - 1;
  }

  bool is_whole(std::uint64_t number) const {
    if (number >= PM_MAX_THREADS) return false;
    const auto has = [&](const Node* node) {
      const std::uint64_t bytes = reinterpret_cast<std::uintptr_t>(node) -
                                  reinterpret_cast<std::uintptr_t>(first_of(number));
      return bytes < root_->nodes_of_queue * sizeof(Node) && bytes % sizeof(Node) == 0;
    };
    return has(root_->queue[number].head) && has(root_->queue[number].tail);
  }

  void link_all(std::uint64_t number) {
    const Queue& queue = root_->queue[number];
    for (Node* node = queue.head; node != queue.tail; node = node->next) {
      node->next = neighbour(number, node);
      pm_flush(&node->next, sizeof node->next);
    }
    pm_durable();
  }

  Root* root_;
  std::vector<std::mutex> locks_;
  std::atomic<Node*> committed_tail_, committed_head_;  // with --mix sections
};

}  // namespace

int main(int argc, char** argv) { return workload::main<LowLevelQueues>(argc, argv); }
