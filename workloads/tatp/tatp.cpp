// tatp: the transaction UPDATE_LOCATION of the telecommunication benchmark TATP.
//
// One region finds a subscriber by its sub_nbr, in the index, and sets its vlr_location (4 bytes).
// It declares one range: three fences.
//
// Tables and layout in PM: tatp.hpp. Index and sub_nbr never change and are read without a lock.
//
// Locks: subscriber s_id has lock s_id % 1024.
#include "tatp.hpp"

namespace {

class Tatp {
 public:
  static constexpr workload::About kAbout = {
      "tatp",
      "Sets the location of a subscriber, found by its number, in every atomic region (TATP's\n"
      "UPDATE_LOCATION). --items is the number of subscribers; the other tables follow from it.",
      10000, 64, "the standard fixes the sizes of the rows"};

  static std::uint64_t pool_bytes(const workload::Options& options) {
    return tatp::Tables::pool_bytes(options);
  }

  Tatp(pm_pool* pool, const workload::Options& options)
      : pool_(pool), tables_(pool, kAbout, options) {
    workload::set_ready(tables_.root().header);
  }

  explicit Tatp(pm_pool* pool) : pool_(pool), tables_(pool) {}

  tatp::Tables::Requests draw(const workload::Work& work) const { return tables_.requests(work); }

  workload::Tally run(const workload::Work& work, tatp::Tables::Requests& requests) {
    for (std::uint64_t i = 0; i < work.regions; ++i) update_location(requests.next());
    return {};
  }

  workload::Check check() const { return tables_.check(); }

 private:
  void update_location(const tatp::Update& update) {
    tatp::Subscriber* row = tables_.find(update.sub_nbr);
    const std::lock_guard lock(tables_.lock_of(row));
    // The value is less than a line, so that it cannot be announced before its address. A hint
    // before the lock would become void by another thread's write to the row.
    if constexpr (workload::kHints)
      workload::announce(&row->vlr_location, &update.vlr_location, sizeof row->vlr_location);

    pm_begin(pool_);
    pm_log(&row->vlr_location, sizeof row->vlr_location);
    row->vlr_location = update.vlr_location;
    pm_end();
  }

  pm_pool* pool_;
  tatp::Tables tables_;
};

}  // namespace

int main(int argc, char** argv) { return workload::main<Tatp>(argc, argv); }
