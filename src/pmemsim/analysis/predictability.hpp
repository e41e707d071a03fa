// The predictability of a program's writes, from its recording alone. It has three parts, with the
// figures of the PMWeaver paper: whether earlier stores contain the address and the data of a
// write-back (figure 10, ideal predictor); how soon the write-back follows the line's last store
// (figure 7); and how few sets of store instructions write-backs have (figure 11). No time is
// simulated.
//
//   1  A write-back is a flush of a PM line that the same thread has stored to since the line's
//      last write-back. Evictions and non-temporal stores do not count, because the paper's learner
//      doesn't see them.
//   2  Each thread has a history of its own, without a limit. It contains each 4-byte chunk and
//      each 8-byte word of the value of every store, to PM or not. A store of less than 4 bytes
//      adds nothing.
//   3  The address is found if a word in the history is an address within the line.
//   4  The data are found if each chunk (or word) of the line that was stored to since the line's
//      last write-back equals an entry of the history. The paper's granularity is 4 bytes.
//   5  The history includes the line's own stores since its last write-back, which nearly always
//      contain its data. The paper doesn't say whether it counts own stores: the report has both
//      numbers.
//   6  The set of store instructions of a found write-back consists of the oldest stores of its
//      address and its chunks, own stores included.
//   7  In a chunk that was stored to in part, the other bytes are those that PM held before. If
//      several threads store to one chunk, the bytes are those of the thread that is analysed last.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "pmemsim/trace/reader.hpp"
#include "pmemsim/trace/source_location.hpp"

namespace pmemsim {

// Numbers of write-backs, and of write-backs that the history contains.
struct Predictable {
  struct Found {
    std::uint64_t address = 0;
    std::uint64_t chunks = 0, words = 0;  // the data, in units of 4 and of 8 bytes
    std::uint64_t address_and_chunks = 0, address_and_words = 0;
    bool operator==(const Found&) const = default;
  };
  std::uint64_t write_backs = 0;
  Found all;          // found in all earlier stores
  Found without_own;  // found in stores other than the line's own

  Predictable& operator+=(const Predictable& other);
  bool operator==(const Predictable&) const = default;
};

// Numbers of instructions from a line's last store to its write-back; each bound is inclusive.
inline constexpr std::array<std::uint64_t, 19> kDistanceBounds = {
    1,    2,    5,      10,     20,     50,      100,     200,     500,      1000,
    2000, 5000, 10'000, 20'000, 50'000, 100'000, 200'000, 500'000, 1'000'000};

// Number of listed sets of store instructions (the same as in figure 11).
inline constexpr std::size_t kListedSets = 20;

struct PredictabilityReport {
  struct ByLine {
    trace::SourceLocation store;  // the last store to the line before its write-back
    Predictable found;
  };
  struct StoreSet {
    std::uint64_t write_backs = 0;
    std::vector<trace::SourceLocation> stores;
  };
  Predictable total;
  std::vector<ByLine> by_line;  // in descending order of write-backs
  // Numbers of write-backs between the previous bound and each bound; the last is beyond all
  // bounds.
  std::array<std::uint64_t, kDistanceBounds.size() + 1> distances{};
  std::uint64_t store_sets = 0;       // different sets, of write-backs found whole
  std::vector<StoreSet> listed_sets;  // the most frequent first, at most kListedSets
  std::uint64_t instructions = 0;
  std::uint64_t stores = 0;
  std::uint64_t other_flushes = 0;  // flushes of PM lines that are not write-backs
};

// Reads the whole recording. `progress` is called with the share that has been read; if it returns
// false, Interrupted is thrown. Throws TraceError.
PredictabilityReport predictability(const trace::TraceFile& trace,
                                    const std::function<bool(double)>& progress);

}  // namespace pmemsim
