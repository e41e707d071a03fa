// The history of a program (program_history.hpp) while a machine runs it. The history is read as
// far as the machine has, and drops what the oracle no longer needs, so that its size does not
// depend on the length of the recording.
//
//   1  The words that the program writes are found beforehand, since a crash image must hold the
//      initial value of a word that is written only later.
//   2  A unit is dropped when it is guaranteed persistent: every later image contains it. With it,
//      all earlier versions of its words are dropped. A program whose stores are never guaranteed
//      persistent therefore has a history that grows.
//   3  The order of the latest versions of locks and atomic variables is remembered. If a thread
//      needs an older one, the run is repeated with all versions.
//   4  Threads are read in rounds of equal length, so that the order of accesses without
//      synchronisation does not depend on the machine.
#pragma once

#include <cstdint>

#include "pmemsim/crash/program_history.hpp"

namespace pmemsim {

class AdvancingHistory final : public ProgramHistory {
 public:
  // Finds the words that the program writes (rule 1), but reads no operation yet. Throws
  // trace::TraceError. With the latest versions alone, reading may throw ForgottenVersion.
  AdvancingHistory(const trace::TraceFile& trace, const Lowering& lowering,
                   const Guarantees& guarantees, Versions versions)
      : ProgramHistory(versions, trace, lowering, guarantees) {}

  // True if the whole recording has any region.
  bool has_regions() const { return has_regions_; }

  // Reads on until all units are finished that the thread's first `operations` operations belong
  // to. Throws trace::TraceError.
  void read_to(CoreId thread, std::uint64_t operations) {
    while (!read() && finished_operations(thread) < operations) read_more();
  }
  // Reads the whole recording, and drops nothing from now on.
  void keep_all() {
    keeps_all_ = true;
    while (!read()) read_more();
  }
  // Reads on until the unit is finished.
  void finish(UnitId unit) {
    while (!read() && !this->unit(unit).finished) read_more();
  }
  // Reads on until the word has another version; false if it has no more. The next version decides
  // whether the newest one so far is that of free memory.
  bool read_next_version(WordId word);

  // Drops a finished unit that is guaranteed persistent (rule 2). True if its chunk is released.
  bool retire(UnitId unit);
  // Drops the numbers of a thread's regions or fences up to this one, which is guaranteed.
  void drop_regions(CoreId thread, std::uint64_t number) {
    if (!keeps_all_) regions_[thread].drop_to(number);
  }
  void drop_fences(CoreId thread, std::uint64_t number) {
    if (!keeps_all_) fences_[thread].drop_to(number);
  }

  // Numbers of units, of versions, and of regions and fences that the history holds now.
  std::size_t held_units() const;
  std::size_t held_versions() const;
  std::size_t held_numbers() const;

 private:
  // Length of a round, in operations of each thread.
  static constexpr std::uint64_t kRound = 256;

  void read_more() { read_round(kRound); }

  bool keeps_all_ = false;
};

}  // namespace pmemsim
