// Check of one thread's flushes and fences, and of the operations that depend on them: rules P2 to
// P8 of program_check.hpp.
//
// Rules can't decide about a pointer's publication (P3 and P4) in this case, which is a note:
//
//   N7  undo_log: the thread may have an open undo log, whose recovery makes the pointer
//       unreachable. Among the lines that its last fences have made persistent, one has a pointer
//       to other data, and they have a copy of the data's line as it is now: a pointer, or more
//       than one word.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "pmemsim/analysis/happens_before.hpp"
#include "pmemsim/checks/rules/allocations.hpp"
#include "pmemsim/checks/rules/findings.hpp"
#include "pmemsim/checks/rules/lines.hpp"
#include "pmemsim/checks/rules/redo_copies.hpp"
#include "pmemsim/common/image.hpp"
#include "pmemsim/trace/format.hpp"

namespace pmemsim::check {

class FlushCheck {
 public:
  // A flush that seems useless. It is reported at the end, unless a race on its line is found until
  // then.
  struct UselessFlush {
    Line line;
    Reason reason;
    At at, other;
  };
  struct Shared {
    Lines lines{};
    std::vector<UselessFlush> useless_flushes{};
    bool all_in_vain = true;        // False: flushes that seem useless were dropped
    const Image* memory = nullptr;  // Current contents
    const RedoCopies* redo_copies = nullptr;
    bool from_the_start = true;
    bool eadr = false;
  };
  // Properties of an operation.
  struct By {
    bool program;    // Not by the library
    bool in_region;  // In an atomic region
    bool lock;       // The acquisition or release of a lock
  };
  // The change of an aligned word by a store.
  enum class Change : std::uint8_t {
    kOther,
    kZeroed,       // The word becomes zero
    kTagsCleared,  // Tag bits of a pointer into PM become zero
    kToOdd,        // The word is incremented by one
    kToEven,
  };

  FlushCheck(Findings& findings, Shared& shared, const Allocations& allocations,
             const HappensBefore& order, CoreId thread)
      : findings_(findings),
        shared_(shared),
        allocations_(allocations),
        order_(order),
        thread_(thread) {
    fenced_lines_.fill(kNoLine);
  }

  // Processes the part of a store that lies in one line.
  void store(const At& at, std::uint64_t address, std::uint64_t bytes, By by, Change change);
  void store_past_caches(const At& at, std::uint64_t address, std::uint64_t bytes, By by);
  void allocated(std::uint64_t address, std::uint64_t bytes);
  // Checks a pointer that is about to be stored at `location`.
  void publish(const At& at, std::uint64_t location, std::uint64_t pointer, By by);
  void flush(const At& at, std::uint64_t address, trace::FlushKind kind, bool by_program);
  void flush_outside(const At& at, bool by_program);
  // Processes a fence. `checked`: report it if it is useless.
  void fence(const At& at, bool checked);

  void region_begin(const At& at) { region_begin_ = at.operation; }
  void region_end(const At& at) { depend(at, Reason::kRegionEnd, region_begin_); }
  void lock(const At& at, bool by_function);
  void unlock(const At& at, bool by_function);
  void end(const At& at);
  // Processes a fence of another thread.
  void other_fence(const At& at);

  // True if the words are possibly lost as far as this thread can detect. False if the line has
  // another version: other stores have changed it since, and its state is unknown.
  bool may_be_lost(Line number, Words words, std::uint32_t version) const;
  // True if a flush of this thread that no fence has completed covers all stores to the line.
  bool is_flushed(Line number) const;
  // True if that flush is a clflush, which later stores can't overtake.
  bool is_flushed_in_order(Line number) const;

  // Reports the findings of all threads; call it when all threads have ended.
  static void finish(Findings& findings, const Shared& shared);

 private:
  static constexpr Line kNoLine{UINT64_MAX};

  // A flush or a non-temporal store that no fence has completed yet.
  struct Unfenced {
    Line line;
    At at;
    Words words;            // Words that were possibly lost
    std::uint32_t version;  // Version of the line
    HappensBefore::Epoch epoch;
    bool past_caches;
    bool in_order;                 // A clflush
    bool checked;                  // Data are lost if the flush does not complete
    bool lock_used = false;        // A function has acquired or released a lock since
    bool fenced_by_other = false;  // Another thread has certainly executed a fence since
    At other_fence{};
    // True if a function has released the lock that was held at the flush.
    bool lock_released = false;
    At unlock{};
    std::uint64_t stores = 0;  // Value of stores_ at the unlock
  };
  // A word that the thread has incremented by one to an odd number.
  struct OddWord {
    std::uint64_t address = 0;
    StoreList::Store store{};
    std::uint64_t stores = 0;  // Value of stores_ at that store
  };
  // A line that was stored to between its flush and the fence.
  struct Late {
    Line line;
    At flush;
  };

  LineState& line(Line number);
  bool is_persistent_pointer(Line number, Words words) const;
  LineState& note_store(const At& at, Line number, Words words);
  void note_sequence(LineState& state, std::uint64_t address, const StoreList::Store& store,
                     Change change);
  void note_race(LineState& state) const;
  bool is_useless(const LineState& state) const;
  Unfenced& add_unfenced(const At& at, Line number, const LineState& state, Words words);
  void end_flush(const Unfenced& flush, const At& fence);
  void depend(const At& at, Reason reason, std::uint64_t since);
  void report_flush(Unfenced& flush, const At& at, Reason reason);
  void report_unlocked_flush(const Unfenced& flush);
  void note_unlock(const At& at);
  void check_late(Line except);
  bool can_be_reached(std::uint64_t location) const;
  void publish_line(const At& at, Line target, const LineState& state);
  bool may_have_undo_log(Line target) const;

  Findings& findings_;
  Shared& shared_;
  const Allocations& allocations_;
  const HappensBefore& order_;
  const CoreId thread_;
  std::vector<Unfenced> unfenced_;
  std::vector<Late> late_;
  // Lines that this thread has flushed and fenced again because it could not detect that they were
  // guaranteed persistent. By the line's number: its version at the fence.
  std::unordered_map<std::uint64_t, std::uint32_t> newly_guaranteed_;
  bool anything_unfenced_ = false;
  bool fenced_before_ = false;
  std::uint64_t stores_ = 0;            // Number of the program's stores to PM
  std::array<OddWord, 8> odd_words_{};  // The last ones; the oldest is at next_odd_word_
  std::size_t next_odd_word_ = 0;
  std::array<Line, 16> fenced_lines_;  // The last lines of its fences; the oldest: next_fenced_
  std::size_t next_fenced_ = 0;
  std::uint64_t region_begin_ = 0;
  std::uint32_t locks_ = 0;         // Number of locks held
  std::uint64_t locked_since_ = 0;  // Operation that acquired the outermost lock
};

}  // namespace pmemsim::check
