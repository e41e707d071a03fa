// The data flow of one thread from words of persistent memory that were possibly lost when the
// thread loaded them. Values flow through registers, as the recording's dependences say, and
// through volatile memory that the thread itself stores to.
#pragma once

#include <cstdint>
#include <vector>

#include "pmemsim/analysis/happens_before.hpp"
#include "pmemsim/checks/rules/findings.hpp"
#include "pmemsim/checks/rules/lines.hpp"
#include "pmemsim/checks/rules/value_flow.hpp"
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
      : lines_(lines), order_(order), thread_(thread), follow_own_(follow_own), flow_(sites) {}

  // Process accesses. The bytes of a load of persistent memory lie in one line.
  void load_pm(const At& at, std::uint64_t address, std::uint64_t bytes);
  void load_volatile(const At& at, std::uint64_t address, std::uint64_t bytes) {
    flow_.load_volatile(at.site, address, bytes);
  }
  void store_volatile(const At& at, std::uint64_t address, std::uint64_t bytes) {
    flow_.store_volatile(at.site, address, bytes);
  }
  // Volatile memory gets other contents, which the thread has not computed.
  void overwrite(std::uint64_t address, std::uint64_t bytes) { flow_.overwrite(address, bytes); }

  bool none() const { return flow_.empty(); }
  // Return a load that the site's operation has its data from; nullptr: none. The second also
  // considers loads of a pointer from which the operation has its address. Loads of other threads'
  // stores come first.
  const Read* source_of_data(std::uint32_t site) const;
  const Read* source_of_data_or_address(std::uint32_t site) const;
  // True if the operation has its address from a loaded pointer.
  bool has_address_from_pointer(std::uint32_t site) const {
    return flow_.of_pointer(site) != nullptr;
  }
  // Returns the loads from which volatile memory has its contents.
  std::vector<Read> sources_of_memory(std::uint64_t address, std::uint64_t bytes) const;

 private:
  const Lines& lines_;
  const HappensBefore& order_;
  const CoreId thread_;
  const bool follow_own_;
  ValueFlow<Read> flow_;  // Loads of possibly lost words
};

}  // namespace pmemsim::check
