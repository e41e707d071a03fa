// tatp_lowlevel: tatp's UPDATE_LOCATION with an undo log written by hand, as Janus and PMWeaver
// measure it: bare flushes and fences, no atomic regions.
//
// One transaction finds a subscriber by its sub_nbr. It copies its row to the thread's log, fence;
// sets the log valid, fence; sets vlr_location, fence; sets the log invalid, fence. Four fences.
// With --mix pmweaver the logs are not in PM, so that no crash would be undone. The location is one
// word, which persists whole, so that there is nothing to undo.
//
// In PM: the tables of tatp (../tatp/tatp.hpp); Root.logs is the address of PM_MAX_THREADS logs of
// 192 bytes: Log {Subscriber row; line {u64 valid}}. A log whose valid is 1 holds a row that must
// be restored; Root.subscriber and the copy's s_id give its location.
//
// No crash leaves a torn log: valid is one word, which persists whole. It becomes 1 only after the
// fence behind the copy, and the next copy begins only after the fence behind its becoming 0.
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
      10000,
      64,
      "the standard fixes the sizes of the rows",
      8,
      workload::bit_of(workload::Mix::kPmweaver)};

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

  // The requests of a thread's terminal. PMWeaver's divides a random number by the number of
  // subscribers, which is larger. So it requests the first one nearly always, and uses 34
  // locations.
  struct Terminal {
    using Request = tatp::Update;

    const tatp::Tables& tables;
    bool pmweaver;
    workload::Random random;

    Request empty() const { return {}; }
    void draw(Request& request) {
      if (!pmweaver) {
        request = tables.draw(random);
        return;
      }
      const std::uint64_t all = tables.subscribers();
      const std::uint64_t s_id = (1 + random.below(all)) / all + 1;
      request = tables.update(static_cast<std::uint32_t>(s_id), random.below(34));
    }
  };
  using Requests = workload::Requests<Terminal>;

  Requests draw(const workload::Work& work) const {
    const bool pmweaver = work.mix == workload::Mix::kPmweaver;
    return {Terminal{tables_, pmweaver, work.random()}, work.regions, sizeof(tatp::Update)};
  }

  workload::Tally run(const workload::Work& work, Requests& requests) {
    if (work.mix == workload::Mix::kPmweaver) {
      Log log;
      for (std::uint64_t i = 0; i < work.regions; ++i) update_location<false>(requests.next(), log);
    } else {
      for (std::uint64_t i = 0; i < work.regions; ++i)
        update_location<true>(requests.next(), log_of(work.thread));
    }
    return {};
  }

  workload::Check check() const { return tables_.check(); }

 private:
  Log& log_of(unsigned thread) { return static_cast<Log*>(tables_.root().logs)[thread]; }

  template <bool kLogInPm>
  void update_location(const tatp::Update& update, Log& log) {
    constexpr bool kLogHints = workload::kHints && kLogInPm;
    // The log's address never changes, and it will be set valid.
    if constexpr (kLogHints) workload::announce_value(&log.valid, 1);

    tatp::Subscriber* row = tables_.find(update.sub_nbr);
    const std::lock_guard lock(tables_.lock_of(row));
    // Under the lock no other thread can change the row, which would make these hints void.
    if constexpr (kLogHints) workload::announce(&log.row, row, sizeof *row);
    if constexpr (workload::kHints)
      workload::announce(&row->vlr_location, &update.vlr_location, sizeof row->vlr_location);

    log.row = *row;
    pm_flush(&log.row, sizeof log.row);
    pm_order();

    log.valid = 1;
    pm_flush(&log.valid, sizeof log.valid);
    pm_order();
    // This hint cannot be earlier: the two values are written to the same line.
    if constexpr (kLogHints) workload::announce_value(&log.valid, 0);

    row->vlr_location = update.vlr_location;
    pm_flush(row, sizeof *row);
    pm_order();

    log.valid = 0;
    pm_flush(&log.valid, sizeof log.valid);
    pm_durable();
  }

  // Recovers a log; may be interrupted and repeated.
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
