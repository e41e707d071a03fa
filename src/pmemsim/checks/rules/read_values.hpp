// The data flow of one thread from words of persistent memory that were possibly lost when the
// thread loaded them. Values flow through registers, as the recording's dependences say, and
// through volatile memory that the thread itself stores to.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "pmemsim/analysis/happens_before.hpp"
#include "pmemsim/checks/rules/findings.hpp"
#include "pmemsim/checks/rules/lines.hpp"
#include "pmemsim/trace/reader.hpp"

namespace pmemsim::check {

class ReadValues {
 public:
  // A load of possibly lost words.
  struct Read {
    At at;
    Line line;
    Words words;
    bool pointer;           // True if the words may be a pointer
    bool own;               // True if the thread itself has stored the words
    std::uint32_t version;  // Version of the line
  };

  // `follow_own`: loads of words that the thread itself has stored count, too.
  ReadValues(const Lines& lines, const trace::SiteTable& sites, const HappensBefore& order,
             CoreId thread, bool follow_own)
      : lines_(lines), sites_(sites), order_(order), thread_(thread), follow_own_(follow_own) {}

  // Process accesses. The bytes of a load of persistent memory lie in one line.
  void load_pm(const At& at, std::uint64_t address, std::uint64_t bytes);
  void load_volatile(const At& at, std::uint64_t address, std::uint64_t bytes);
  void store_volatile(const At& at, std::uint64_t address, std::uint64_t bytes);
  // Volatile memory gets other contents, which the thread has not computed.
  void overwrite(std::uint64_t address, std::uint64_t bytes) { fill(address, bytes, nullptr); }

  bool none() const { return by_site_.empty() && by_word_.empty(); }
  // Return a load that the site's operation has its data from; nullptr: none. The second also
  // considers loads of a pointer from which the operation has its address: an address computed from
  // an index is in the same array for any index. Loads of other threads' stores come first.
  const Read* source_of_data(std::uint32_t site) const { return source(site, true); }
  const Read* source_of_data_or_address(std::uint32_t site) const { return source(site, false); }
  // Returns the loads from which volatile memory has its contents.
  std::vector<Read> sources_of_memory(std::uint64_t address, std::uint64_t bytes) const;

 private:
  using ByteBits = std::uint8_t;  // One bit for each byte of a word
  struct Word {
    Read read;
    ByteBits bytes;  // Bytes that have their contents from the load
  };

  const Read* source(std::uint32_t site, bool data_only) const;
  void fill(std::uint64_t address, std::uint64_t bytes, const Read* read);
  void clear_bytes(std::uint64_t word, ByteBits bytes);

  const Lines& lines_;
  const trace::SiteTable& sites_;
  const HappensBefore& order_;
  const CoreId thread_;
  const bool follow_own_;
  std::unordered_map<std::uint32_t, Read> by_site_;  // Sites that last loaded possibly lost data
  std::unordered_map<std::uint64_t, Word> by_word_;  // By address / 8: volatile memory
};

}  // namespace pmemsim::check
