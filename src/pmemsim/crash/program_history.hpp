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
#include <span>
#include <unordered_map>
#include <vector>

#include "pmemsim/common/image.hpp"
#include "pmemsim/designs/interface/lowered_stream.hpp"
#include "pmemsim/designs/interface/promises.hpp"
#include "pmemsim/trace/left_out.hpp"
#include "pmemsim/trace/reader.hpp"

namespace pmemsim {

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
    std::uint64_t value;
    bool free = false;  // The memory is free then: any value is correct
  };
  struct Word {
    std::uint64_t address;
    std::vector<Version> versions;  // The first version has no unit
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
    // Site of the fence, or of the operation that gives the guarantee; kNone for other units.
    std::uint32_t fence = kNone;
    GuaranteedBy guaranteed_by = GuaranteedBy::kNothing;
    std::uint32_t first_write = 0, writes = 0;
    std::uint32_t first_follows = 0, follows = 0;
  };
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

  std::span<const Unit> units() const { return units_; }
  std::span<const Write> writes(UnitId unit) const {
    return {writes_.data() + units_[unit].first_write, units_[unit].writes};
  }
  std::span<const UnitId> follows(UnitId unit) const {
    return {follows_.data() + units_[unit].first_follows, units_[unit].follows};
  }
  const Word& word(WordId word) const { return words_[word]; }
  std::size_t words() const { return words_.size(); }
  const LineWords* line(Line line) const {
    const auto found = lines_.find(line.number);
    return found == lines_.end() ? nullptr : &found->second;
  }
  // Returns the unit of a thread's region, counted from 1.
  UnitId region(CoreId thread, std::uint64_t number) const;
  // Returns the fence unit for the stores outside regions that the thread's fence `number` (from 1)
  // makes durable. It is the thread's latest fence unit at that fence. kNone: the fence makes
  // nothing durable.
  UnitId fence(CoreId thread, std::uint64_t number) const;

 private:
  class Thread;
  friend class Thread;
  struct GuaranteeUnit {
    std::uint32_t epoch;  // Epoch of the thread that has the guarantee
    UnitId unit;
  };

  std::uint64_t initial(std::uint64_t address) const;
  WordId find_word(std::uint64_t address);

  Image before_;
  std::vector<Unit> units_;
  std::vector<Write> writes_;
  std::vector<UnitId> follows_;
  std::vector<Word> words_;
  std::unordered_map<std::uint64_t, LineWords> lines_;
  std::unordered_map<std::uint64_t, UnitId> last_of_line_;  // Last store outside regions, by line
  std::unordered_map<std::uint64_t, std::uint64_t> allocations_;  // Size in B, by address
  std::vector<std::vector<UnitId>> regions_;                      // Units, by thread
  std::vector<std::vector<UnitId>> fences_;  // Units, by thread and number of the fence
  std::vector<std::vector<GuaranteeUnit>> guarantee_units_;  // By thread
};

}  // namespace pmemsim
