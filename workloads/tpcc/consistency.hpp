// The check that TPC-C's tables are consistent.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "digest.hpp"
#include "tables.hpp"

namespace tpcc {

class Consistency : public Tables {
 public:
  explicit Consistency(const Tables& tables) : Tables(tables) {}

  // Checks the standard's consistency conditions 1 to 5 (clause 3.3.2), and stock against orders.
  workload::Check check() const {
    if (digest() != root().digest) return {"a row has changed that NewOrder doesn't change"};
    Sums sums(kWarehouses * items());
    for (std::uint32_t w_id = 1; w_id <= kWarehouses; ++w_id) {
      std::uint64_t ytd = 0;
      for (std::uint32_t d_id = 1; d_id <= kDistricts; ++d_id) {
        const std::string problem = check_district(w_id, d_id, sums);
        if (!problem.empty())
          return {"district " + std::to_string(d_id) + " of warehouse " + std::to_string(w_id) +
                  ": " + problem};
        ytd += root().district[district_place(w_id, d_id)].d_ytd;
      }
      if (root().warehouse[w_id - 1].w_ytd != ytd)
        return {"w_ytd of warehouse " + std::to_string(w_id) + " isn't the sum of d_ytd"};
    }
    const std::string problem = check_stock(sums);
    return {problem, sums.orders};
  }

  // Returns the digest of all data that NewOrder doesn't change.
  std::uint64_t digest() const {
    workload::Digest digest;
    digest.add(root().warehouse, kWarehouses * sizeof(Warehouse));
    for (std::uint64_t i = 0; i < kAllDistricts; ++i) {
      const District& row = root().district[i];
      digest.add(&row.d_ytd, sizeof row - offsetof(District, d_ytd));
    }
    digest.add(root().customer, kAllDistricts * root().customers * sizeof(Customer));
    digest.add(root().history, kAllDistricts * root().customers * sizeof(History));
    digest.add(root().item, items() * sizeof(Item));
    for (std::uint64_t i = 0; i < kWarehouses * items(); ++i) {
      const Stock& row = root().stock[i];
      digest.add(&row.s_dist, sizeof row - offsetof(Stock, s_dist));
    }
    return digest.value();
  }

 private:
  // The quantities that the orders since the set-up have taken from one row of stock.
  struct Ordered : OrderTotals {
    std::uint64_t remote_lines = 0;
  };

  // The totals of the orders.
  struct Sums {
    explicit Sums(std::uint64_t rows) : stock(rows) {}
    std::uint64_t orders = 0;  // all orders ever
    OrderTotals ever{};
    std::vector<Ordered> stock;  // index: row
  };

  // Checks that the places of a district's orders hold these orders, and that d_next_o_id is behind
  // the last of them (conditions 2 to 5).
  std::string check_district(std::uint32_t w_id, std::uint32_t d_id, Sums& sums) const {
    const std::uint64_t place = district_place(w_id, d_id);
    const District& district = root().district[place];
    const std::uint64_t next = district.d_next_o_id;
    if (next <= root().customers) return "d_next_o_id is too small";
    OrderTotals lines_here{};
    for (std::uint64_t o_id = next - root().customers; o_id < next; ++o_id) {
      const std::string problem = check_order(w_id, d_id, o_id, sums, lines_here);
      if (!problem.empty()) return "order " + std::to_string(o_id) + ": " + problem;
    }
    if (district.d_totals.lines < lines_here.lines ||
        district.d_totals.quantity < lines_here.quantity)
      return "it has more order lines than were ever ordered";
    sums.orders += next - 1;
    sums.ever.lines += district.d_totals.lines;
    sums.ever.quantity += district.d_totals.quantity;
    return "";
  }

  std::string check_order(std::uint32_t w_id, std::uint32_t d_id, std::uint64_t o_id, Sums& sums,
                          OrderTotals& lines_here) const {
    const std::uint64_t district = district_place(w_id, d_id);
    const Order& order = root().order[order_place(district, o_id)];
    if (order.o_id != o_id || order.o_d_id != d_id || order.o_w_id != w_id) return "it is missing";
    if (order.o_c_id < 1 || order.o_c_id > root().customers) return "it has no customer";
    const NewOrder& new_order = *new_order_of(district, o_id);
    const bool undelivered =
        new_order.no_o_id == o_id && new_order.no_d_id == d_id && new_order.no_w_id == w_id;
    if (undelivered != (o_id >= root().first_undelivered)) return "its new_order row is wrong";
    if (undelivered != (order.o_carrier_id == 0)) return "o_carrier_id is wrong";
    if (order.o_ol_cnt < kMinLines || order.o_ol_cnt > kMaxLines) return "o_ol_cnt is wrong";
    bool all_local = true;
    for (std::uint32_t i = 0; i < order.o_ol_cnt; ++i) {
      const OrderLine& line = root().order_line[kMaxLines * order_place(district, o_id) + i];
      if (line.ol_o_id != o_id || line.ol_d_id != d_id || line.ol_w_id != w_id ||
          line.ol_number != i + 1)
        return "it has fewer lines than o_ol_cnt";
      const bool remote = line.ol_supply_w_id != w_id;
      all_local &= !remote;
      if (o_id <= root().customers) continue;  // a set-up order: never taken from stock
      if (!is_right(line)) return "line " + std::to_string(i + 1) + " is wrong";
      add(lines_here, line.ol_quantity);
      Ordered& ordered = sums.stock[stock_place(line.ol_supply_w_id, line.ol_i_id)];
      add(ordered, line.ol_quantity);
      ordered.remote_lines += remote;
    }
    return order.o_all_local == all_local ? "" : "o_all_local is wrong";
  }

  // Checks amount and text, which follow from item and stock; no order is ever delivered.
  bool is_right(const OrderLine& line) const {
    if (line.ol_i_id < 1 || line.ol_i_id > items() || line.ol_supply_w_id < 1 ||
        line.ol_supply_w_id > kWarehouses)
      return false;
    const Stock& stock = root().stock[stock_place(line.ol_supply_w_id, line.ol_i_id)];
    return line.ol_amount == line.ol_quantity * root().item[line.ol_i_id - 1].i_price &&
           line.ol_dist_info == stock.s_dist[line.ol_d_id - 1u] && line.ol_delivery_d == 0;
  }

  static void add(OrderTotals& totals, std::uint64_t quantity) {
    ++totals.lines;
    totals.quantity += quantity;
  }

  // Checks that the quantities taken from stock are the ordered ones.
  std::string check_stock(const Sums& sums) const {
    OrderTotals taken{};
    for (std::uint64_t i = 0; i < kWarehouses * items(); ++i) {
      const StockCounts& counts = root().stock[i].counts;
      const std::uint64_t refilled = counts.s_quantity + counts.s_ytd - first_quantity(i);
      if (counts.s_quantity < 10 || counts.s_quantity > 100 || refilled % 91 != 0 ||
          counts.s_order_cnt < sums.stock[i].lines || counts.s_ytd < sums.stock[i].quantity ||
          counts.s_remote_cnt < sums.stock[i].remote_lines ||
          counts.s_remote_cnt > counts.s_order_cnt)
        return "stock row " + std::to_string(i) + " doesn't agree with the orders";
      taken.lines += counts.s_order_cnt;
      taken.quantity += counts.s_ytd;
    }
    if (taken.lines != sums.ever.lines || taken.quantity != sums.ever.quantity)
      return "what stock has given isn't what was ordered";
    return "";
  }
};

}  // namespace tpcc
