// Oblivious RAM (Janus, Table 1: "hides the memory access pattern by changing the location of data
// after every access", about 1000 ns). It has the time and traffic of Path ORAM (Stefanov, van
// Dijk, Shi, Fletcher, Ren, Yu, Devadas: CCS 2013). Lines keep their location and contents: data
// and crash images are the same as without ORAM.
//
//   O1  Accesses the tree of buckets: the path from the root to the leaf that the line is mapped to
//       is read, and written back.
//
//   1  Every write, and every read, reads all lines of a path of `levels` buckets below the root.
//      It writes these lines back at the end of its time. A leaf is drawn at random for each
//      access, since the mapping changes after each. [Open: the time is Table 1's, even if the
//      reads of the path's lines take longer. These reads occupy the banks and the bus.]
//   2  Position map and stash are on the chip. [Open: the map of a large memory would itself be in
//      ORAMs.]
//   3  The pad (E2) doesn't wait for the access. [Open: Path ORAM encrypts a bucket with a
//      counter of the bucket. Here, the counter belongs to the line, wherever it is.]
#pragma once

#include "pmemsim/common/relations.hpp"
#include "pmemsim/common/slab.hpp"
#include "pmemsim/designs/backend/operation.hpp"

namespace pmemsim {

struct OramParameters {
  Picoseconds latency{1'000'000};
  std::uint32_t levels = 12;
  std::uint32_t bucket_lines = 4;
  std::uint32_t seed = 1;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("latency", latency, {.most = 1e9}, "Time of an access");
    visit("levels", levels, {.least = 0, .most = 20},
          "Levels of the tree below its root; 12 levels with buckets of 4 lines hold 2 MiB");
    visit("bucket_lines", bucket_lines, {.least = 1, .most = 16},
          "Lines of a bucket; Stefanov et al. use 4 in their measurements");
    visit("seed", seed, {.least = 0, .most = 4e9}, "Seed for the random choice of leaves");
  }
};

struct OramStatistics {
  std::uint64_t accesses = 0;
  std::uint64_t path_lines = 0;
  std::uint64_t lines_a_path = 0;

  template <class Visitor>
  void describe(Visitor& visit) const {
    visit("accesses", accesses, "accesses", "Paths read and written back",
          share_of("path_lines").each(lines_a_path));
    visit("path_lines", path_lines, "lines", "Lines of these paths: equally many reads and writes",
          part_of("received.metadata_reads"), origin_of("pm.metadata_writes"));
  }
};

class Oram final : public BackendOperation {
 public:
  explicit Oram(const OramParameters& parameters) : parameters_(parameters) {
    statistics_.lines_a_path = path_lines();
  }
  void connect(EventQueue& queue, const Memory&, MetadataPort& backend) override;

  std::vector<SubOperation> sub_operations() const override;
  std::optional<Line> look_up(std::uint32_t number, const Prediction&) override;
  bool read(Line, Completion done) override;
  void statistics(StatisticsCollector& collector) const override {
    collector.group("oram", statistics_);
  }

 private:
  struct Access {
    std::uint64_t leaf;
    Completion done;  // completion of a read; empty for a write
  };

  void access(Completion done);
  void write_back(std::uint64_t slot, Time now);
  Line path_line(std::uint64_t leaf, std::uint32_t number) const;
  std::uint32_t path_lines() const { return (parameters_.levels + 1) * parameters_.bucket_lines; }

  const OramParameters parameters_;
  EventQueue* queue_ = nullptr;
  MetadataPort* backend_ = nullptr;
  Slab<Access> accesses_;
  OramStatistics statistics_;
};

}  // namespace pmemsim
