// tpcc: the transaction NewOrder of TPC-C (clause 2.4): an order of 5 to 15 items.
//
// One region: takes the district's next order number and inserts a row of order, one of new_order
// and one of order_line for each item, and updates the item's row of stock. All ranges are declared
// at once: three fences. A terminal belongs to a thread and to warehouse thread % 4.
//
// One transaction in 100 asks for an item that doesn't exist. It ends without a change, so it has
// no region and doesn't count towards --regions: items are looked up before anything is written.
//
// Tables and layout in PM: rows.hpp. Locks: order_entry.hpp.
#include "consistency.hpp"
#include "order_entry.hpp"
#include "population.hpp"

namespace {

class Tpcc {
 public:
  static constexpr workload::About kAbout = {
      "tpcc",
      "Places an order of 5 to 15 items in every atomic region (TPC-C's NewOrder), at one of 4\n"
      "warehouses. --items is the number of items; the other tables follow from it.",
      10000, 64, "the standard fixes the sizes of the rows"};

  static std::uint64_t pool_bytes(const workload::Options& options) {
    return tpcc::Population::pool_bytes(options);
  }

  Tpcc(pm_pool* pool, const workload::Options& options)
      : pool_(pool), entry_(tpcc::Population(pool, kAbout, options)) {
    workload::set_ready(entry_.root().header);
  }

  explicit Tpcc(pm_pool* pool) : pool_(pool), entry_(tpcc::Tables(pool)) {}

  workload::Tally run(const workload::Work& work) {
    workload::Random random(work.seed, work.thread + 1);
    tpcc::Transaction transaction;
    for (std::uint64_t number = 0, done = 0; done < work.regions; ++number) {
      transaction.request = entry_.draw(work.thread, number, random);
      if (!entry_.find_items(transaction)) continue;
      entry_.prepare(transaction);
      write(transaction);
      entry_.release(transaction.request);
      entry_.show(transaction);
      ++done;
    }
    return {work.regions};
  }

  workload::Check check() const { return tpcc::Consistency(entry_).check(); }

 private:
  void write(const tpcc::Transaction& transaction) {
    const std::uint32_t count = transaction.request.count;
    pm_begin(pool_);
    declare(transaction);
    transaction.district->d_next_o_id = transaction.next_o_id;
    transaction.district->d_totals = transaction.totals;
    *transaction.order = transaction.order_row;
    *transaction.new_order = transaction.new_order_row;
    for (std::uint32_t i = 0; i < count; ++i) {
      transaction.order_line[i] = transaction.order_line_rows[i];
      transaction.stock[i]->counts = transaction.stock_counts[i];
    }
    pm_end();
  }

  static void declare(const tpcc::Transaction& transaction) {
    const std::uint32_t count = transaction.request.count;
    std::array<pm_range, 4 + tpcc::kMaxLines> ranges = {{
        {transaction.district, offsetof(tpcc::District, d_ytd)},
        {transaction.order, sizeof(tpcc::Order)},
        {transaction.new_order, sizeof(tpcc::NewOrder)},
        {transaction.order_line, count * sizeof(tpcc::OrderLine)},
    }};
    for (std::uint32_t i = 0; i < count; ++i)
      ranges[4 + i] = {&transaction.stock[i]->counts, sizeof(tpcc::StockCounts)};
    pm_log_ranges(ranges.data(), 4 + count);
  }

  pm_pool* pool_;
  tpcc::OrderEntry entry_;
};

}  // namespace

int main(int argc, char** argv) { return workload::main<Tpcc>(argc, argv); }
