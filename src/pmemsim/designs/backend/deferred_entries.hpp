// Selective metadata atomicity (Janus, 4.3.2, after Liu et al., HPCA 2018). The entries of most
// lines stay in the cache when their data are accepted. They are written before the commit that
// makes these data count.
//
//   1  An entry is written together with its data if recovery needs it after a crash. These are the
//      entries
//        - of log records, since an unreadable log undoes nothing,
//        - of commits,
//        - of lines that a program stores to outside regions, because no later commit covers them,
//        - of lines with data of a committed region that arrive late at the controller,
//        - of lines that a rollback has restored, because it ends the region's log.
//      [Open: "writes that can immediately affect the crash consistency status" (4.3.2). Programs
//      have no call for it.]
//   2  The entries of lines that only regions have written so far may be written later. A crash
//      before that leaves new data with an old entry, so that the line can't be read. Recovery
//      restores the line's old contents, as a whole.
//   3  A commit waits until all deferred entries have been written, because the controller doesn't
//      know to which region an entry belongs. An atomicity layer that commits in a register
//      requests this with BackendParts::publish().
//   4  Entries are written with their contents at the time when there is room for them.
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

// The time at which the entry of a line has to be persistent, where not every entry is persistent
// with its data (designs/backend/line_entries.hpp).
enum class EntryNeed : std::uint8_t {
  kLater,     // at the region's commit: only regions wrote the line, and recovery would undo that
  kTogether,  // persistent in one step with the data
  kCommit,    // persistent in one step with the data, after the entries of all lines written before
};

struct DeferredEntriesStatistics {
  std::uint64_t deferred = 0, written_back = 0, commits_held = 0;

  template <class Visitor>
  void describe(Visitor& visit) const {
    visit("deferred", deferred, "writes", "Writes accepted before their line's entry was written",
          part_of("backend.writes"));
    visit("written_back", written_back, "lines", "Lines of entries written later",
          part_of("metadata.entries_written"));
    visit("commits_held", commits_held, "commits", "Commits that stalled for deferred entries");
  }
};

class DeferredEntries {
 public:
  // `cache`: marks the lines of entries that differ from PM.
  explicit DeferredEntries(MetadataCache& cache) : cache_(cache) {}
  // `persistent` is called, with the number of the line, in the step in which a written-back line
  // of entries becomes persistent.
  void connect(EventQueue& queue, MetadataPort& backend, Completion persistent);

  void stored(Line line, EntryNeed need);
  EntryNeed need(Line line) const;

  // Notes that a write has been accepted without its entry, which belongs to the line `entries`.
  void deferred(Line entries);
  // Writes a line of entries back, which the cache has evicted or a commit needs.
  void write_back(Line entries);
  // Notes that a line of entries that was written back has become persistent.
  void written_back(Time now);
  // Writes all deferred entries. Returns true if none is left to write. Otherwise `done` is called
  // once, when all are persistent.
  bool publish(Completion done);
  bool published() const { return changed_.empty() && written_ == started_; }
  void forget(const Completion& done);

  const DeferredEntriesStatistics& statistics() const { return statistics_; }
  std::string pending() const;

 private:
  struct Waiting {
    std::uint64_t until;  // number of completed write-backs to wait for
    Completion done;
  };

  MetadataCache& cache_;
  EventQueue* queue_ = nullptr;
  MetadataPort* backend_ = nullptr;
  Completion persistent_{};
  LineTable<EntryNeed> needs_;  // need of each line that programs have stored to
  std::vector<Line> changed_;   // lines of entries of deferred writes since the last publish()
  std::uint64_t started_ = 0, written_ = 0;
  std::deque<Waiting> waiting_;
  DeferredEntriesStatistics statistics_;
};

}  // namespace pmemsim
