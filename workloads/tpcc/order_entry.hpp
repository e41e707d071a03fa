// TPC-C's transaction NewOrder (clause 2.4) up to its first write: the requests of terminals, the
// locks, and the rows that will be written.
//
// Locks: one for each district, which also protects its orders, then one for each row of stock, in
// ascending order. Everything else is only read.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "hints.hpp"
#include "requests.hpp"
#include "tables.hpp"

namespace tpcc {

// A terminal's request (clause 2.4.1).
struct Request {
  struct Line {
    std::uint32_t i_id, supply_w_id, quantity;
  };
  std::uint32_t w_id, d_id, c_id;
  std::uint64_t entry_d;
  std::uint32_t count;
  std::array<Line, kMaxLines> lines;
};

// The transaction before its first write: the new rows, and their locations.
struct Transaction {
  Request request;
  std::array<const Item*, kMaxLines> items;

  District* district;
  std::uint64_t next_o_id;
  OrderTotals totals;
  Order* order;
  Order order_row;
  NewOrder* new_order;
  NewOrder new_order_row;
  OrderLine* order_line;  // the first order line
  std::array<OrderLine, kMaxLines> order_line_rows;
  std::array<Stock*, kMaxLines> stock;
  std::array<StockCounts, kMaxLines> stock_counts;

  // The values that the terminal shows.
  std::uint64_t total;
  std::array<bool, kMaxLines> is_brand;
};

class OrderEntry : public Tables {
 public:
  // A thread's terminal.
  class Terminal {
   public:
    using Request = tpcc::Request;

    Terminal(const OrderEntry& entry, const workload::Work& work)
        : entry_(entry), thread_(work.thread), random_(work.random()) {}

    Request empty() const { return {}; }
    void draw(Request& request) { request = entry_.draw(thread_, number_++, random_); }

   private:
    const OrderEntry& entry_;
    unsigned thread_;
    std::uint64_t number_ = 0;
    workload::Random random_;
  };
  using Requests = workload::Requests<Terminal>;

  Requests requests(const workload::Work& work) const {
    return {Terminal(*this, work), work.regions, sizeof(Request)};
  }

  explicit OrderEntry(const Tables& tables)
      : Tables(tables),
        district_locks_(kWarehouses * kDistricts),
        stock_locks_(kWarehouses * items()) {}

  // Draws a terminal's next request. Its items are different from each other, and sorted.
  Request draw(unsigned thread, std::uint64_t number, workload::Random& random) const {
    Request request;
    request.w_id = thread % kWarehouses + 1;
    request.d_id = static_cast<std::uint32_t>(1 + random.below(kDistricts));
    request.c_id = non_uniform(std::bit_floor(root().customers / 2), root().customers, random);
    request.entry_d = number;
    request.count = static_cast<std::uint32_t>(kMinLines + random.below(kMaxLines - kMinLines + 1));
    for (std::uint32_t i = 0; i < request.count; ++i) {
      std::uint32_t i_id;
      do i_id = non_uniform(std::bit_floor(items() / 8), items(), random);
      while (has_item(request, i, i_id));
      request.lines[i] = {i_id, supplier(request.w_id, random),
                          static_cast<std::uint32_t>(1 + random.below(10))};
    }
    if (random.below(100) == 0)  // clause 2.4.1.4: an item that doesn't exist
      request.lines[request.count - 1].i_id = static_cast<std::uint32_t>(items() + 1);
    std::sort(request.lines.begin(), request.lines.begin() + request.count,
              [](const auto& a, const auto& b) {
                return std::pair(a.supply_w_id, a.i_id) < std::pair(b.supply_w_id, b.i_id);
              });
    return request;
  }

  // Looks the items up. False if one doesn't exist: the transaction then must change nothing
  // (clause 2.4.2.3), so this happens before it writes anything, and nothing is rolled back.
  bool find_items(Transaction& transaction) const {
    for (std::uint32_t i = 0; i < transaction.request.count; ++i) {
      const std::uint32_t i_id = transaction.request.lines[i].i_id;
      if (i_id > items()) return false;
      transaction.items[i] = root().item + i_id - 1;
    }
    return true;
  }

  void lock(const Request& request) {
    district_locks_[district_place(request.w_id, request.d_id)].lock();
    for (std::uint32_t i = 0; i < request.count; ++i)
      stock_locks_[stock_place(request.lines[i])].lock();
  }

  // Reads the rows and computes the new ones, under the locks. Each write is announced as soon as
  // its address and its value are known, before the undo log.
  void prepare(Transaction& transaction) const {
    const Request& request = transaction.request;
    prepare_order(transaction);
    std::uint64_t amount = 0;
    for (std::uint32_t i = 0; i < request.count; ++i) {
      prepare_stock(transaction, i);
      prepare_order_line(transaction, i);
      amount += transaction.order_line_rows[i].ol_amount;
    }
    prepare_district(transaction);
    transaction.total =
        amount * (10'000 - customer(request).c_discount) / 10'000 *
        (10'000 + root().warehouse[request.w_id - 1].w_tax + transaction.district->d_tax) / 10'000;
  }

  // Releases the locks; called when everything is durable.
  void release(const Request& request) {
    for (std::uint32_t i = request.count; i-- > 0;)
      stock_locks_[stock_place(request.lines[i])].unlock();
    district_locks_[district_place(request.w_id, request.d_id)].unlock();
  }

  // Uses the values that the terminal shows: nothing here needs them, but they must be computed.
  [[gnu::noinline]] static void show(const Transaction& transaction) {
    asm volatile("" : : "r"(&transaction) : "memory");
  }

 private:
  std::uint64_t stock_place(const Request::Line& line) const {
    return Tables::stock_place(line.supply_w_id, line.i_id);
  }
  const Customer& customer(const Request& request) const {
    return root()
        .customer[district_place(request.w_id, request.d_id) * root().customers + request.c_id - 1];
  }

  // Draws NURand(a - 1, 1, n) of clause 2.1.6, where `a` is a power of two.
  std::uint32_t non_uniform(std::uint64_t a, std::uint64_t n, workload::Random& random) const {
    const std::uint64_t c = workload::mix(root().header.seed) % a;
    return static_cast<std::uint32_t>(((random.below(a) | (1 + random.below(n))) + c) % n + 1);
  }

  // Draws the supplier: one line in a hundred is supplied by another warehouse.
  static std::uint32_t supplier(std::uint32_t w_id, workload::Random& random) {
    if (random.below(100) != 0) return w_id;
    return static_cast<std::uint32_t>((w_id + random.below(kWarehouses - 1)) % kWarehouses + 1);
  }

  static bool has_item(const Request& request, std::uint32_t count, std::uint32_t i_id) {
    for (std::uint32_t i = 0; i < count; ++i)
      if (request.lines[i].i_id == i_id) return true;
    return false;
  }

  void prepare_order(Transaction& transaction) const {
    const Request& request = transaction.request;
    const std::uint64_t district = district_place(request.w_id, request.d_id);
    transaction.district = root().district + district;
    const std::uint64_t o_id = transaction.district->d_next_o_id;
    std::uint32_t all_local = 1;
    for (std::uint32_t i = 0; i < request.count; ++i)
      all_local &= request.lines[i].supply_w_id == request.w_id;

    transaction.order = root().order + order_place(district, o_id);
    transaction.order_row = {o_id, request.entry_d, request.d_id, request.w_id, request.c_id,
                             0,    request.count,   all_local};
    if constexpr (workload::kHints)
      workload::announce(transaction.order, &transaction.order_row, sizeof(Order));

    transaction.new_order = new_order_of(district, o_id);
    transaction.new_order_row = {o_id, request.d_id, request.w_id};
    if constexpr (workload::kHints)
      workload::announce(transaction.new_order, &transaction.new_order_row, sizeof(NewOrder));

    transaction.order_line = root().order_line + kMaxLines * order_place(district, o_id);
  }

  void prepare_stock(Transaction& transaction, std::uint32_t i) const {
    const Request::Line& line = transaction.request.lines[i];
    Stock* stock = root().stock + stock_place(line);
    transaction.stock[i] = stock;
    StockCounts& counts = transaction.stock_counts[i];
    counts = stock->counts;
    counts.s_ytd += line.quantity;
    ++counts.s_order_cnt;
    counts.s_remote_cnt += line.supply_w_id != transaction.request.w_id;
    counts.s_quantity += counts.s_quantity >= line.quantity + 10 ? 0 : 91;
    counts.s_quantity -= line.quantity;
    if constexpr (workload::kHints) workload::announce(&stock->counts, &counts, sizeof counts);
  }

  void prepare_order_line(Transaction& transaction, std::uint32_t i) const {
    const Request& request = transaction.request;
    const Request::Line& line = request.lines[i];
    const Stock& stock = *transaction.stock[i];
    OrderLine& row = transaction.order_line_rows[i];
    row = {transaction.order_row.o_id,
           line.i_id,
           line.supply_w_id,
           line.quantity * transaction.items[i]->i_price,
           static_cast<std::uint16_t>(request.w_id),
           static_cast<std::uint8_t>(request.d_id),
           static_cast<std::uint8_t>(i + 1),
           0,
           line.quantity,
           stock.s_dist[request.d_id - 1]};
    if constexpr (workload::kHints)
      workload::announce(transaction.order_line + i, &row, sizeof row);
    transaction.is_brand[i] =
        is_original(transaction.items[i]->i_data) && is_original(stock.s_data);
  }

  void prepare_district(Transaction& transaction) const {
    const Request& request = transaction.request;
    District* district = transaction.district;
    transaction.next_o_id = district->d_next_o_id + 1;
    transaction.totals = district->d_totals;
    transaction.totals.lines += request.count;
    for (std::uint32_t i = 0; i < request.count; ++i)
      transaction.totals.quantity += request.lines[i].quantity;
    // Two fields of one line are announced together (Janus, figure 8b).
    if constexpr (workload::kHints) {
      pm_pre pre_district;
      pm_pre_init(&pre_district);
      pm_pre_both_buf(&pre_district, &district->d_next_o_id, &transaction.next_o_id,
                      sizeof district->d_next_o_id);
      pm_pre_both_buf(&pre_district, &district->d_totals, &transaction.totals,
                      sizeof district->d_totals);
      pm_pre_start_buf(&pre_district);
    }
  }

  static bool is_original(const Text<50>& data) {
    std::uint64_t word, original;
    std::memcpy(&original, kOriginal.data(), sizeof original);
    for (std::size_t at = 0; at + sizeof word <= data.size(); ++at) {
      std::memcpy(&word, data.data() + at, sizeof word);
      if (word == original) return true;
    }
    return false;
  }

  std::vector<std::mutex> district_locks_, stock_locks_;
};

}  // namespace tpcc
