// How predictable the writes of a program are, from its recording alone: whether the address and
// the data of a write-back stand in earlier stores (PMWeaver, figure 10's ideal predictor), how
// soon it follows the line's last store (figure 7), and how few sets of store instructions it comes
// from (figure 11). No time is simulated.
//
//   1  A write-back is a flush of a PM line that the same thread has stored to since its last one.
//      Evictions and non-temporal stores are none, as the paper's learner doesn't see them.
//   2  Each thread has a history of its own, without a limit: of every store, to PM or not, each
//      4-byte chunk and each 8-byte word of the value. A store below 4 bytes has neither.
//   3  The address is found if a word in the history is an address within the line.
//   4  The data are found if each chunk (or word) of the line that was stored to since its last
//      write-back equals one in the history. The paper's granularity is 4 bytes.
//   5  The line's own stores, those since its last write-back, are in the history too, and nearly
//      always hold its data. The paper doesn't say whether it counts them: both are told.
//   6  What has found a write-back is its set of store instructions: those of the oldest stores of
//      its address and its chunks, own ones included.
//   7  A chunk that was stored to in part has the other bytes of what PM held before; of several
//      threads' stores to one chunk, the bytes are those of the thread read last.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "pmemsim/trace/reader.hpp"
#include "pmemsim/trace/source_place.hpp"

namespace pmemsim {

// Write-backs, and how many of them stand in earlier stores.
struct Predictable {
  struct Found {
    std::uint64_t address = 0;
    std::uint64_t chunks = 0, words = 0;  // the data, by 4 and by 8 bytes
    std::uint64_t address_and_chunks = 0, address_and_words = 0;
    bool operator==(const Found&) const = default;
  };
  std::uint64_t write_backs = 0;
  Found all;          // in all earlier stores
  Found without_own;  // in those beside the line's own

  Predictable& operator+=(const Predictable& other);
  bool operator==(const Predictable&) const = default;
};

// Instructions from a line's last store to its write-back: up to and including each bound.
inline constexpr std::array<std::uint64_t, 19> kDistanceBounds = {
    1,    2,    5,      10,     20,     50,      100,     200,     500,      1000,
    2000, 5000, 10'000, 20'000, 50'000, 100'000, 200'000, 500'000, 1'000'000};

// The sets of store instructions that are listed (figure 11 has so many).
inline constexpr std::size_t kListedSets = 20;

struct PredictabilityReport {
  struct ByLine {
    trace::SourcePlace store;  // the last one to the line before its write-back
    Predictable found;
  };
  struct StoreSet {
    std::uint64_t write_backs = 0;
    std::vector<trace::SourcePlace> stores;
  };
  Predictable total;
  std::vector<ByLine> by_line;  // the most write-backs first
  // Write-backs within each bound, not those within the bound before; the last: beyond all.
  std::array<std::uint64_t, kDistanceBounds.size() + 1> distances{};
  std::uint64_t store_sets = 0;       // different ones, of write-backs found whole
  std::vector<StoreSet> listed_sets;  // the most frequent first, kListedSets at most
  std::uint64_t instructions = 0;
  std::uint64_t stores = 0;
  std::uint64_t other_flushes = 0;  // of PM lines: those that are no write-backs
};

// Reads the whole recording. `progress` gets the share that is read, and returns false to interrupt
// (Interrupted is thrown). Throws TraceError.
PredictabilityReport predictability(const trace::TraceFile& trace,
                                    const std::function<bool(double)>& progress);

}  // namespace pmemsim
