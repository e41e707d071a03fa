// Check of races and lost updates in other orders of the threads: rules P12 and P13 of
// program_check.hpp. A recording of one order suffices.
//
// A persistency race is a load that another order of the threads would put between another thread's
// store and the fence that makes this store persistent. The reader's later store may then persist
// without the data on which it depends. (Similar analyses: HawkSet, PMRace, Durinn.)
//
//   R1  The order in which things must happen is that of all recorded synchronisation and races
//       (races.hpp). The only exception is what the load itself shows. It reads the value of the
//       store, or a later one, and another order may let it read the value earlier. The load then
//       implies only the storing thread's operations before the fence. Locks, barriers and values
//       of other variables thus rule out a race.
//   R2  The load races if its last store is another thread's, and the fence must happen neither
//       before the load nor before the dependent store. The value depends on the load as in P9, or
//       is read through the loaded pointer.
//   R3  The load must read in the other order what it reads in the recording. Then the reader
//       executes the same operations. One difference is allowed: since the fence, stores have
//       cleared tag bits of a pointer. The reader may treat tags differently, for example persist
//       what it reads. The finding is a note unless all branches between the load and the dependent
//       store are in the load's function and go both ways in the recording.
//   R4  A reader that flushes and fences the loaded line before its dependent store is correct. If
//       a load's line has been flushed once, its other executions under R3's exception are notes.
//   R5  An update is a plain load and a plain store of the same bytes that depends on it. An update
//       is lost if another order, as in R1, puts it between the load and the store of another
//       thread's update. The other thread's load must be its last one before the store.
//
// Each line has one record of the newest stores between two fences. Stores in regions, to locks and
// by pm.h's library, and stores that nothing makes persistent (P1), are ignored.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "pmemsim/analysis/call_stack.hpp"
#include "pmemsim/analysis/happens_before.hpp"
#include "pmemsim/checks/rules/findings.hpp"
#include "pmemsim/checks/rules/lines.hpp"
#include "pmemsim/checks/rules/value_flow.hpp"
#include "pmemsim/common/line_table.hpp"
#include "pmemsim/common/slab.hpp"
#include "pmemsim/trace/reader.hpp"

namespace pmemsim::check {

using trace::CallMarks;

class RaceCheck {
 public:
  using Epoch = HappensBefore::Epoch;

  // The newest stores to a line, all by one thread and between two fences.
  struct Stores {
    CoreId thread = 0;
    Words words = 0;
    Words untagged = 0;  // Words whose tag bits have been cleared since the fence
    bool fenced = false;
    std::uint32_t version = 0;  // Counts stores
    At fence{};
    Epoch fence_epoch = 0;
    struct Store {
      std::uint64_t operation;
      std::uint32_t site;
      Contexts::Node context;
      Epoch epoch;
      std::uint32_t since_load;  // Update (R5): operations since its load; otherwise 0
    };
    // By word; only those of `words` are set.
    std::array<Store, kLineBytes / kWordBytes> last;
    std::array<std::uint8_t, kLineBytes / kWordBytes> bytes;  // The bytes that `last` stores
  };
  // A load that may read the words before the fence.
  struct Read {
    At at;
    Line line;
    std::uint64_t address;
    At store;
    // R5: number of the load of the update by `store`, if another order may put an update at this
    // load behind it.
    std::optional<std::uint64_t> update;
    bool pointer;  // True if the loaded words may be a pointer
    bool untagged;
    bool fenced;
    bool flushed = false;  // The reader has flushed the line since
    std::uint32_t version = 0;
    At fence{};
    Epoch fence_epoch = 0;
    std::size_t branches = 0;  // Number of the reader's branches before the load
  };
  struct Race {
    Read read;
    At dependent;
    std::vector<std::uint32_t> branches;  // Sites of the branches between load and store (R3)
  };
  // The records of all lines. Accesses are often to one line several times.
  class Lines {
   public:
    Stores* find(Line line) {
      if (line == newest_) return &stores_[number_];
      const std::uint32_t* const number = numbers_.find(line);
      if (number == nullptr) return nullptr;
      newest_ = line;
      number_ = *number;
      return &stores_[number_];
    }
    Stores& at(Line line) {
      if (Stores* const known = find(line)) return *known;
      newest_ = line;
      number_ = numbers_.insert(line) = stores_.take();
      return stores_[number_];
    }

   private:
    LineTable<std::uint32_t> numbers_;
    Slab<Stores> stores_;
    Line newest_{UINT64_MAX};
    std::uint32_t number_ = kNoSlot;  // The newest line's
  };
  struct Shared {
    Lines lines{};
    // Races whose fence has not been executed yet, by the line's number.
    std::unordered_map<std::uint64_t, std::vector<Race>> unfenced{};
    std::vector<Race> untagged{};                 // Races that R3 decides about
    std::size_t limit = 1 << 16;                  // Number of `untagged` at which equal ones go
    std::unordered_set<std::uint32_t> found{};    // Sites of loads with a finding
    std::unordered_set<std::uint32_t> flushed{};  // Sites of loads whose lines were flushed (R4)
    std::vector<std::uint8_t> ways{};             // By site of a branch: the ways it has gone
  };

  RaceCheck(Findings& findings, Shared& shared, const HappensBefore& order,
            const trace::TraceFile& trace, CoreId thread);

  // Processes a load by the program, before its synchronisation.
  void load_pm(const At& at, const trace::Operation& operation);
  void load_volatile(std::uint32_t site, std::uint64_t address, std::uint64_t bytes) {
    flow_.load_volatile(site, address, bytes);
  }
  void store_volatile(std::uint32_t site, std::uint64_t address, std::uint64_t bytes) {
    flow_.store_volatile(site, address, bytes);
  }
  // Processes a store that may depend on a load.
  void depend(const At& at, const trace::Operation& operation);
  // `plain`: neither atomic, nor past the caches, nor a part of a copy. `clears_tags`: the store
  // only clears tag bits of a pointer into PM.
  struct How {
    bool plain, clears_tags;
  };
  // Processes the part of a store that lies in one line.
  void store(const At& at, std::uint64_t address, std::uint64_t bytes, How how);
  void store_past_caches(const At& at, std::uint64_t address, std::uint64_t bytes);
  // Processes a store that races are not searched for.
  void ignore_store(std::uint64_t address);
  void flush(std::uint64_t address);
  void fence(const At& at);
  void branch(std::uint32_t site, bool taken);
  // Processes an operation that synchronises, before it takes effect.
  void acquire(const At& at, const trace::Operation& operation);
  // Processes a wait for a racing access: the first `count` operations of a thread happen before.
  void wait(const At& at, std::uint32_t thread, std::uint64_t count);

  // Reports the findings when all threads have ended.
  static void finish(Findings& findings, Shared& shared, const CallMarks& marks);

 private:
  struct Flush {
    Line line;
    Words words;
    std::uint32_t version;
  };

  bool reads_last_store(const trace::Operation& operation) const;
  std::optional<Read> racing_read(const At& at, const trace::Operation& operation) const;
  std::uint32_t since_load(const At& at, std::uint64_t address) const;
  bool is_known(const At& other, Epoch epoch) const;
  void update(const At& at, const trace::Operation& operation, const Read& read);
  void end_flush(const At& fence, const Flush& flush);
  void end_waiting(Line line, const Stores& stores);
  void note(Race race, const At& fence);
  bool is_own(const At& at, std::uint32_t thread) const;

  Findings& findings_;
  Shared& shared_;
  const HappensBefore& order_;
  const CoreId thread_;
  const bool races_known_;  // The recording has the order of racing accesses
  const trace::SiteTable& sites_;
  ValueFlow<Read> flow_;
  std::optional<Read> newest_;  // The last load, if it races
  At load_{};                   // The last load
  std::uint64_t loaded_ = 0;    // Its address
  std::vector<Flush> unfenced_;
  bool any_flushed_ = false;             // A line that the thread has read is flushed
  std::vector<std::uint32_t> branches_;  // Branches since the oldest load with cleared tags
  // The operations of each thread that must happen before the current operation (R1): the last
  // epoch that synchronisation orders, and the number of operations that races order.
  std::vector<Epoch> epochs_;
  std::vector<std::uint64_t> counts_;
};

}  // namespace pmemsim::check
