// The time of all cores, divided by source line, call path and cause. The parts of one cause in
// `CycleAccount` add up to exactly that cause's time.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "pmemsim/analysis/call_stack.hpp"
#include "pmemsim/analysis/contexts.hpp"
#include "pmemsim/common/clock.hpp"
#include "pmemsim/machine/cpu/cycle_account.hpp"
#include "pmemsim/machine/memory/request_stages.hpp"
#include "pmemsim/trace/reader.hpp"

namespace pmemsim {

// The parts into which stalls of some causes are divided.
enum class StallPart : std::uint8_t {
  kNone,
  kQueue,    // a free entry of a write pending queue
  kBackend,  // operations of the backend
  kLog,      // a log: the program's own, or the atomicity layer's
  kBank,     // a bank that serves other requests
};

class TimeProfile {
 public:
  explicit TimeProfile(const trace::SiteTable& sites);
  TimeProfile(const TimeProfile&) = delete;
  TimeProfile& operator=(const TimeProfile&) = delete;

  // A part of a row's time beyond `Row::plain`. In a stall for a lock, `cause` is what the lock's
  // holder waited for at this row.
  struct Part {
    Cause account, cause;
    StallPart stage;
    Slot slots;
  };
  struct Row {
    trace::Contexts::Call at;
    bool log;             // the code serves a software log
    bool stores = false;  // it stores to persistent memory, other than by non-temporal stores
    CycleAccount plain{};
    std::vector<Part> parts{};
  };

  const std::vector<Row>& rows() const { return rows_; }
  Row& row(std::uint32_t number) { return rows_[number]; }
  // Returns the row of a line with its call path. `log`: the code serves a software log.
  std::uint32_t row_of(const trace::Contexts::Call& at, bool log);
  void add(std::uint32_t row, const Part& part);

  trace::Contexts& contexts() { return contexts_; }
  const trace::Contexts& contexts() const { return contexts_; }
  const trace::SiteTable& sites() const { return sites_; }
  const trace::CallMarks& marks() const { return marks_; }
  RequestStages& pm() { return pm_; }
  RequestStages& dram() { return dram_; }

 private:
  const trace::SiteTable& sites_;
  const trace::CallMarks marks_;
  trace::Contexts contexts_;
  std::vector<Row> rows_;
  std::unordered_map<std::uint64_t, std::uint32_t> numbers_;  // by call path, line and `log`
  RequestStages pm_, dram_;
};

}  // namespace pmemsim
