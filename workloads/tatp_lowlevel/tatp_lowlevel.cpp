// tatp_lowlevel: tatp's UPDATE_LOCATION with an undo log written by hand, as Janus and PMWeaver
// measure it: bare flushes and fences, no atomic regions.
//
// One transaction: finds a subscriber by its sub_nbr; copies its row to the thread's log, fence;
// sets the log valid, fence; sets vlr_location, fence; sets the log invalid, fence. Four fences.
//
// In PM: the tables of tatp (../tatp/tatp.hpp); Root.logs is the address of PM_MAX_THREADS logs of
// 192 bytes: Log {Subscriber row; line {u64 valid}}. A log whose valid is 1 holds a row as it has
// to be again; Root.subscriber and the copy's s_id tell where.
//
// Why no crash finds a torn log: valid is one word, which persists whole. It becomes 1 only after
// the fence behind the copy, and the next copy begins only after the fence behind its becoming 0.
//
// Locks: subscriber s_id has lock s_id % 1024, until the log is invalid again.
#include "../tatp/tatp.hpp"

namespace {

struct Log {
  tatp::Subscriber row;
  alignas(PM_LINE_BYTES) std::uint64_t valid;
};
static_assert(sizeof(Log) == 192);

class TatpLowLevel {
 public:
  static constexpr workload::About kAbout = {
      "tatp_lowlevel",
      "Sets the location of a subscriber, found by its number (TATP's UPDATE_LOCATION), with an\n"
      "undo log of its own instead of atomic regions: --regions counts transactions. --items is\n"
      "the number of subscribers; the other tables follow from it.",
      10000, 64, "the standard fixes the sizes of the rows"};

  static std::uint64_t pool_bytes(const workload::Options& options) {
    return tatp::Tables::pool_bytes(options);
  }

  TatpLowLevel(pm_pool* pool, const workload::Options& options) : tables_(pool, kAbout, options) {
    const std::size_t bytes = PM_MAX_THREADS * sizeof(Log);
    void* logs = workload::require(pm_alloc(pool, bytes));
    std::memset(logs, 0, bytes);
    pm_flush(logs, bytes);
    tables_.root().logs = logs;
    pm_flush(&tables_.root().logs, sizeof logs);
    workload::set_ready(tables_.root().header);
  }

  explicit TatpLowLevel(pm_pool* pool) : tables_(pool) {
    for (unsigned thread = 0; thread < PM_MAX_THREADS; ++thread) undo(log_of(thread));
  }

  tatp::Tables::Requests draw(const workload::Work& work) const { return tables_.requests(work); }

  workload::Tally run(const workload::Work& work, tatp::Tables::Requests& requests) {
    for (std::uint64_t i = 0; i < work.regions; ++i)
      update_location(requests.next(), log_of(work.thread));
    return {};
  }

  workload::Check check() const { return tables_.check(); }

 private:
  Log& log_of(unsigned thread) { return static_cast<Log*>(tables_.root().logs)[thread]; }

  void update_location(const tatp::Update& update, Log& log) {
    // The log lies where it always does, and will be set valid.
    if constexpr (workload::kHints) workload::announce_value(&log.valid, 1);

    tatp::Subscriber* row = tables_.find(update.sub_nbr);
    const std::lock_guard lock(tables_.lock_of(row));
    // Under the lock nobody else can change the row, which would make these void.
    if constexpr (workload::kHints) {
      workload::announce(&log.row, row, sizeof *row);
      workload::announce(&row->vlr_location, &update.vlr_location, sizeof row->vlr_location);
    }

    log.row = *row;
    pm_flush(&log.row, sizeof log.row);
    pm_order();

    log.valid = 1;
    pm_flush(&log.valid, sizeof log.valid);
    pm_order();
    // Not earlier: the two values are written to the same line.
    if constexpr (workload::kHints) workload::announce_value(&log.valid, 0);

    row->vlr_location = update.vlr_location;
    pm_flush(row, sizeof *row);
    pm_order();

    log.valid = 0;
    pm_flush(&log.valid, sizeof log.valid);
    pm_durable();
  }

  // Recovery; may be interrupted and repeated.
  void undo(Log& log) {
    if (log.valid != 1) return;
    tatp::Subscriber* row = tables_.root().subscriber + log.row.s_id - 1;
    *row = log.row;
    pm_flush(row, sizeof *row);
    pm_order();
    log.valid = 0;
    pm_flush(&log.valid, sizeof log.valid);
    pm_durable();
  }

  tatp::Tables tables_;
};

}  // namespace

int main(int argc, char** argv) { return workload::main<TatpLowLevel>(argc, argv); }
