// One thread's flushes, fences, and what depends on them: rules P1 to P8 of program_check.hpp.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "pmemsim/analysis/happens_before.hpp"
#include "pmemsim/checks/rules/allocations.hpp"
#include "pmemsim/checks/rules/findings.hpp"
#include "pmemsim/checks/rules/lines.hpp"
#include "pmemsim/common/image.hpp"
#include "pmemsim/trace/format.hpp"

namespace pmemsim::check {

class FlushCheck {
 public:
  // A flush that seems useless, of a line on which threads may turn out to race.
  struct InVain {
    Line line;
    Reason reason;
    At at, other;
  };
  struct Shared {
    Lines lines{};
    std::vector<InVain> in_vain{};
    const Image* memory = nullptr;  // as it is now
    bool from_the_start = true;
    bool eadr = false;
  };
  // What an operation is.
  struct By {
    bool program;    // not the library
    bool in_region;  // of atomic regions
  };

  FlushCheck(Findings& findings, Shared& shared, const Allocations& allocations,
             const HappensBefore& order, CoreId thread)
      : findings_(findings),
        shared_(shared),
        allocations_(allocations),
        order_(order),
        thread_(thread) {}

  // A part of a store that stands in one line.
  void store(const At& at, std::uint64_t address, std::uint64_t bytes, By by, bool of_lock);
  void store_past_caches(const At& at, std::uint64_t address, std::uint64_t bytes, By by);
  void allocated(std::uint64_t address, std::uint64_t bytes);
  // A pointer is going to be stored there.
  void publish(const At& at, std::uint64_t place, std::uint64_t pointer, By by);
  void flush(const At& at, std::uint64_t address, trace::FlushKind kind, bool by_program);
  void flush_outside(const At& at, bool by_program);
  // `judged`: it may be useless.
  void fence(const At& at, bool judged);

  void region_begin(const At& at) { region_begin_ = at.operation; }
  void region_end(const At& at) { depend(at, Reason::kRegionEnd, region_begin_); }
  void lock(const At& at, bool by_function);
  void unlock(const At& at, bool by_function);
  void end(const At& at);
  // Another thread has passed a fence.
  void other_fence(const At& at);

  // Lines that this thread has made sure to persist although they were so already, which it can't
  // have known; by the line's number, its version.
  const std::unordered_map<std::uint64_t, std::uint32_t>& made_sure() const { return made_sure_; }

  // When all threads have ended: of all of them.
  static void finish(Findings& findings, const Shared& shared);

 private:
  // A flush or a non-temporal store, until the fence.
  struct Unfenced {
    Line line;
    At at;
    Words words;            // that weren't sure
    std::uint32_t version;  // of the line
    HappensBefore::Epoch epoch;
    bool past_caches;
    bool judged;             // something is lost if it doesn't end
    bool locked = false;     // a function has taken or given back a lock since
    bool elsewhere = false;  // another thread has passed a fence since, for certain
    At other_fence{};
    // A function has given back the lock under which it was made.
    bool unlocked = false;
    At unlock{};
    std::uint64_t stores = 0;  // stores_ then
  };
  // A line that was stored to between its flush and the fence.
  struct Late {
    Line line;
    At store, flush;
  };

  LineState& line(Line number);
  LineState& note_store(const At& at, std::uint64_t address, std::uint64_t bytes);
  void note_race(LineState& state) const;
  bool is_useless(const LineState& state) const;
  void add_unfenced(const At& at, Line number, const LineState& state, Words words, bool judged,
                    bool past_caches);
  void end_flush(const Unfenced& flush);
  void depend(const At& at, Reason reason, std::uint64_t since);
  void accuse(Unfenced& flush, const At& at, Reason reason);
  void accuse_unlocked(const Unfenced& flush);
  void note_unlock(const At& at);
  void check_late(Line except);
  bool can_be_reached(std::uint64_t place) const;
  void publish_line(const At& at, Line target, const LineState& state);

  Findings& findings_;
  Shared& shared_;
  const Allocations& allocations_;
  const HappensBefore& order_;
  const CoreId thread_;
  std::vector<Unfenced> unfenced_;
  std::vector<Late> late_;
  std::unordered_map<std::uint64_t, std::uint32_t> made_sure_;
  bool anything_unfenced_ = false;
  bool fenced_before_ = false;
  std::uint64_t stores_ = 0;  // of the program to PM
  std::uint64_t region_begin_ = 0;
  std::uint32_t locks_ = 0;         // held
  std::uint64_t locked_since_ = 0;  // the first of them
};

}  // namespace pmemsim::check
