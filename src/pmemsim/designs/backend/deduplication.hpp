// Deduplication (Janus, 3.1, after DeWrite: Zuo, Hua, Zhao, Zhou, Guo, MICRO 2018): data that PM
// already has aren't written again. The line's entry refers to their location instead.
//
//   D1  Computes the fingerprint of the data: MD5, or CRC-32.
//   D2  Looks the fingerprint up among the fingerprints of all data in PM. Different data may have
//       the same CRC-32, so each line that is found by CRC-32 is read and compared. [Open: the
//       order of several such reads; here they are parallel. Locations with the same data count as
//       one.]
//   D3  Changes the address mapping: the line's entry is looked up (line_entries.hpp).
//   D4  Encrypts the entry. [Open: its time; here that of AES] The entry is stored beside the
//       counter, so D4 starts only after E1.
//
//   1  The reference count of a location is the number of lines whose data it has. If other lines
//      refer to a line's current location, a write to the line goes to a free location. Otherwise
//      it goes to the current location.
//   2  When a line has moved and no line refers to its former location, that location becomes free
//      as soon as the line's new data are written to the device. Until then, the new data could be
//      dropped, and the line would return to its former location.
//   3  Data can be found by their fingerprint once they are written to the device, because a write
//      in a queue could be dropped. They can no longer be found when other data are written to
//      their location, or when it becomes free.
//   4  Fingerprints, references and free locations can be rebuilt from the entries and the data
//      (4.3.2). At every crash, the tables equal what recovery would rebuild from the image, with
//      these exceptions:
//        - references of entries that a dropped write has left behind,
//        - references of lines that could still return to their former location (rule 2),
//        - locations of writes that have been sent and wait for room in their queue.
//      If data that are in PM aren't found, the only cost is a write. The table of fingerprints is
//      in PM and cached; its entries have 16 bytes.
//
// A parameter can make duplicates random (Janus's experiments: "a deduplication ratio of 0.5"). A
// number that depends only on the data and the seed then decides whether a write is a duplicate.
// This affects only time and traffic: the data are stored unchanged, and no line is mapped.
#pragma once

#include <map>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "pmemsim/common/event_queue.hpp"
#include "pmemsim/common/relations.hpp"
#include "pmemsim/designs/backend/line_entries.hpp"
#include "pmemsim/designs/backend/placement_tables.hpp"

namespace pmemsim {

enum class Fingerprint : std::uint8_t { kMd5, kCrc32 };
enum class Duplicates : std::uint8_t { kData, kDrawn };

inline std::span<const std::string_view> choice_names(Fingerprint) {
  static constexpr std::string_view kNames[] = {"md5", "crc32"};
  return kNames;
}
inline std::span<const std::string_view> choice_names(Duplicates) {
  static constexpr std::string_view kNames[] = {"data", "drawn"};
  return kNames;
}

// Injected faults: each disables one protective mechanism.
struct DeduplicationFaults {
  bool references = false;
  bool fingerprint = false;
  bool mapping = false;
  bool pending = false;
  bool leak = false;
  bool count = false;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("references", references, "a location is free while one line still refers to it");
    visit("fingerprint", fingerprint,
          "fingerprints match data whose location has been overwritten");
    visit("mapping", mapping, "the entry of a duplicate keeps the location of the old data");
    visit("pending", pending, "fingerprints match data that may still be dropped from their queue");
    visit("leak", leak, "a location to which no line refers is never freed");
    visit("count", count, "the third reference to a location isn't counted");
  }
};

struct DeduplicationParameters {
  Fingerprint fingerprint = Fingerprint::kMd5;
  Picoseconds md5_latency{321'000};
  Picoseconds crc32_latency{91'000};
  Picoseconds entry_latency{40'000};
  Duplicates duplicates = Duplicates::kData;
  std::uint32_t drawn_percent = 50;
  std::uint32_t seed = 1;
  MetadataCacheParameters cache;
  DeduplicationFaults faults;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("fingerprint", fingerprint, {}, "Fingerprint of a line's data");
    visit("md5_latency", md5_latency, {.most = 1e9}, "Time of the MD5 of a line");
    visit("crc32_latency", crc32_latency, {.most = 1e9}, "Time of the CRC-32 of a line");
    visit("entry_latency", entry_latency, {.most = 1e9}, "Time to encrypt a line's entry");
    visit("duplicates", duplicates, {},
          "How duplicates are found: by comparing data with PM, or by random draw, which models "
          "only time and traffic");
    visit("drawn_percent", drawn_percent, {.least = 0, .most = 100},
          "Share of duplicates in percent, with duplicates=drawn");
    visit("seed", seed, {.least = 0, .most = 4e9}, "Seed of the random draw");
    visit.group("cache", cache);
  }
};

struct DeduplicationStatistics {
  std::uint64_t duplicates = 0;
  std::uint64_t moved = 0;
  std::uint64_t compared = 0;

  template <class Visitor>
  void describe(Visitor& visit) const {
    visit("duplicates", duplicates, "writes", "Writes whose data were already in PM",
          share_of("received.duplicates"));
    visit("moved", moved, "writes",
          "Writes sent to a free location because other lines refer to their own",
          part_of("backend.writes"));
    visit("compared", compared, "lines", "Lines read from PM for comparison with written data");
  }
};

class Deduplication final : public BackendOperation, private PlacementTables {
 public:
  Deduplication(const DeduplicationParameters& parameters, std::uint32_t cores);
  void connect(EventQueue&, const Memory& pm, MetadataPort& backend) override;
  Traits traits() const override { return {.needs_entries = true}; }
  void share(LineEntries& entries) override;

  std::vector<SubOperation> sub_operations() const override;
  std::optional<Line> look_up(std::uint32_t number, const Prediction& subject) override;
  std::optional<Line> duplicate(const Prediction& subject) override;
  bool locate(Line line, Completion done) override;

  void encode(const Write& write, const Prepared&, Encoded& encoded) const override;
  void sent(const Write&, const Encoded& encoded) override;
  void accepted(const Write& write, const Encoded& encoded) override;
  void dropped(const Write& write, const Encoded& encoded, bool accepted) override;
  void written(const Write& write, const Encoded& encoded) override;
  Line place(Line line) const override;
  LineData decode(Line line, const LineData& data) const override;
  std::unique_ptr<ImageDecoder> decoder() const override;
  void add_registers(SurvivingRegisters& registers) const override {
    registers.add_operation("deduplication");
  }
  void statistics(StatisticsCollector& collector) const override;

 private:
  // The contents of a location.
  struct Contents {
    std::uint32_t references = 1;
    std::optional<std::uint64_t> fingerprint{};  // fingerprint by which the data are found
    std::uint64_t counter = 0;
    std::optional<std::size_t> freed_as{};  // index among the free places
    LineData data{};
  };
  // The spare locations within the reach of a mapping: the free ones, and the number of used ones.
  struct Space {
    std::vector<Line> free;
    std::uint64_t taken = 0;
  };

  // A write that moves its line, and the line's former location. `moved_since`: true if the line
  // has moved again since then, as a duplicate.
  struct Move {
    Line line, before;
    bool moved_since = false;
  };
  // A line whose latest write was dropped: its location by its entry in PM, and its actual
  // location.
  struct Stale {
    Line by_entry, is;
  };

  std::vector<Line> changed_places() override;
  bool is_stale(Line line) const override { return stale_.contains(line.number); }
  std::string problem(Line place, const SealedImage& image) const override;
  bool has_current_reference(Line place, const SealedImage& image) const;
  std::string fingerprint_problem(Line place, const SealedImage& image) const;
  std::uint64_t rebuilt_references(Line place, const SealedImage& image) const;
  void note_change(Line place);
  void add_pending_references(Line place, std::int64_t more);
  void clear_stale(Line line);

  std::optional<Line> read_table(Line line, bool changes);
  std::optional<Line> compare(const LineData& data);
  bool drawn(const LineData& data) const;
  std::uint64_t fingerprint_of(const LineData& data) const;
  std::optional<Line> find(Line line, const LineData& data) const;
  Contents& contents_at(Line place);
  std::uint32_t references(Line place) const;
  bool is_taken(Line place) const;
  bool is_free(Line place) const;
  Line place_for(Line line) const;
  void set_place(Line line, Line place);
  void take(Line place);
  void drop_reference(Line place);
  void make_free(Line place);
  void release_reserved(Line place);
  void release_former_place(const Move& move);
  void remove_fingerprint(Contents& contents, Line place);
  void add_fingerprint(const Write& write, Line place);
  void keep_drawn(const Write& write, const Encoded& encoded);

  const DeduplicationParameters parameters_;
  const LineHash md5_;
  MetadataCache cache_;
  MetadataPort* backend_ = nullptr;
  LineEntries* entries_ = nullptr;
  std::unordered_map<std::uint64_t, Contents> contents_;  // contents of each place
  std::unordered_map<std::uint64_t, Line> places_;  // place of each line that isn't at its own
  std::unordered_multimap<std::uint64_t, Line> by_fingerprint_;  // places by fingerprint
  std::unordered_map<std::uint64_t, Space> spaces_;              // keyed by window_of()
  std::unordered_map<std::uint64_t, LineData> kept_;  // data of drawn duplicates, keyed by line
  // Moves, keyed by the counter of a write that isn't written yet.
  std::map<std::uint64_t, Move> before_;
  std::unordered_set<std::uint64_t> reserved_;  // places of writes that aren't accepted yet
  // State of rule 4's exceptions.
  std::unordered_map<std::uint64_t, Stale> stale_;  // keyed by line
  // References of each place beyond those of the entries.
  std::unordered_map<std::uint64_t, std::int64_t> pending_references_;
  // Changed places, once changed_places() has been called.
  std::optional<std::unordered_set<std::uint64_t>> changed_;
  DeduplicationStatistics statistics_;
};

}  // namespace pmemsim
