// Wear levelling (Janus, Table 1: "spreads out writes requests to even out memory cell wear-out"):
// Start-Gap, region by region (start_gap.hpp).
//
//   W1  Computes the line's location. W1 starts only after deduplication has chosen one.
//
//   1  A region has a number of adjacent lines, and one spare location that isn't adjacent. Start
//      and gap are persistent registers. [Open: the paper also scatters addresses by a fixed
//      permutation, so that frequently written lines aren't neighbours. Here addresses aren't
//      scattered.]
//   2  After a number of writes to a region its gap moves: the line before it is read and written
//      to the gap. When that copy is persistent, the registers change. If a crash precedes that
//      change, the line is at its former location; otherwise it is in the gap. Both locations have
//      the same contents.
//   3  A write of the line that is in a queue could be dropped, and a copy would then have contents
//      that never existed. The move therefore waits until all sent writes of the line are written.
//      A write that is sent during a move goes to the line's old location. The copy is then
//      invalid, and is made again.
//   4  Lines are moved in encoded form, together with their check bits. Lines of metadata aren't
//      moved.
//   5  A read of a line waits until the line's location is known.
#pragma once

#include <unordered_map>
#include <vector>

#include "pmemsim/common/line_table.hpp"
#include "pmemsim/common/relations.hpp"
#include "pmemsim/designs/backend/operation.hpp"
#include "pmemsim/designs/backend/start_gap_regions.hpp"

namespace pmemsim {

struct WearLevelingFaults {
  bool copy = false;
  bool order = false;
  bool void_copy = false;
  bool wait = false;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("copy", copy, "the gap moves without its line being copied");
    visit("order", order, "the registers change before the copy is persistent");
    visit("void_copy", void_copy, "a write during a move doesn't invalidate the copy");
    visit("wait", wait, "a line moves although one of its writes waits in its queue");
  }
};

struct WearLevelingParameters {
  Picoseconds latency{1'000};
  std::uint32_t region_lines = 16384;
  std::uint32_t writes_per_move = 100;
  WearLevelingFaults faults;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("latency", latency, {.most = 1e9}, "Time to compute the location of a line");
    visit("region_lines", region_lines, {.least = 2, .most = 1u << 26},
          "Lines of a region, which share a gap; 16384 lines are 1 MiB");
    visit("writes_per_move", writes_per_move, {.least = 1, .most = 1e6},
          "Number of writes to a region after which its gap moves");
  }
};

struct WearLevelingStatistics {
  std::uint64_t begun = 0;
  std::uint64_t copies = 0;
  std::uint64_t moves = 0;
  std::uint64_t voided = 0;
  std::uint64_t most_writes = 0;

  template <class Visitor>
  void describe(Visitor& visit) const {
    visit.quantity("begun", begun);
    visit.quantity("copies", copies, origin_of("pm.metadata_writes"),
                   part_of("received.metadata_reads"));
    visit("moves", moves, "moves", "Gap moves, each of which reads and writes a line",
          share_of("begun"));
    visit("voided", voided, "moves", "Moves restarted because their line was written meanwhile",
          share_of("begun"));
    visit("most_writes", most_writes, "writes", "Writes to the most frequently written location",
          part_of("pm.writes"));
  }
};

class WearLeveling final : public BackendOperation {
 public:
  explicit WearLeveling(const WearLevelingParameters& parameters)
      : parameters_(parameters), lines_(parameters.region_lines) {}
  void connect(EventQueue& queue, const Memory& pm, MetadataPort& backend) override;

  std::vector<SubOperation> sub_operations() const override;
  bool locate(Line, Completion done) override;
  void encode(const Write&, const Prepared&, Encoded& encoded) const override;
  void sent(const Write&, const Encoded& encoded) override;
  void accepted(const Write&, const Encoded& encoded) override;
  void dropped(const Write&, const Encoded& encoded, bool) override { no_longer_sent(encoded); }
  void written(const Write&, const Encoded& encoded) override { no_longer_sent(encoded); }
  Line place(Line line) const override { return lines_.place(line); }
  std::unique_ptr<ImageDecoder> decoder() const override;
  void add_registers(SurvivingRegisters& registers) const override;
  void statistics(StatisticsCollector& collector) const override {
    collector.group("wear_leveling", statistics_);
  }
  std::string pending() const override;

 private:
  struct Region {
    std::uint32_t writes = 0;  // writes since the last move
    bool moving = false;
    bool voided = false;
  };

  Line gap(std::uint64_t region);
  Line before_gap(std::uint64_t region);
  void count_write(Line place);
  void no_longer_sent(const Encoded& encoded);
  void move_if_due(std::uint64_t number);
  void begin_move(std::uint64_t number, Time now);
  void copy(std::uint64_t number, Time now);
  void copied(std::uint64_t number, Time now);

  const WearLevelingParameters parameters_;
  EventQueue* queue_ = nullptr;
  const Memory* pm_ = nullptr;
  MetadataPort* backend_ = nullptr;
  StartGapRegions lines_;
  std::unordered_map<std::uint64_t, Region> regions_;
  LineTable<std::uint32_t> sent_;    // writes to each place that haven't been written
  LineTable<std::uint64_t> writes_;  // writes to each place
  std::vector<Line> moved_;          // places that have got their line by a move, in order
  std::uint64_t moving_ = 0;         // number of moving regions
  WearLevelingStatistics statistics_;
};

}  // namespace pmemsim
