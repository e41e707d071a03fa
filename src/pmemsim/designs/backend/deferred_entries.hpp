// Selective metadata atomicity (Janus, 4.3.2, after Liu et al., HPCA 2018): the entries of most
// lines stay in the cache when their data are accepted, and are written before what makes these
// data count.
//
//   1  An entry goes together with its data if a crash couldn't do without: that of a log record,
//      since a log that can't be read undoes nothing, of a commit, and of what a program stores
//      outside regions, where nothing but the store itself makes it count. [Open: "writes that can
//      immediately affect the crash consistency status" (4.3.2). Programs have no call for it.]
//      The same goes for a line that comes to the controller late, with what a region has written
//      that has committed meanwhile.
//   2  The others, which are those of lines that only regions have written so far, may come later.
//      A crash in between leaves new data with an old entry: the line can't be read. Recovery gives
//      it its old contents back, as a whole.
//   3  A commit waits until they have been written: all of them, since nobody knows whose they are.
//      An atomicity that commits in a register asks for that (Backend::publish()).
//   4  Entries are written as they are when there is room for them.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "pmemsim/common/event_queue.hpp"
#include "pmemsim/common/line_table.hpp"
#include "pmemsim/common/relations.hpp"
#include "pmemsim/designs/backend/metadata_cache.hpp"
#include "pmemsim/designs/backend/metadata_port.hpp"

namespace pmemsim {

// When the entry of a line has to be persistent, if not all are with their data
// (designs/backend/line_entries.hpp).
enum class EntryNeed : std::uint8_t {
  kLater,     // a region wrote the line, and recovery would undo that: when it commits
  kTogether,  // in one step with the data
  kCommit,    // the same, and those of all lines written before it sooner
};

struct DeferredEntriesStatistics {
  std::uint64_t deferred = 0, written_back = 0, commits_held = 0;

  template <class Visitor>
  void describe(Visitor& visit) const {
    visit("deferred", deferred, "writes", "Writes accepted without their line's entry",
          part_of("backend.writes"));
    visit("written_back", written_back, "lines", "Lines of entries written later",
          part_of("metadata.entries_written"));
    visit("commits_held", commits_held, "commits", "Commits that waited for them");
  }
};

class DeferredEntries {
 public:
  // `cache`: says which lines of entries differ from PM.
  explicit DeferredEntries(MetadataCache& cache) : cache_(cache) {}
  // `persistent` is called, with the number of the line, in the step in which a line of entries
  // that is written back becomes persistent.
  void connect(EventQueue& queue, MetadataPort& backend, Completion persistent);

  void stored(Line line, EntryNeed need);
  EntryNeed need(Line line) const;

  // A write has been accepted without its entry, which is in that line.
  void deferred(Line entries);
  // Writes a line of entries that the cache has evicted.
  void write_back(Line entries);
  // One that has been asked for has become persistent.
  void written_back(Time now);
  // Writes them all. True if they were; otherwise `done` is called once when they are.
  bool publish(Completion done);
  bool published() const { return changed_.empty() && written_ == started_; }
  void forget(const Completion& done);

  const DeferredEntriesStatistics& statistics() const { return statistics_; }
  std::string pending() const;

 private:
  struct Waiting {
    std::uint64_t until;  // so many have been written
    Completion done;
  };

  MetadataCache& cache_;
  EventQueue* queue_ = nullptr;
  MetadataPort* backend_ = nullptr;
  Completion persistent_{};
  LineTable<EntryNeed> needs_;  // of lines that programs have stored to
  std::vector<Line> changed_;   // lines of entries, some of which have been written since
  std::uint64_t started_ = 0, written_ = 0;
  std::deque<Waiting> waiting_;
  DeferredEntriesStatistics statistics_;
};

}  // namespace pmemsim
