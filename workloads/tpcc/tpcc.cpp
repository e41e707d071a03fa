// tpcc: the transaction NewOrder of TPC-C (clause 2.4): an order of 5 to 15 items.
//
// One region is the transaction, under its locks (ASAP, Table 3 and 4.2: regions nest in critical
// sections). It reads district, customer, warehouse, items and stock, computes all rows and takes
// the district's next order number. It inserts a row of order, one of new_order and one of
// order_line for each item, and updates the item's row of stock. All ranges are declared at once:
// three fences. A terminal belongs to a thread and to warehouse thread % 4.
//
// One transaction in 100 requests an item that doesn't exist. It ends without a change, so it has
// no region and doesn't count towards --regions: the items are looked up before the region.
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

  tpcc::OrderEntry::Requests draw(const workload::Work& work) const {
    return entry_.requests(work);
  }

  workload::Tally run(const workload::Work& work, tpcc::OrderEntry::Requests& requests) {
    tpcc::Transaction transaction;
    for (std::uint64_t done = 0; done < work.regions;) {
      transaction.request = requests.next();
      if (!entry_.find_items(transaction)) continue;
      entry_.lock(transaction.request);
      pm_begin(pool_);
      entry_.prepare(transaction);
      write(transaction);
      pm_end();
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
    declare(transaction);
    transaction.district->d_next_o_id = transaction.next_o_id;
    transaction.district->d_totals = transaction.totals;
    *transaction.order = transaction.order_row;
    *transaction.new_order = transaction.new_order_row;
    for (std::uint32_t i = 0; i < count; ++i) {
      transaction.order_line[i] = transaction.order_line_rows[i];
      transaction.stock[i]->counts = transaction.stock_counts[i];
    }
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
