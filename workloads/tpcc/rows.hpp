// The layout of TPC-C's nine tables in PM; tpcc and tpcc_lowlevel share them.
//
// Scale: --items is the number of items (the standard has 100,000). There are 4 warehouses with 10
// districts each. A district has 3 customers for every 100 items, as in the standard, and initially
// as many orders, of which 30% are undelivered. NURand's constants shrink with the tables.
//
// No order is ever delivered, so that tables would grow without limit. Instead a district keeps its
// last orders, as many as it has customers: a new order's rows take the place of older ones.
//
// In PM: Root, whose table addresses lead to rows in the order of their keys, all ids from 1:
//   warehouse   by w_id                 item   by i_id
//   district    by w_id, d_id           stock  by w_id, i_id
//   customer    by w_id, d_id, c_id     history, one row to a customer, likewise
//   order, new_order, order_line: for every district (w_id, d_id) order_places places; order o_id
//     has place o_id % order_places; a place is one row of order, one of new_order, 15 of
//     order_line. The district's orders are those from its d_next_o_id - customers (at least 1) to
//     d_next_o_id - 1, and undelivered are those of them from first_undelivered on. There is one
//     place more than orders, so that the place of the next order holds no valid data.
// Columns are little-endian, in the order of the structures below. Money is in cents, rates in
// hundredths of a percent. A district has two columns beyond the standard: the numbers of lines and
// items of all orders since the set-up. The totals recorded in stock must agree with them.
//
// With --duplicate-ratio, that share of the rows of stock begins with the same content: the first
// s_quantity and the texts s_dist. These include the rest of the line with the counts. This line is
// a duplicate as long as another of these rows had as much ordered from it. With several contents
// there would be fewer duplicates. Every other line that NewOrder writes holds its row's key.
//
// NewOrder changes d_next_o_id and these two, a row each of order and new_order, up to 15 rows of
// order_line, and the counts of as many rows of stock.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "workload.hpp"

namespace tpcc {

constexpr std::uint32_t kWarehouses = 4, kDistricts = 10, kMinLines = 5, kMaxLines = 15;

// The word that brand-name goods have in their data.
constexpr std::string_view kOriginal = "ORIGINAL";

template <std::size_t length>
using Text = std::array<char, length>;

struct Address {
  Text<20> street_1, street_2, city;
  Text<2> state;
  Text<9> zip;
};

struct alignas(PM_LINE_BYTES) Warehouse {
  std::uint64_t w_ytd;
  std::uint32_t w_id, w_tax;
  Text<10> w_name;
  Address w_address;
  Text<31> unused{};
};

struct OrderTotals {
  std::uint64_t lines, quantity;
};

struct alignas(PM_LINE_BYTES) District {
  std::uint64_t d_next_o_id;
  OrderTotals d_totals;
  std::uint64_t d_ytd;
  std::uint32_t d_id, d_w_id, d_tax;
  Text<10> d_name;
  Address d_address;
  Text<3> unused{};
};

struct alignas(PM_LINE_BYTES) Customer {
  std::uint32_t c_id, c_d_id, c_w_id, c_discount, c_payment_cnt, c_delivery_cnt;
  std::uint64_t c_since;
  std::int64_t c_credit_lim, c_balance, c_ytd_payment;
  Text<16> c_last;
  Text<2> c_credit, c_middle;
  Text<16> c_first;
  Address c_address;
  Text<16> c_phone;
  Text<500> c_data;
  Text<25> unused;
};

struct alignas(PM_LINE_BYTES) History {
  std::uint32_t h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_amount;
  std::uint64_t h_date;
  Text<24> h_data;
  std::uint64_t unused = 0;
};

struct alignas(16) NewOrder {
  std::uint64_t no_o_id;
  std::uint32_t no_d_id, no_w_id;
};

struct alignas(PM_LINE_BYTES) Order {
  std::uint64_t o_id, o_entry_d;
  std::uint32_t o_d_id, o_w_id, o_c_id, o_carrier_id, o_ol_cnt, o_all_local;
  Text<24> unused{};
};

struct alignas(PM_LINE_BYTES) OrderLine {
  std::uint64_t ol_o_id;
  std::uint32_t ol_i_id, ol_supply_w_id, ol_amount;
  std::uint16_t ol_w_id;
  std::uint8_t ol_d_id, ol_number;
  std::uint64_t ol_delivery_d;
  std::uint32_t ol_quantity;
  Text<24> ol_dist_info;
  std::uint32_t unused = 0;
};

struct alignas(PM_LINE_BYTES) Item {
  std::uint32_t i_id, i_im_id, i_price;
  Text<24> i_name;
  Text<50> i_data;
  Text<42> unused{};
};

struct StockCounts {
  std::uint64_t s_ytd;
  std::uint32_t s_order_cnt;
  std::uint16_t s_remote_cnt, s_quantity;
};

struct alignas(PM_LINE_BYTES) Stock {
  StockCounts counts;
  std::array<Text<24>, kDistricts> s_dist;
  Text<50> s_data;
  Text<6> unused;
  std::uint32_t s_i_id, s_w_id;
};
// The line that NewOrder updates contains no key.
static_assert(offsetof(Stock, s_i_id) >= PM_LINE_BYTES);

// Every byte belongs to a column, so that rows are the same in every run.
template <class Row, std::size_t bytes>
constexpr bool kFills = sizeof(Row) == bytes && std::has_unique_object_representations_v<Row>;
static_assert(kFills<Warehouse, 128> && kFills<District, 128> && kFills<Customer, 704> &&
              kFills<History, 64> && kFills<NewOrder, 16> && kFills<Order, 64> &&
              kFills<OrderLine, 64> && kFills<Item, 128> && kFills<Stock, 320>);

struct Root {
  workload::Header header;
  std::uint64_t customers;          // customers in a district
  std::uint64_t order_places;       // places in a district: customers + 1
  std::uint64_t first_undelivered;  // o_id in every district
  Warehouse* warehouse;
  District* district;
  Customer* customer;
  History* history;
  NewOrder* new_order;
  Order* order;
  OrderLine* order_line;
  Item* item;
  Stock* stock;
  std::uint64_t digest;  // digest of all data that NewOrder doesn't change
  void* logs;            // logs of tpcc_lowlevel, otherwise 0
};

}  // namespace tpcc
