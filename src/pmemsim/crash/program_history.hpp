// What a recorded program does to persistent memory, whatever machine it runs on: the oracle's only
// knowledge of the program.
//
// A *unit* is what a crash leaves whole or not at all: an atomic region, or a single word of a
// store outside regions (devices write eight bytes atomically). Words of PM have versions, one for
// each unit that wrote them, in the order of their writers.
//
// A region follows, and a crash that leaves it must also leave:
//   - the region before it on its thread;
//   - the last unit before it that wrote a word that it reads or writes, if that is a region.
//
// A store outside regions follows the store before it to its word, and the one before it to its
// line: a line persists as it is (x86); not on a machine where a crash can leave a line in part.
// Where stores persist as they become visible (eADR), it follows its thread's store before it,
// whatever their lines.
//
// Where a design promises it (Promises::reads_in_order), what a thread does follows what it has
// read from another thread's units before, as if there were a fence behind those. (A fence that has
// completed promises nothing of them: their own thread's fences do.)
//
// What comes after a fence, inside regions or outside, follows what its thread had stored outside
// regions before the fence: all of it, or what it had flushed, as the design promises; a design
// that promises nothing of fences has none. Such a fence counts as a unit that writes nothing:
// there as soon as something that comes after it is there, or it has been promised, since it has
// completed.
//
// Whoever knows no instants (promised/) wants the order of promises, too (Guarantees::
// after_promises): what a thread does after it has been promised something, or has heard of others'
// promises from whom it has taken a lock or an atomic variable's value, or whose access its own has
// raced with, follows what was promised.
// Each promise is a unit that writes nothing.
//
// Only the program's own accesses count: what a software log does is how a design keeps its word,
// not what the word is. Nor do locks count, for no design promises anything about them: threads
// that communicate through locks and volatile data alone are independent.
//
// What memory holds from the region that frees it to the one that allocates it again is nobody's
// business: it may be anything, as soon as the one is there, and as long as the other isn't. Where
// a crash may leave lines of unfinished regions that can't be read, that goes for the other words,
// too, of lines that the allocating region stores to: with its commit they are what they were
// before.
//
// The order of threads is that of the recording: acquisitions follow their releases
// (happens_before.hpp), and accesses that race those that were recorded before them
// (analysis/races.hpp; of a recording that doesn't say when its threads ran, they come in any
// order). What neither orders, stores to different words of a line, doesn't follow each other, nor
// does a flush cover what another thread may have stored after it.
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
    std::uint32_t version;  // of the word; 0 is what it held before the program
    std::uint32_t site;     // of the unit's last store to the word
  };
  struct Version {
    UnitId unit;
    std::uint64_t value;
    bool free = false;  // the memory is nobody's then: any value will do
  };
  struct Word {
    std::uint64_t address;
    std::vector<Version> versions;  // the first has no unit
  };
  // What has promised something, if a unit stands for that.
  enum class PromisedBy : std::uint8_t {
    kNothing,
    kStore,         // it is visible, and caches persist
    kFence,         // it is over
    kRegionEnd,     // the same
    kRegionsFence,  // pm_fence_regions() is
    kOthers,        // other threads, of whose promises this one hears
  };
  struct Unit {
    CoreId thread = 0;
    std::uint32_t epoch = 0;      // of its thread, when it began (happens_before.hpp)
    std::uint64_t region = 0;     // the thread's outermost regions count from 1; 0: outside regions
    bool ended = true;            // false: a region that the recording ends in
    std::uint32_t fence = kNone;  // its site, if it is one, or of what promises
    PromisedBy promise = PromisedBy::kNothing;
    std::uint32_t first_write = 0, writes = 0;
    std::uint32_t first_follows = 0, follows = 0;
  };
  // By line: its words, or kNone for those that the program doesn't write.
  using LineWords = std::array<WordId, kLineWords>;

  // What is asked of the machine.
  struct Guarantees {
    Promises promises;  // without whole regions, all stores count as being outside regions
    bool lines_whole;   // a crash leaves a line as it was at some time
    // ... also if an unfinished region has written it.
    bool lines_readable = true;
    bool after_promises = false;
    trace::LeftOut without = {};
  };
  // `lowering` says which flushes and fences the design's program has. Throws trace::TraceError.
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
  // The unit of a thread's region, counted from 1.
  UnitId region(CoreId thread, std::uint64_t number) const;
  // What the thread's fence of that number, counted from 1, makes durable of what was stored
  // outside regions: the latest unit that is a fence. kNone: nothing.
  UnitId fence(CoreId thread, std::uint64_t number) const;

 private:
  class Thread;
  friend class Thread;
  struct Promise {
    std::uint32_t epoch;  // of its thread
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
  std::unordered_map<std::uint64_t, UnitId> last_of_line_;        // stores outside regions
  std::unordered_map<std::uint64_t, std::uint64_t> allocations_;  // by address: bytes
  std::vector<std::vector<UnitId>> regions_;                      // by thread
  std::vector<std::vector<UnitId>> fences_;                       // by thread and number
  std::vector<std::vector<Promise>> promises_;                    // by thread
};

}  // namespace pmemsim
