// Hardware undo log with synchronous commit, after Proteus (Shin et al., MICRO 2017) and the
// baseline "HWUndo" that ASAP models (section 6.3).
//
//   1  The first store of a region to a line sends the line's old contents to the log, past the
//      caches. The store goes on meanwhile.
//   2  Log before data: until its log entry is acknowledged, a line may not leave the caches.
//      Flushes of it wait, evictions of it are put off.
//   3  The program flushes its data at the region's end and fences; the flushes overlap.
//   4  A region commits when its log entries, and what was put off, are persistent. The core's
//      register of the last committed region changes, and log writes that are still in the write
//      pending queue are dropped (log write removal).
//   5  The headers of a region's records stand in a persistent buffer at the controllers; a header
//      whose record is full is written to PM.
//
// What Proteus does otherwise: its log operations are instructions that run ahead of the store, and
// the store waits for them in the store queue (rule 2 makes the line wait instead, as ATOM's posted
// log does); it logs 32 bytes with their address in one line, where ASAP's baseline has metadata
// apart, as here.
//
// What survives a crash: the registers of the committed regions, the headers in the buffer, PM and
// the write pending queues. Recovery (recovery/undo_log.hpp) undoes what the records of regions
// after the committed one hold.
#pragma once

#include <unordered_map>
#include <vector>

#include "pmemsim/atomicity/atomicity.hpp"
#include "pmemsim/atomicity/hardware_log_parameters.hpp"
#include "pmemsim/atomicity/line_table.hpp"
#include "pmemsim/atomicity/persist_port.hpp"
#include "pmemsim/atomicity/sequential_log.hpp"

namespace pmemsim {

struct HwUndoStatistics {
  std::uint64_t entries = 0, headers = 0, dropped = 0, growths = 0;
  std::uint64_t delayed_flushes = 0, delayed_evictions = 0;
  Picoseconds commit_time{};

  template <class Visitor>
  void describe(Visitor& visit) const {
    visit("entries", entries, "lines", "Log entries written");
    visit("headers", headers, "lines", "Headers of full records written to PM");
    visit("dropped", dropped, "lines", "Log writes removed from the write pending queues");
    visit("growths", growths, "times", "Log rings that had to grow");
    visit("delayed_flushes", delayed_flushes, "flushes", "Flushes that waited for a log entry");
    visit("delayed_evictions", delayed_evictions, "lines",
          "Evictions put off until a log entry was persistent");
    visit("commit_time_ns", commit_time, "Waiting at the ends of regions, in sum");
  }
};

class HwUndo final : public Atomicity {
 public:
  HwUndo(std::uint32_t cores, const HardwareLogParameters& parameters);
  void connect(const LayerContext& context) override;

  Lowering lowering() const override;
  std::uint32_t interests() const override { return kStores | kRegions | kEvictions | kFlushes; }
  bool commits_synchronously() const override { return true; }

  bool region_begin(CoreId core, std::uint64_t region, Picoseconds when, Completion) override;
  bool region_end(CoreId core, std::uint64_t region, Picoseconds when, Completion resume) override;
  bool store(const Store& store, Picoseconds when, Completion) override;
  bool flush(CoreId core, Line line, Picoseconds when, Completion resume) override;
  Eviction evicted(Line line, const LineData& data, Picoseconds when) override;

  void statistics(StatisticsCollector& collector) const override;
  std::string pending() const override;

  // What is left of a core after a crash, beside PM and the write pending queues.
  struct Survivor {
    std::uint64_t committed;  // the last region that has
    Line log;                 // address and size of the ring
    std::uint64_t log_lines;
    std::vector<BufferedHeader> headers;
  };
  std::vector<Survivor> survivors() const;

 private:
  struct Record {
    Line place;
    LogHeader header;
    std::uint32_t entries = 0;  // sent
    bool in_buffer = true;      // the header, until PM has it
  };
  struct PerCore {
    explicit PerCore(const SequentialLog& log_space) : log(log_space) {}
    std::uint64_t region = 0;     // in progress; 0: none
    std::uint64_t committed = 0;  // register: the last region that has committed
    std::vector<Record> records;  // of the region; their headers are in the persistent buffer
    LineTable<bool> logged;       // the lines that the region has an entry of
    SequentialLog log;
    std::uint32_t outstanding = 0;  // log entries, headers and evictions without acknowledgement
    Picoseconds waiting_since{};
    Completion waiting;  // the region's end
  };
  // A line whose log entry is on its way: two entries if regions of two cores write it at once,
  // against the rules.
  struct Locked {
    std::uint32_t entries = 0;
    bool evicted = false;
    std::vector<Completion> flushes;
  };

  static std::uint64_t packed(CoreId core, std::size_t record, std::uint32_t entry);
  Record& record_of(std::uint64_t packed);
  void log(PerCore& core, const Store& store);
  void entry_persisted(std::uint64_t packed, Picoseconds now);
  void header_persisted(std::uint64_t packed, Picoseconds now);
  void entry_acknowledged(std::uint64_t packed, Picoseconds now);
  void unlock(CoreId core, Line line, Picoseconds now);
  void acknowledged(std::uint64_t core, Picoseconds now);
  void commit(PerCore& core);
  void drop(Line line, WriteKind kind);

  std::optional<LayerContext> context_;
  PersistPort port_;
  std::vector<PerCore> cores_;
  std::unordered_map<std::uint64_t, Locked> locked_;
  HwUndoStatistics statistics_;
};

}  // namespace pmemsim
