// The accesses of a recorded program to persistent memory, independent of the machine that runs it.
// This is the only information that the oracle has about the program.
//
// A *unit* is a set of stores that a crash leaves whole or not at all: an atomic region, or a
// single word of a store outside regions (devices write 8 B atomically). Words of PM have versions,
// one for each unit that wrote them, in the order of their writers.
//
// A region follows the units below, and a crash image that contains the region must also contain
// them:
//   - the region before it on its thread;
//   - the last unit before it that wrote a word that it reads or writes, if that is a region.
//
// A store outside regions follows the store before it to the same word. Where a line persists whole
// (x86), it also follows the store before it to the same line. This does not hold on a machine
// where a crash can tear a line. Where stores persist as they become visible (eADR), it follows its
// thread's previous store, to whatever line.
//
// Some designs guarantee that reads are in order (Promises::reads_in_order). On these designs, a
// thread's later operations follow the units of other threads that it has read from, as if a fence
// followed those units. (A fence of this thread does not make those units durable. Only fences of
// their own threads do.)
//
// Operations after a fence, inside regions or outside, follow stores that its thread executed
// outside regions before the fence. The design's guarantee says whether these are all such stores
// or only the flushed ones. A design whose fences guarantee nothing has no fence units. A fence
// unit writes nothing. It is in the image as soon as an operation after it is, or as soon as the
// fence has completed and thus guarantees durability.
//
// An analysis without points in time (checks/images/guaranteed_order.hpp) also needs the order of
// durability guarantees (Guarantees::after_guarantees). Operations that a thread executes after a
// guarantee follow the data that the guarantee covers. They also follow the data of another
// thread's earlier guarantees, if this thread acquires a lock or reads an atomic variable after the
// other thread, or races with it. Each guarantee is a unit that writes nothing.
//
// Only the program's own accesses count. Accesses of a software log implement the design's
// guarantee and are not part of it. Locks do not count either, since no design guarantees anything
// about them. Threads that communicate through locks and volatile data alone are independent.
//
// The oracle ignores the contents of free memory. A freed word may hold any value in an image that
// contains the freeing region but not the region that allocates the memory again. On some designs a
// crash may leave lines of unfinished regions unreadable. On these designs, the other words of the
// lines that the allocating region stores to may hold any value, too. The region's commit restores
// their earlier values.
//
// The order of threads is that of the recording: acquisitions follow their releases
// (happens_before.hpp), and racing accesses follow those that were recorded before them
// (analysis/races.hpp). If a recording does not say when its threads ran, racing accesses have no
// defined order. Stores to different words of a line follow each other only if an acquisition or a
// race orders them. A flush does not cover stores that another thread may have executed after it.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "pmemsim/common/image.hpp"
#include "pmemsim/common/line_table.hpp"
#include "pmemsim/designs/interface/lowered_stream.hpp"
#include "pmemsim/designs/interface/promises.hpp"
#include "pmemsim/trace/left_out.hpp"
#include "pmemsim/trace/reader.hpp"

namespace pmemsim {

// The versions of locks and atomic variables whose order after other operations is remembered.
enum class Versions : std::uint8_t { kLatest, kAll };

// A thread has acquired a version that is no longer remembered. The history must be read again,
// with all versions.
struct ForgottenVersion {};

class ProgramHistory {
 public:
  using UnitId = std::uint32_t;
  using WordId = std::uint32_t;
  static constexpr std::uint32_t kNone = UINT32_MAX;
  static constexpr std::uint32_t kLineWords = kLineBytes / sizeof(std::uint64_t);

  struct Write {
    WordId word;
    std::uint32_t version;  // Version of the word; 0 is its value before the program
    std::uint32_t site;     // Site of the unit's last store to the word
  };
  struct Version {
    UnitId unit;
    std::uint32_t epoch;  // Epoch of the unit
    std::uint64_t value;
    CoreId thread;      // Thread of the unit
    bool outside;       // True if the unit is a store outside regions
    bool free = false;  // The memory is free then: any value is correct
  };
  struct Word {
    std::uint64_t address;
    std::vector<Version> versions;  // The word's first version of all has no unit
    std::uint32_t first = 0;        // Number of the oldest version in `versions`

    const Version& version(std::uint32_t number) const { return versions[number - first]; }
    std::uint32_t newest() const { return first + static_cast<std::uint32_t>(versions.size()) - 1; }
  };
  // Event that guarantees durability, if a unit represents one.
  enum class GuaranteedBy : std::uint8_t {
    kNothing,
    kStore,         // A store is visible, and caches persist
    kFence,         // A fence has completed
    kRegionEnd,     // A region's end has completed
    kRegionsFence,  // pm_fence_regions() has completed
    kOthers,        // Guarantees of other threads that this thread's operations follow
  };
  struct Unit {
    CoreId thread = 0;
    std::uint32_t epoch = 0;   // Epoch of its thread when it began (happens_before.hpp)
    std::uint64_t region = 0;  // Number of the thread's outermost region, from 1; 0: outside
    bool ended = true;         // False: a region that the recording ends in
    bool finished = false;     // False: the reader is still inside the region
    // Site of the fence, or of the operation that gives the guarantee; kNone for other units.
    std::uint32_t fence = kNone;
    GuaranteedBy guaranteed_by = GuaranteedBy::kNothing;
    std::uint32_t first_write = 0, writes = 0;     // In the unit's chunk
    std::uint32_t first_follows = 0, follows = 0;  // In the unit's chunk
  };
  // Units are stored in chunks of consecutive numbers. A chunk is released as a whole.
  static constexpr std::uint32_t kChunkUnits = 256;
  // The words of a line, with kNone for words that the program does not write.
  using LineWords = std::array<WordId, kLineWords>;

  // Guarantees that the history requires of the machine.
  struct Guarantees {
    Promises promises;  // Without whole regions, all stores count as outside regions
    bool lines_whole;   // A crash leaves a line with the contents of one point in time
    // False if a crash may leave a line unreadable that an unfinished region has written.
    bool lines_readable = true;
    bool after_guarantees = false;  // later operations follow the data of a guarantee
    trace::LeftOut without = {};
  };
  // Reads the recording. `lowering` says which flushes and fences the design's program has. Throws
  // trace::TraceError.
  ProgramHistory(const trace::TraceFile& trace, const Lowering& lowering,
                 const Guarantees& guarantees);
  ProgramHistory(const ProgramHistory&) = delete;
  ProgramHistory& operator=(const ProgramHistory&) = delete;
  ~ProgramHistory();

  // Returns the number of units read so far, including released ones.
  UnitId units() const { return units_; }
  const Unit& unit(UnitId unit) const { return chunk_of(unit).units[unit % kChunkUnits]; }
  // True if the unit's chunk is released. Every image contains such a unit.
  bool released(UnitId unit) const { return chunks_[unit / kChunkUnits] == nullptr; }
  std::span<const Write> writes(UnitId unit) const {
    const Chunk& chunk = chunk_of(unit);
    const Unit& found = chunk.units[unit % kChunkUnits];
    return std::span(chunk.writes).subspan(found.first_write, found.writes);
  }
  std::span<const UnitId> follows(UnitId unit) const {
    const Chunk& chunk = chunk_of(unit);
    const Unit& found = chunk.units[unit % kChunkUnits];
    return std::span(chunk.follows).subspan(found.first_follows, found.follows);
  }
  const Word& word(WordId word) const { return words_[word]; }
  std::size_t words() const { return words_.size(); }
  const LineWords* line(Line line) const { return lines_.find(line); }
  // Returns the unit of a thread's region, counted from 1.
  UnitId region(CoreId thread, std::uint64_t number) const { return regions_[thread].at(number); }
  // Returns the fence unit for the stores outside regions that the thread's fence `number` (from 1)
  // makes durable. It is the thread's latest fence unit at that fence. kNone: the fence makes
  // nothing durable.
  UnitId fence(CoreId thread, std::uint64_t number) const { return fences_[thread].at(number); }

 protected:
  struct Chunk {
    std::vector<Unit> units;
    std::vector<Write> writes;
    std::vector<UnitId> follows;
    std::uint32_t retired = 0;  // Number of units that no check needs any more
  };
  // Units of a thread's regions or fences, by number from 1.
  class Numbered {
   public:
    void add(UnitId unit) { units_.push_back(unit); }
    std::size_t size() const { return dropped_ + units_.size(); }
    // Returns kNone if there is none, and for a dropped number the last dropped unit.
    UnitId at(std::uint64_t number) const;
    // Drops the numbers up to this one, whose units are guaranteed persistent.
    void drop_to(std::uint64_t number);
    std::size_t kept() const { return units_.size(); }

   private:
    std::deque<UnitId> units_;
    std::uint64_t dropped_ = 0;
    UnitId last_dropped_ = kNone;
  };

  // Begins to read: has found the words that the program writes, but read no operation.
  ProgramHistory(Versions versions, const trace::TraceFile& trace, const Lowering& lowering,
                 const Guarantees& guarantees);
  // Each thread executes operations until it has executed `most`, must wait, or has ended. Throws
  // trace::TraceError.
  void read_round(std::uint64_t most);
  // True if the whole recording is read.
  bool read() const { return reader_ == nullptr; }
  // Returns the number of the thread's first operations whose units are all finished.
  std::uint64_t finished_operations(CoreId thread) const;

  bool has_regions_ = false;  // True if the program has regions, in a history that began unread
  std::vector<std::unique_ptr<Chunk>> chunks_;
  std::vector<Word> words_;
  std::vector<Numbered> regions_;  // By thread
  std::vector<Numbered> fences_;   // By thread

 private:
  // Number of versions of a lock or an atomic variable that a history of bounded size remembers.
  // Threads read in rounds, so a thread that needs an older one lags behind by many rounds.
  static constexpr std::uint32_t kLatestVersions = 1024;
  static constexpr std::uint32_t kAllVersions = UINT32_MAX / 2;

  class Thread;
  class Reader;
  friend class Thread;
  // A store outside regions.
  struct Store {
    UnitId unit;
    CoreId thread;
    std::uint32_t epoch;  // Epoch of the thread
  };
  struct GuaranteeUnit {
    std::uint32_t epoch;  // Epoch of the thread that has the guarantee
    UnitId unit;
  };

  ProgramHistory(const trace::TraceFile& trace, const Lowering& lowering,
                 const Guarantees& guarantees, std::uint32_t remembered_versions);
  Chunk& chunk_of(UnitId unit) { return *chunks_[unit / kChunkUnits]; }
  const Chunk& chunk_of(UnitId unit) const { return *chunks_[unit / kChunkUnits]; }
  Unit& edit(UnitId unit) { return chunk_of(unit).units[unit % kChunkUnits]; }
  UnitId add_unit(const Unit& unit);
  void find_words(const trace::TraceFile& trace, const Guarantees& guarantees);
  std::uint64_t initial(std::uint64_t address) const;
  WordId find_word(std::uint64_t address);

  Image before_;
  UnitId units_ = 0;
  LineTable<LineWords> lines_;
  std::unordered_map<std::uint64_t, Store> last_of_line_;  // Last store outside regions, by line
  std::unordered_map<std::uint64_t, std::uint64_t> allocations_;  // Size in B, by address
  std::vector<std::vector<GuaranteeUnit>> guarantee_units_;       // By thread
  std::unique_ptr<Reader> reader_;                                // nullptr: everything is read
};

}  // namespace pmemsim
