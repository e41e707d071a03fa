// tpcc_lowlevel: tpcc's NewOrder with an undo log written by hand, as Janus and PMWeaver measure
// it: bare flushes and fences, no atomic regions.
//
// The steps of one transaction, each ending in a fence (10 + 2 * items):
//   copy the counts of the district to the thread's log; set the log valid; update the district;
//   copy the new_order row that will be replaced; set the copy valid; write the new row;
//   copy the order row that will be replaced; set the copy valid; write the new row and its lines;
//   for each item: copy its row of stock; update the row;
//   set the log invalid.
// The rows of order_line need no copy: the replaced rows belong to no order any more (rows.hpp).
//
// With --mix pmweaver all orders are placed at one warehouse (Terminal).
//
// In PM: the tables of tpcc (../tpcc/rows.hpp); Root.logs is the address of PM_MAX_THREADS logs,
// laid out as the structure Log below. Each transaction of a thread has a number. The log is valid
// if `begun` and `finished` differ; `begun` is then the number of the transaction that recovery has
// to undo. A copy is valid if it has that number; a stock row's copy must also have the right
// checksum (common/digest.hpp, over number, place and row).
//
// No crash leaves a torn copy: begun, finished and the numbers are single words, which persist
// whole. A copy of district, order or new_order is complete before its number is written. One of
// stock is not: but its row has changed only if the fence behind the copy was passed, and then its
// checksum is right. Copies of earlier transactions have other numbers, since numbers are never
// used twice: `begun` only grows.
//
// Locks: those of tpcc (../tpcc/order_entry.hpp), until the log is invalid again.
#include <set>

#include "../tpcc/consistency.hpp"
#include "../tpcc/order_entry.hpp"
#include "../tpcc/population.hpp"

namespace {

struct DistrictCopy {
  tpcc::District* row;
  std::uint64_t d_next_o_id;
  tpcc::OrderTotals d_totals;
};

template <class Row>
struct RowCopy {
  alignas(PM_LINE_BYTES) Row row;
  alignas(PM_LINE_BYTES) Row* place;
  std::uint64_t number;
};

struct StockCopy {
  tpcc::Stock row;
  tpcc::Stock* place;
  std::uint64_t number, checksum;

  std::uint64_t right_checksum() const {
    workload::Digest digest;
    digest.add(number);
    digest.add(reinterpret_cast<std::uintptr_t>(place));
    digest.add(&row, sizeof row);
    return digest.value();
  }
};

struct Log {
  alignas(PM_LINE_BYTES) std::uint64_t begun;
  std::uint64_t finished;
  alignas(PM_LINE_BYTES) DistrictCopy district;
  RowCopy<tpcc::NewOrder> new_order;
  RowCopy<tpcc::Order> order;
  std::array<StockCopy, tpcc::kMaxLines> stock;
};
static_assert(sizeof(Log) == (2 + 2 + 2 + 15 * 6) * PM_LINE_BYTES);

// Flushes the data of one step and waits until they are durable.
void persist(const void* address, std::size_t bytes) {
  pm_flush(address, bytes);
  pm_order();
}

class TpccLowLevel {
 public:
  static constexpr workload::About kAbout = {
      "tpcc_lowlevel",
      "Places orders of 5 to 15 items (TPC-C's NewOrder), at one of 4 warehouses, with an undo\n"
      "log of its own instead of atomic regions: --regions counts transactions. --items is the\n"
      "number of items; the other tables follow from it.",
      10000,
      64,
      "the standard fixes the sizes of the rows",
      8,
      workload::bit_of(workload::Mix::kPmweaver)};

  static std::uint64_t pool_bytes(const workload::Options& options) {
    return tpcc::Population::pool_bytes(options);
  }

  TpccLowLevel(pm_pool* pool, const workload::Options& options)
      : entry_(tpcc::Population(pool, kAbout, options)) {
    const std::size_t bytes = PM_MAX_THREADS * sizeof(Log);
    void* logs = workload::require(pm_alloc(pool, bytes));
    std::memset(logs, 0, bytes);
    pm_flush(logs, bytes);
    entry_.root().logs = logs;
    pm_flush(&entry_.root().logs, sizeof logs);
    workload::set_ready(entry_.root().header);
  }

  explicit TpccLowLevel(pm_pool* pool) : entry_(tpcc::Tables(pool)) {
    for (unsigned thread = 0; thread < PM_MAX_THREADS; ++thread) undo(log_of(thread));
  }

  // The requests of a thread's terminal. PMWeaver's has one warehouse, customers and items that are
  // equally likely, and orders seven of each item.
  class Terminal {
   public:
    using Request = tpcc::Request;

    Terminal(const tpcc::OrderEntry& entry, const workload::Work& work)
        : entry_(entry), work_(work), random_(work.random()) {}

    Request empty() const { return {}; }
    void draw(Request& request) {
      const std::uint64_t number = number_++;
      request = work_.mix == workload::Mix::kPmweaver ? draw_as_pmweaver(number)
                                                      : entry_.draw(work_.thread, number, random_);
    }

   private:
    Request draw_as_pmweaver(std::uint64_t number) {
      Request request{1, one_of(tpcc::kDistricts), one_of(entry_.root().customers), number, 0, {}};
      request.count = tpcc::kMinLines - 1 + one_of(tpcc::kMaxLines - tpcc::kMinLines + 1);
      std::set<std::uint32_t> items;
      while (items.size() < request.count) items.insert(one_of(entry_.items()));
      std::ranges::transform(items, request.lines.begin(),
                             [](std::uint32_t i_id) { return Request::Line{i_id, 1, 7}; });
      return request;
    }

    std::uint32_t one_of(std::uint64_t count) {
      return static_cast<std::uint32_t>(1 + random_.below(count));
    }

    const tpcc::OrderEntry& entry_;
    workload::Work work_;
    std::uint64_t number_ = 0;
    workload::Random random_;
  };
  using Requests = workload::Requests<Terminal>;

  Requests draw(const workload::Work& work) const {
    return {Terminal(entry_, work), work.regions, sizeof(tpcc::Request)};
  }

  workload::Tally run(const workload::Work& work, Requests& requests) {
    tpcc::Transaction transaction;
    for (std::uint64_t done = 0; done < work.regions;) {
      transaction.request = requests.next();
      if (!entry_.find_items(transaction)) continue;
      entry_.lock(transaction.request);
      entry_.prepare(transaction);
      write(transaction, log_of(work.thread));
      entry_.release(transaction.request);
      entry_.show(transaction);
      ++done;
    }
    return {work.regions};
  }

  workload::Check check() const { return tpcc::Consistency(entry_).check(); }

 private:
  Log& log_of(unsigned thread) { return static_cast<Log*>(entry_.root().logs)[thread]; }

  void write(const tpcc::Transaction& transaction, Log& log) {
    const std::uint64_t number = log.begun + 1;
    if constexpr (workload::kHints) {
      workload::announce_value(&log.begun, number);
      // Data that the locks protect can be announced before they are copied.
      workload::announce(&log.new_order.row, transaction.new_order, sizeof(tpcc::NewOrder));
      workload::announce(&log.order.row, transaction.order, sizeof(tpcc::Order));
      announce_stock_copy(transaction, log, 0);
    }

    begin(transaction, log, number);
    // The log's line that contains `begun` is not written again before the end.
    if constexpr (workload::kHints) workload::announce_value(&log.finished, number);

    transaction.district->d_next_o_id = transaction.next_o_id;
    transaction.district->d_totals = transaction.totals;
    persist(transaction.district, offsetof(tpcc::District, d_ytd));

    back_up(log.new_order, transaction.new_order, number);
    *transaction.new_order = transaction.new_order_row;
    persist(transaction.new_order, sizeof *transaction.new_order);

    back_up(log.order, transaction.order, number);
    insert_order(transaction);
    for (std::uint32_t i = 0; i < transaction.request.count; ++i) {
      if constexpr (workload::kHints) announce_stock_copy(transaction, log, i + 1);
      back_up(log.stock[i], transaction.stock[i], number);
      transaction.stock[i]->counts = transaction.stock_counts[i];
      persist(&transaction.stock[i]->counts, sizeof(tpcc::StockCounts));
    }

    log.finished = number;
    pm_flush(&log.finished, sizeof log.finished);
    pm_durable();
  }

  // Announces one item ahead: all at once would exceed Janus's queues. The checksum isn't known
  // yet.
  static void announce_stock_copy(const tpcc::Transaction& transaction, const Log& log,
                                  std::uint32_t i) {
    if (i == transaction.request.count) return;
    workload::announce(&log.stock[i].row, transaction.stock[i], sizeof(tpcc::Stock));
    pm_pre pre_checksum;
    pm_pre_init(&pre_checksum);
    pm_pre_addr(&pre_checksum, &log.stock[i].place, PM_LINE_BYTES);
  }

  static void begin(const tpcc::Transaction& transaction, Log& log, std::uint64_t number) {
    const tpcc::District& district = *transaction.district;
    log.district = {transaction.district, district.d_next_o_id, district.d_totals};
    persist(&log.district, sizeof log.district);
    log.begun = number;
    persist(&log.begun, sizeof log.begun);
  }

  template <class Row>
  static void back_up(RowCopy<Row>& copy, Row* place, std::uint64_t number) {
    copy.row = *place;
    copy.place = place;
    pm_flush(&copy.row, sizeof copy.row);
    persist(&copy.place, sizeof copy.place);
    copy.number = number;
    persist(&copy.number, sizeof copy.number);
  }

  static void back_up(StockCopy& copy, tpcc::Stock* place, std::uint64_t number) {
    copy.row = *place;
    copy.place = place;
    copy.number = number;
    copy.checksum = copy.right_checksum();
    persist(&copy, sizeof copy);
  }

  static void insert_order(const tpcc::Transaction& transaction) {
    const std::uint32_t count = transaction.request.count;
    *transaction.order = transaction.order_row;
    for (std::uint32_t i = 0; i < count; ++i)
      transaction.order_line[i] = transaction.order_line_rows[i];
    pm_flush(transaction.order_line, count * sizeof(tpcc::OrderLine));
    persist(transaction.order, sizeof *transaction.order);
  }

  // Recovers a log; may be interrupted and repeated.
  static void undo(Log& log) {
    const std::uint64_t number = log.begun;
    if (log.finished == number) return;
    for (const StockCopy& copy : log.stock)
      if (copy.number == number && copy.checksum == copy.right_checksum()) restore(copy);
    if (log.order.number == number) restore(log.order);
    if (log.new_order.number == number) restore(log.new_order);
    log.district.row->d_next_o_id = log.district.d_next_o_id;
    log.district.row->d_totals = log.district.d_totals;
    pm_flush(log.district.row, sizeof *log.district.row);
    pm_order();
    log.finished = number;
    pm_flush(&log.finished, sizeof log.finished);
    pm_durable();
  }

  template <class Copy>
  static void restore(const Copy& copy) {
    *copy.place = copy.row;
    pm_flush(copy.place, sizeof *copy.place);
  }

  tpcc::OrderEntry entry_;
};

}  // namespace

int main(int argc, char** argv) { return workload::main<TpccLowLevel>(argc, argv); }
