// Redo logs that the program has written itself: note N8 of never_flushed.hpp. The program flushes
// a home location only at a checkpoint.
//
// A word has a redo copy if these hold when the program stores it:
//
//   1. Another line has the same value, which the program has stored before and which is
//      guaranteed persistent.
//   2. A number at most 32 B before or behind the copy determines the word's address. The number
//      isn't a copy itself. It is an address or an offset in the PM region, of 4 or 8 B. It may be
//      an index, too: at the same distance from the copy, all words of this source line have at
//      least three different numbers, and their addresses are a linear function of these. The
//      number of a word counts for the word behind it, whose copy is behind the word's copy.
//
// The copy is valid until the program overwrites it, or overwrites a persistent word by a store
// that isn't part of an append. An append consists of the stores from a copy to its home location,
// and of those right before to words beside the copy. (A program that clears its log, or marks it
// as applied, executes other stores.) The append's last store may make the copy valid for recovery,
// so the copy must be persistent before it, unless that store is beside a copy itself.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "pmemsim/analysis/happens_before.hpp"
#include "pmemsim/checks/rules/findings.hpp"
#include "pmemsim/checks/rules/lines.hpp"
#include "pmemsim/common/image.hpp"
#include "pmemsim/common/line_table.hpp"
#include "pmemsim/trace/reader.hpp"

namespace pmemsim::check {

class RedoCopies {
 public:
  RedoCopies(const std::vector<trace::PmRegion>& regions, const HappensBefore& order,
             const Image& memory)
      : regions_(regions), order_(order), memory_(memory), recent_(kBuckets) {}

  // Processes a store of the program outside regions, after FlushCheck and before `memory` changes.
  void store(const At& at, Findings::Place place, Lines& lines, std::uint64_t address,
             std::span<const std::byte> value);
  // True if the words of the line, which this place has stored, have valid copies.
  bool have_copies(Findings::Place place, Line line, const LineState& state, Words words) const;

 private:
  static constexpr std::size_t kBuckets = 1 << 12;
  static constexpr std::size_t kWays = 4;
  static constexpr std::size_t kWindow = 64;   // Number of stores that one append may have
  static constexpr std::uint64_t kNear = 32;   // B between a copy and its number
  static constexpr std::uint32_t kFewest = 3;  // Different indices
  static constexpr std::uint32_t kAny = UINT32_MAX;

  // A store of a word that has no redo copy itself.
  struct Stored {
    std::uint64_t address = 0;  // 0: none
    std::uint64_t value = 0;
    At at{};
  };
  struct Bucket {
    std::array<Stored, kWays> stored{};
    std::uint8_t next = 0;
  };
  // An index near the copies of one source line: at a distance from the copy, a part of a word.
  struct Index {
    std::uint64_t number = 0, address = 0;  // The first
    std::int64_t stride = 0;                // 0: unknown
    std::set<std::uint64_t> different{};    // At most kFewest numbers
    bool linear = true;
  };
  using Indices = std::map<std::pair<std::int64_t, int>, Index>;
  static constexpr std::size_t kNeighbours = 2 * kNear / kWordBytes + 1;
  // A word and its copy. `by_index`: an index may determine the word's address.
  struct Pair {
    std::uint64_t address = 0, copy = 0;
    bool by_index = false;
  };
  // The copy of a word's last store.
  struct Copied {
    std::uint64_t copy = 0, time = 0;
    std::uint64_t early = 0;  // Address of the append's last store, if the copy was not persistent
  };
  struct AppendStore {
    Findings::Place place;
    std::uint64_t operation = 0, address = 0;
  };
  struct Thread {
    std::array<AppendStore, kWindow> stores{};  // The last ones
    std::size_t next = 0;                       // Number of all stores
    Pair last{};                                // The last word with a copy
  };

  Thread& thread(CoreId number) {
    if (threads_.size() <= number) threads_.resize(number + 1);
    return threads_[number];
  }
  Copied& copied(std::uint64_t address);
  std::uint64_t word_at(std::uint64_t address) const;
  // Returns the words from 32 B before the address to 32 B behind it.
  std::array<std::uint64_t, kNeighbours> words_near(std::uint64_t address) const;
  static std::array<std::uint64_t, 3> numbers_of(std::uint64_t word);
  Bucket& bucket_of(std::uint64_t value) { return recent_[(value * 0x9e3779b97f4a7c15) >> 52]; }
  void store_word(const At& at, Findings::Place place, Lines& lines, std::uint64_t address,
                  std::uint64_t value);
  // Returns the copy that an address, an offset or perhaps an index determines; it is `last` then.
  std::optional<Stored> copy_of(const At& at, std::uint32_t source, const Lines& lines,
                                std::uint64_t address, std::uint64_t value);
  bool has_index(std::uint32_t source) const;
  bool is_copy(const Stored& stored, const Lines& lines, std::uint64_t address,
               CoreId thread) const;
  bool has_number(std::uint64_t copy, std::uint64_t address) const;
  // Returns false if no index determines the addresses of this source line.
  bool note_index(std::uint32_t source, std::uint64_t copy, std::uint64_t address);
  static void note_number(Index& index, std::uint64_t number, std::uint64_t address);
  std::uint64_t early_store(const At& at, const Stored& copy, const Lines& lines);
  bool is_beside_copy(std::uint64_t address) const;
  void end_append(const At& at, std::uint32_t source, const Stored& copy);
  bool is_append(Findings::Place place) const;
  void overwrite(const At& at, Findings::Place place, Lines& lines, std::uint64_t address,
                 bool indexed);

  const std::vector<trace::PmRegion>& regions_;
  const HappensBefore& order_;
  const Image& memory_;
  std::vector<Bucket> recent_;                // By value
  std::map<std::uint32_t, Indices> indices_;  // By source line
  std::deque<Thread> threads_;
  // The stores of appends, by the source line of the words with a copy by index; kAny: of others.
  std::map<std::uint32_t, std::set<Findings::Place>> appends_;
  // The times of the last stores to persistent words without a copy, or with one by index.
  std::map<Findings::Place, std::uint64_t> others_, indexed_;
  std::uint64_t time_ = 0;                                    // Number of words stored
  std::unordered_map<std::uint64_t, std::uint64_t> home_of_;  // By the copy's address
  LineTable<std::array<Copied, kLineBytes / kWordBytes>> copied_;
};

}  // namespace pmemsim::check
