// vacation: a travel agency (STAMP: Minh et al., IISWC 2008; Mnemosyne's port). Customers can
// reserve cars, flights and rooms; each of the four tables is a red-black tree
// (common/red_black_tree.hpp) from ids to records.
//
// One region is one transaction, by STAMP's rules. Random ids are from the first kQueryPercent of
// the ids, 1 to items.
// - kUserPercent: a reservation. It queries 1 to kQueries random items, keeps the dearest of each
//   type, and reserves those for a random customer, who is added if not there. No customer has the
//   same item twice; an item with no unit left isn't reserved.
// - half of the rest: a random customer, if there, is deleted with all reservations.
// - the others: 1 to kQueries random changes to the tables. A change adds 100 units of an item at a
//   new price, or removes 100 free units. A flight is deleted as a whole, if it isn't reserved. An
//   item without units is deleted.
// A transaction declares its ranges step by step, as they become known. kQueries and kQueryPercent
// are those of Mnemosyne's README (-n10 -q90). Its -u100 would leave the second and third kind out;
// 98 is STAMP's.
//
// In PM: Root {Header header; Tree table[4]}, for cars, flights, rooms and customers; a Tree is a
// line whose first word is the address of the top node or 0. Everything else is a line, too, and
// addresses may be 0. Node {u64 id, record, parent, left, right, red}. In the first three trees
// `record` is the address of an Item {u64 used, free, total, price, description[4]}, in the fourth
// that of a Customer {u64 id, first}; first is the address of a Reservation {u64 next, type, id,
// price}; type is the table's index. A customer's reservations are in the order of (type, id). The
// description, which STAMP's items lack, is the words word(id * 4 + type, header.seed, index) of
// the payload. It distinguishes items instead of their id, which STAMP has in the record as well as
// in the node, or makes them duplicates (--duplicate-ratio).
//
// With PM_REDO_LOG every access of a transaction to PM uses the redo log, as Mnemosyne's compiler
// makes them.
//
// Locks: Mnemosyne runs transactions optimistically, on a transactional memory. Here each tree has
// a reader-writer lock, which protects its nodes; an item, or a customer with its reservations, has
// one of kLocks locks. They are taken in table order, then in ascending order. Reservations read
// the trees (one that adds a customer writes that tree). Deleting a customer writes the customers'
// tree. Changes to tables write those tables' trees, and need no other lock.
#include <algorithm>
#include <array>
#include <mutex>
#include <numeric>
#include <shared_mutex>
#include <utility>
#include <vector>

#include "ordered_locks.hpp"
#include "red_black_tree.hpp"
#include "workload.hpp"

namespace {

class Vacation {
 public:
  static constexpr workload::About kAbout = {
      "vacation",
      "Makes a travel reservation in every atomic region; sometimes deletes a customer or changes\n"
      "what is on offer. --items is the number of rows that each of the four tables starts with.",
      16384, PM_LINE_BYTES, "the records of a travel agency have their own size"};

  static std::uint64_t pool_bytes(const workload::Options& options) {
    const std::uint64_t reservations =
        std::min(kTypes * options.all_regions(), kMostReservations * options.items);
    return (2 * (2 * kTables * options.items) + 2 * reservations) * PM_LINE_BYTES +
           (options.threads + 16) * (std::uint64_t{4} << 20);
  }

  Vacation(pm_pool* pool, const workload::Options& options)
      : pool_(pool), root_(workload::root_of<Root>(pool)), locks_(kLocks) {
    workload::describe(root_->header, kAbout, options);
    pm_flush(root_, sizeof *root_);
    pm_durable();
    workload::Random random(options.seed, 0);
    Agent agent(random, locks_);
    for (unsigned type = 0; type < kTables; ++type)
      for (const std::uint64_t id : shuffled_ids(options.items, random)) {
        pm_begin(pool_);
        if (type == kCustomers) {
          add_customer(agent, id);
        } else {
          const std::uint64_t units = (random.below(5) + 1) * kUnits;
          add_item(agent, type, id, units, random_price(random));
        }
        pm_end();
      }
    workload::set_ready(root_->header);
  }

  explicit Vacation(pm_pool* pool)
      : pool_(pool), root_(workload::root_of<Root>(pool)), locks_(kLocks) {}

  // Draws requests while it runs, as STAMP's clients do.
  workload::Tally run(const workload::Work& work) {
    workload::Random random = work.random();
    Agent agent(random, locks_);
    for (std::uint64_t i = 0; i < work.regions; ++i) {
      if (random.below(100) < kUserPercent)
        make_reservation(agent);
      else if (random.below(2) == 0)
        delete_customer(agent);
      else
        update_tables(agent);
    }
    return agent.tally;
  }

  // Checks the tables; the rows of the four tables count as items.
  workload::Check check() const {
    std::uint64_t rows = 0;
    for (unsigned type = 0; type < kTables; ++type) {
      const workload::RedBlackCheck tree(root_->table[type], [&](const Node& node) {
        return type == kCustomers ? check_customer(node) : check_item(type, node);
      });
      if (!tree.problem().empty()) return {std::string(kNames[type]) + ": " + tree.problem()};
      rows += tree.nodes();
    }
    return {check_uses(), rows};
  }

 private:
  static constexpr unsigned kFlights = 1, kCustomers = 3;
  static constexpr unsigned kTypes = 3;  // types of items
  static constexpr unsigned kTables = 4;
  static constexpr const char* kNames[kTables] = {"cars", "flights", "rooms", "customers"};
  static constexpr std::uint64_t kQueries = 10;       // -n10
  static constexpr std::uint64_t kQueryPercent = 90;  // -q90
  static constexpr std::uint64_t kUserPercent = 98;   // -u98
  static constexpr std::uint64_t kUnits = 100;
  static constexpr std::size_t kLocks = 4096;
  // A customer's reservations are fewer: with 2.4 made for every customer that asks and 1 customer
  // in 100 deleted, their average number settles below this.
  static constexpr std::uint64_t kMostReservations = 256;

  using Description = std::array<std::uint64_t, 4>;

  struct alignas(PM_LINE_BYTES) Item {
    std::uint64_t used, free, total, price;
    Description description;
  };

  struct alignas(PM_LINE_BYTES) Reservation {
    Reservation* next;
    std::uint64_t type, id, price;

    std::pair<std::uint64_t, std::uint64_t> order() const { return {pm_get(type), pm_get(id)}; }
  };

  struct alignas(PM_LINE_BYTES) Customer {
    std::uint64_t id;
    Reservation* first;
  };

  struct alignas(PM_LINE_BYTES) Node {
    std::uint64_t key;
    void* record;
    Node *parent, *left, *right;
    std::uint64_t red;

    Item* item() const { return static_cast<Item*>(pm_get(record)); }
    Customer* customer() const { return static_cast<Customer*>(pm_get(record)); }
  };
  using Tree = workload::RedBlackTree<Node>;

  struct Root {
    workload::Header header;
    Tree table[kTables];
  };

  using ItemReaders = std::array<std::shared_lock<std::shared_mutex>, kTypes>;

  struct Query {
    unsigned type;
    std::uint64_t id;
  };

  // Memory that a thread reuses in each region.
  struct Agent {
    Agent(workload::Random& random, std::vector<std::mutex>& locks)
        : random(random), locks(locks) {}
    workload::Random& random;
    workload::OrderedLocks locks;
    std::vector<Query> queries;
    std::vector<Item*> items;
    std::vector<pm_range> ranges;
    workload::Plan<Node> plan;
    workload::Tally tally;
  };

  static std::vector<std::uint64_t> shuffled_ids(std::uint64_t items, workload::Random& random) {
    std::vector<std::uint64_t> ids(items);
    std::iota(ids.begin(), ids.end(), 1);
    for (std::uint64_t i = items; i > 1; --i) std::swap(ids[i - 1], ids[random.below(i)]);
    return ids;
  }

  static std::uint64_t random_price(workload::Random& random) { return random.below(5) * 10 + 50; }
  static bool is_price(std::uint64_t price) {
    return price >= 50 && price <= 90 && price % 10 == 0;
  }

  std::uint64_t random_id(workload::Random& random) const {
    return random.below((root_->header.items * kQueryPercent + 50) / 100) + 1;
  }

  void draw_queries(Agent& agent) const {
    agent.queries.clear();
    for (std::uint64_t n = agent.random.below(kQueries) + 1; n > 0; --n) {
      const auto type = static_cast<unsigned>(agent.random.below(kTypes));
      agent.queries.push_back({type, random_id(agent.random)});
    }
  }

  static std::size_t lock_of(std::uint64_t type, std::uint64_t id) {
    return workload::mix(id * kTables + type) % kLocks;
  }

  ItemReaders read_items() {
    ItemReaders readers;
    for (unsigned type = 0; type < kTypes; ++type)
      readers[type] = std::shared_lock(table_locks_[type]);
    return readers;
  }

  Node* find(unsigned type, std::uint64_t id) const {
    return workload::find(root_->table[type], id).node;
  }

  template <class Record>
  Record* allocate() {
    return static_cast<Record*>(workload::require(pm_alloc(pool_, sizeof(Record))));
  }

  // ---- Transactions ---------------------------------------------------------------------------

  void make_reservation(Agent& agent) {
    draw_queries(agent);
    const std::uint64_t id = random_id(agent.random);
    const ItemReaders items = read_items();
    std::shared_lock readers(table_locks_[kCustomers]);
    std::unique_lock writer(table_locks_[kCustomers], std::defer_lock);
    if (!find(kCustomers, id)) {
      readers.unlock();
      writer.lock();
    }
    for (const Query& query : agent.queries) agent.locks.add(lock_of(query.type, query.id));
    agent.locks.add(lock_of(kCustomers, id));
    const std::lock_guard records(agent.locks);

    pm_begin(pool_);
    const std::array<Node*, kTypes> dearest = find_dearest(agent.queries);
    for (unsigned type = 0; type < kTypes; ++type)
      if (dearest[type]) reserve(customer(agent, id), type, *dearest[type]);
    pm_end();
  }

  // Returns the dearest item of each type; null for a type without a query or without an item.
  std::array<Node*, kTypes> find_dearest(const std::vector<Query>& queries) const {
    std::array<Node*, kTypes> dearest{};
    for (const Query& query : queries) {
      Node* node = find(query.type, query.id);
      Node*& best = dearest[query.type];
      if (node && (!best || pm_get(node->item()->price) > pm_get(best->item()->price))) best = node;
    }
    return dearest;
  }

  Customer* customer(Agent& agent, std::uint64_t id) {
    const Node* node = find(kCustomers, id);
    return node ? node->customer() : add_customer(agent, id);
  }

  void reserve(Customer* customer, unsigned type, const Node& node) {
    Item* item = node.item();
    if (pm_get(item->free) == 0) return;
    Reservation** link = &customer->first;
    const std::pair<std::uint64_t, std::uint64_t> order{type, pm_get(node.key)};
    while (pm_get(*link) && pm_get(*link)->order() < order) link = &pm_get(*link)->next;
    if (pm_get(*link) && pm_get(*link)->order() == order) return;

    auto* reservation = allocate<Reservation>();
    const pm_range ranges[] = {{link, sizeof *link}, {item, sizeof *item}};
    pm_log_ranges(ranges, 2);
    pm_set(reservation->next, pm_get(*link));
    pm_set(reservation->type, type);
    pm_set(reservation->id, pm_get(node.key));
    pm_set(reservation->price, pm_get(item->price));
    pm_set(*link, reservation);
    pm_set(item->used, pm_get(item->used) + 1);
    pm_set(item->free, pm_get(item->free) - 1);
  }

  void delete_customer(Agent& agent) {
    const std::uint64_t id = random_id(agent.random);
    const ItemReaders items = read_items();
    const std::lock_guard writer(table_locks_[kCustomers]);
    Node* node = find(kCustomers, id);
    const Reservation* first = node ? node->customer()->first : nullptr;
    for (const Reservation* r = first; r; r = r->next) agent.locks.add(lock_of(r->type, r->id));
    const std::lock_guard records(agent.locks);

    pm_begin(pool_);
    if (node) {
      cancel_all(agent, pm_get(node->customer()->first));
      remove(agent, kCustomers, node);
    }
    pm_end();
  }

  void cancel_all(Agent& agent, Reservation* first) {
    agent.items.clear();
    agent.ranges.clear();
    for (Reservation* r = first; r; r = pm_get(r->next)) {
      Item* item = find(static_cast<unsigned>(pm_get(r->type)), pm_get(r->id))->item();
      agent.items.push_back(item);
      agent.ranges.push_back({item, sizeof *item});
      pm_free(pool_, r);
    }
    pm_log_ranges(agent.ranges.data(), agent.ranges.size());
    for (Item* item : agent.items) {
      pm_set(item->used, pm_get(item->used) - 1);
      pm_set(item->free, pm_get(item->free) + 1);
    }
  }

  void update_tables(Agent& agent) {
    draw_queries(agent);
    std::array<std::unique_lock<std::shared_mutex>, kTypes> writers;
    for (unsigned type = 0; type < kTypes; ++type)
      for (const Query& query : agent.queries)
        if (query.type == type && !writers[type].owns_lock())
          writers[type] = std::unique_lock(table_locks_[type]);

    pm_begin(pool_);
    for (const auto& [type, id] : agent.queries) {
      if (agent.random.below(2) == 0)
        offer(agent, type, id, random_price(agent.random));
      else
        withdraw(agent, type, id);
    }
    pm_end();
  }

  void offer(Agent& agent, unsigned type, std::uint64_t id, std::uint64_t price) {
    const Node* node = find(type, id);
    if (!node) {
      add_item(agent, type, id, kUnits, price);
      return;
    }
    Item* item = node->item();
    pm_log(item, sizeof *item);
    pm_set(item->free, pm_get(item->free) + kUnits);
    pm_set(item->total, pm_get(item->total) + kUnits);
    pm_set(item->price, price);
  }

  void withdraw(Agent& agent, unsigned type, std::uint64_t id) {
    Node* node = find(type, id);
    if (!node) return;
    Item* item = node->item();
    if (type == kFlights && pm_get(item->used) > 0) return;
    const std::uint64_t units = type == kFlights ? pm_get(item->total) : kUnits;
    if (pm_get(item->free) < units) return;
    if (pm_get(item->total) == units) {
      remove(agent, type, node);
      return;
    }
    pm_log(item, sizeof *item);
    pm_set(item->free, pm_get(item->free) - units);
    pm_set(item->total, pm_get(item->total) - units);
  }

  // ---- Rows -----------------------------------------------------------------------------------

  Customer* add_customer(Agent& agent, std::uint64_t id) {
    auto* customer = allocate<Customer>();
    insert(agent, kCustomers, id, customer);
    pm_set(customer->id, id);
    pm_set(customer->first, nullptr);
    return customer;
  }

  void add_item(Agent& agent, unsigned type, std::uint64_t id, std::uint64_t units,
                std::uint64_t price) {
    auto* item = allocate<Item>();
    insert(agent, type, id, item);
    pm_set(*item, {0, units, units, price, description_of(type, id)});
  }

  Description description_of(unsigned type, std::uint64_t id) const {
    const workload::Payload payload = root_->header.payload();
    Description description;
    for (std::size_t i = 0; i < description.size(); ++i)
      description[i] = payload.word(id * kTables + type, root_->header.seed, i);
    return description;
  }

  void insert(Agent& agent, unsigned type, std::uint64_t id, void* record) {
    Node* parent = workload::find(root_->table[type], id).parent;
    auto* node = allocate<Node>();
    agent.plan.create(node) = {id, record, parent, nullptr, nullptr, 1};
    workload::RedBlackChange<Node> change(agent.plan, root_->table[type]);
    change.insert(node, parent);
    change.execute();
    ++agent.tally.added;
  }

  void remove(Agent& agent, unsigned type, Node* node) {
    pm_free(pool_, pm_get(node->record));
    pm_free(pool_, node);
    workload::RedBlackChange<Node> change(agent.plan, root_->table[type]);
    change.remove(node);
    change.execute();
    ++agent.tally.removed;
  }

  // ---- Checks ---------------------------------------------------------------------------------

  // Checks the customer's own rows; check_uses() compares them with other rows.
  static std::string check_customer(const Node& node) {
    const Customer& customer = *node.customer();
    if (customer.id != node.key) return "has another's record";
    for (const Reservation* r = customer.first; r; r = r->next) {
      if (r->type >= kTypes || (r->next && r->next->order() <= r->order()))
        return "has reservations out of order";
      if (!is_price(r->price)) return "has a reservation without a valid price";
    }
    return "";
  }

  std::string check_item(unsigned type, const Node& node) const {
    const Item& item = *node.item();
    if (item.description != description_of(type, node.key)) return "has another's record";
    if (item.total == 0 || item.used + item.free != item.total) return "has lost units";
    if (!is_price(item.price)) return "has no valid price";
    return "";
  }

  // Checks that the used units of each item are those that customers have reserved.
  std::string check_uses() const {
    std::array<std::vector<std::uint64_t>, kTypes> reserved;
    for (auto& counts : reserved) counts.resize(root_->header.items + 1);
    std::string problem;
    for_each(root_->table[kCustomers].top, [&](const Node& node) {
      for (const Reservation* r = node.customer()->first; r; r = r->next) {
        if (r->id > root_->header.items)
          problem = "customer " + std::to_string(node.key) + " reserved what never was";
        else
          ++reserved[r->type][r->id];
      }
    });
    for (unsigned type = 0; type < kTypes && problem.empty(); ++type) {
      for_each(root_->table[type].top, [&](const Node& node) {
        if (node.key > root_->header.items || node.item()->used != reserved[type][node.key])
          problem = "used units are not those reserved";
        else
          reserved[type][node.key] = 0;
        if (!problem.empty()) problem = std::string(kNames[type]) + ": " + problem;
      });
      for (const std::uint64_t count : reserved[type])
        if (count > 0 && problem.empty())
          problem = std::string(kNames[type]) + ": one that is reserved is missing";
    }
    return problem;
  }

  template <class Action>
  static void for_each(const Node* node, Action&& action) {
    if (!node) return;
    for_each(node->left, action);
    action(*node);
    for_each(node->right, action);
  }

  pm_pool* pool_;
  Root* root_;
  std::array<std::shared_mutex, kTables> table_locks_;
  std::vector<std::mutex> locks_;
};

}  // namespace

int main(int argc, char** argv) { return workload::main<Vacation>(argc, argv); }
