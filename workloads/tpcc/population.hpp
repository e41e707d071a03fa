// Creates and fills TPC-C's tables (clause 4.3.3, scaled as rows.hpp says).
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "consistency.hpp"
#include "tables.hpp"

namespace tpcc {

class Population : public Tables {
 public:
  static std::uint64_t pool_bytes(const workload::Options& options) {
    return workload::pool_bytes_for(options, 4 * options.items);
  }

  // Fills the tables; the caller sets the header ready.
  Population(pm_pool* pool, const workload::About& about, const workload::Options& options)
      : Tables(pool) {
    if (options.items < 100)
      workload::refuse("--items " + std::to_string(options.items) + ": must be at least 100");
    workload::describe(root().header, about, options);
    root().customers = options.items * 3 / 100;
    root().order_places = root().customers + 1;
    root().first_undelivered = root().customers * 7 / 10 + 1;
    create_tables(pool);
    populate();
    root().digest = Consistency(*this).digest();
    flush_all();
  }

 private:
  template <class Row>
  static Row* create(pm_pool* pool, std::uint64_t rows) {
    auto* table = static_cast<Row*>(workload::require(pm_alloc(pool, rows * sizeof(Row))));
    std::memset(static_cast<void*>(table), 0, rows * sizeof(Row));
    return table;
  }

  void create_tables(pm_pool* pool) {
    root().warehouse = create<Warehouse>(pool, kWarehouses);
    root().district = create<District>(pool, kAllDistricts);
    root().customer = create<Customer>(pool, kAllDistricts * root().customers);
    root().history = create<History>(pool, kAllDistricts * root().customers);
    root().new_order = create<NewOrder>(pool, kAllDistricts * new_order_places());
    root().order = create<Order>(pool, all_orders());
    root().order_line = create<OrderLine>(pool, kMaxLines * all_orders());
    root().item = create<Item>(pool, items());
    root().stock = create<Stock>(pool, kWarehouses * items());
  }

  void flush_all() const {
    pm_flush(root().warehouse, kWarehouses * sizeof(Warehouse));
    pm_flush(root().district, kAllDistricts * sizeof(District));
    pm_flush(root().customer, kAllDistricts * root().customers * sizeof(Customer));
    pm_flush(root().history, kAllDistricts * root().customers * sizeof(History));
    pm_flush(root().new_order, kAllDistricts * new_order_places() * sizeof(NewOrder));
    pm_flush(root().order, all_orders() * sizeof(Order));
    pm_flush(root().order_line, kMaxLines * all_orders() * sizeof(OrderLine));
    pm_flush(root().item, items() * sizeof(Item));
    pm_flush(root().stock, kWarehouses * items() * sizeof(Stock));
    pm_flush(&root(), sizeof(Root));
  }

  void populate() {
    workload::Random random(root().header.seed, 0);
    for (std::uint32_t i_id = 1; i_id <= items(); ++i_id) add_item(i_id, random);
    for (std::uint32_t w_id = 1; w_id <= kWarehouses; ++w_id) {
      Warehouse& row = root().warehouse[w_id - 1];
      row = {30'000'000, w_id, rate(2000, random), text<10>(random), address(random)};
      for (std::uint32_t i_id = 1; i_id <= items(); ++i_id) add_stock(w_id, i_id, random);
      for (std::uint32_t d_id = 1; d_id <= kDistricts; ++d_id) add_district(w_id, d_id, random);
    }
  }

  void add_item(std::uint32_t i_id, workload::Random& random) {
    root().item[i_id - 1] = {i_id, rate(9'999, random) + 1, rate(9'900, random) + 100,
                             text<24>(random), data(random)};
  }

  void add_stock(std::uint32_t w_id, std::uint32_t i_id, workload::Random& random) {
    const std::uint64_t place = stock_place(w_id, i_id);
    Stock& row = root().stock[place];
    row.counts = {0, 0, 0, static_cast<std::uint16_t>(first_quantity(place))};
    row.s_i_id = i_id;
    row.s_w_id = w_id;
    workload::Random content(first_content(place), 0);
    for (Text<24>& info : row.s_dist) info = text<24>(content);
    row.s_data = data(random);
  }

  void add_district(std::uint32_t w_id, std::uint32_t d_id, workload::Random& random) {
    root().district[district_place(w_id, d_id)] = {
        root().customers + 1, {}, 3'000'000, d_id, w_id, rate(2000, random), text<10>(random),
        address(random)};
    std::vector<std::uint32_t> c_ids(root().customers);  // the orders' customers, in random order
    for (std::uint32_t i = 0; i < c_ids.size(); ++i) c_ids[i] = i + 1;
    for (std::uint32_t id = 1; id <= root().customers; ++id) {
      add_customer(w_id, d_id, id, random);
      std::swap(c_ids[id - 1], c_ids[id - 1 + random.below(c_ids.size() - id + 1)]);
      add_order(w_id, d_id, id, c_ids[id - 1], random);
    }
  }

  void add_customer(std::uint32_t w_id, std::uint32_t d_id, std::uint32_t c_id,
                    workload::Random& random) {
    const std::uint64_t place = district_place(w_id, d_id) * root().customers + c_id - 1;
    Customer& row = root().customer[place];
    row.c_id = c_id;
    row.c_d_id = d_id;
    row.c_w_id = w_id;
    row.c_discount = rate(5000, random);
    row.c_last = text<16>(random);
    row.c_credit = random.below(10) == 0 ? Text<2>{'B', 'C'} : Text<2>{'G', 'C'};
    row.c_middle = {'O', 'E'};
    row.c_first = text<16>(random);
    row.c_address = address(random);
    row.c_phone = text<16>(random);
    row.c_payment_cnt = 1;
    row.c_credit_lim = 5'000'000;
    row.c_balance = -1'000;
    row.c_ytd_payment = 1'000;
    row.c_data = text<500>(random);
    root().history[place] = {c_id, d_id, w_id, d_id, w_id, 1'000, 0, text<24>(random)};
  }

  void add_order(std::uint32_t w_id, std::uint32_t d_id, std::uint32_t o_id, std::uint32_t c_id,
                 workload::Random& random) {
    const std::uint64_t district = district_place(w_id, d_id), place = order_place(district, o_id);
    const bool delivered = o_id < root().first_undelivered;
    const auto count = kMinLines + rate(kMaxLines - kMinLines, random);
    root().order[place] = {o_id,  0, d_id, w_id, c_id, delivered ? 1 + rate(9, random) : 0,
                           count, 1};
    if (!delivered) *new_order_of(district, o_id) = {o_id, d_id, w_id};
    for (std::uint32_t i = 0; i < count; ++i)
      root().order_line[kMaxLines * place + i] = {o_id,
                                                  rate(items() - 1, random) + 1,
                                                  w_id,
                                                  delivered ? 0 : rate(999'998, random) + 1,
                                                  static_cast<std::uint16_t>(w_id),
                                                  static_cast<std::uint8_t>(d_id),
                                                  static_cast<std::uint8_t>(i + 1),
                                                  0,
                                                  5,
                                                  text<24>(random)};
  }

  // Draws a number from 0 to `most`.
  static std::uint32_t rate(std::uint64_t most, workload::Random& random) {
    return static_cast<std::uint32_t>(random.below(most + 1));
  }

  template <std::size_t length>
  static Text<length> text(workload::Random& random) {
    Text<length> text;
    for (std::size_t at = 0; at < length; at += sizeof(std::uint64_t)) {
      // Eight letters out of the first sixteen of the alphabet.
      const std::uint64_t word = (random.next() & 0x0f0f0f0f0f0f0f0f) + 0x6161616161616161;
      std::memcpy(text.data() + at, &word, std::min(sizeof word, length - at));
    }
    return text;
  }

  static Address address(workload::Random& random) {
    return {text<20>(random), text<20>(random), text<20>(random), text<2>(random), text<9>(random)};
  }

  // Draws a data text; one in ten is marked as an original.
  static Text<50> data(workload::Random& random) {
    Text<50> data = text<50>(random);
    if (random.below(10) == 0) {
      const std::uint64_t at = random.below(data.size() - kOriginal.size() + 1);
      std::copy(kOriginal.begin(), kOriginal.end(), data.begin() + static_cast<std::ptrdiff_t>(at));
    }
    return data;
  }
};

}  // namespace tpcc
