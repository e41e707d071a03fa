// Load-aware log entry allocation (LALEA: Lu, Yue, Deng, Zhu, "Accelerate Hardware Logging for
// Efficient Crash Consistency in Persistent Memory", section III-A and figure 2). A log entry or a
// header goes to the bank with the fewest pending operations of all banks.
//
//   1  Every bank has a log region, which is divided into one-line blocks for entries and two-line
//      blocks for headers. It has a FIFO of free blocks for each kind (FLE, FH).
//   2  An entry takes the first free block of the bank with the lowest operation counter; among
//      equal counters, the first bank. A counter has 8 bits, and saturates at its highest value.
//   3  A header's two lines are adjacent lines of one bank.
//   4  Released blocks are appended to their FIFO.
//   5  The FIFOs are lost in a crash, and recovery rebuilds them. They then contain all
//      blocks except those of the records that the chains of headers lead to
//      (designs/atomicity/blocks_in_use.hpp). When recovery is complete, no log is needed any more:
//      the FIFOs contain all blocks, as at the beginning.
//   6  A header's second line contains the locations of the entries, and links the record to the
//      core's previous record. A non-volatile register of the core (LR) heads this chain.
//
// Difference from the paper: the paper's chain runs forward. LR has the first header's location,
// and each next_ptr the location of the next header. A header could then be written only after the
// next header's location is chosen. In this model, LR has the newest header's location, and links
// lead back. A header's location is therefore chosen when the header is buffered or written.
//
// Where the paper is silent: if no bank has a free block, every bank's region grows by its initial
// number of blocks (like ASAP's ring, ASAP 4.4).
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "pmemsim/designs/atomicity/hardware_log_parameters.hpp"
#include "pmemsim/designs/atomicity/log_space.hpp"
#include "pmemsim/designs/backend/backend.hpp"

namespace pmemsim {

// The banks' regions and their FIFOs.
class LoadAwareLog {
 public:
  // Rule 5: after a crash, `in_use` contains the entries and the headers' first lines still needed.
  LoadAwareLog(const Backend& pm, std::uint32_t banks, const HardwareLogParameters& parameters,
               std::uint64_t growths = 0, const std::set<Line>& in_use = {});

  Line entry();
  // Returns the bank that a header would go to now, among those whose channels pass `has_space`;
  // nothing if there is no such channel.
  template <class HasSpace>
  std::optional<std::uint32_t> header_bank(HasSpace has_space) {
    return least_loaded(
        [&](const Bank& bank) { return !bank.free_headers.empty() && has_space(bank.channel); });
  }
  HeaderPlace header(std::uint32_t bank);
  std::uint32_t channel(std::uint32_t bank) const { return banks_[bank].channel; }
  // Implements rule 4 of the head comment.
  void free_entry(Line place) { banks_[pm_.bank_of(place)].free_entries.push_back(place); }
  void free_header(HeaderPlace place) {
    banks_[pm_.bank_of(place.first)].free_headers.push_back(place);
  }

  const std::deque<Line>& free_entries(std::uint32_t bank) const {
    return banks_[bank].free_entries;
  }
  const std::deque<HeaderPlace>& free_headers(std::uint32_t bank) const {
    return banks_[bank].free_headers;
  }

  // Grows all banks' regions if no bank has a free header.
  void grow_if_empty();
  // Returns the number of lines from a header's first to its second.
  std::uint64_t header_stride() const { return header_stride_; }
  std::uint64_t growths() const { return growths_; }

 private:
  struct Bank {
    std::uint32_t channel = 0;
    std::deque<Line> free_entries;         // FLE FIFO
    std::deque<HeaderPlace> free_headers;  // FH FIFO
    std::optional<Line> first_half;        // first line of a header, until its second is found
  };
  static constexpr std::uint32_t kHighestCount = 255;
  // Applies rule 2, among the banks that are usable.
  template <class Usable>
  std::optional<std::uint32_t> least_loaded(Usable usable) const {
    const std::span<const std::uint32_t> operations = pm_.pending_operations();
    std::optional<std::uint32_t> best;
    std::uint32_t fewest = UINT32_MAX;
    for (std::uint32_t bank = 0; bank < banks_.size() && fewest > 0; ++bank) {
      const std::uint32_t counter = std::min(operations[bank], kHighestCount);
      if (counter >= fewest || !usable(banks_[bank])) continue;
      best = bank;
      fewest = counter;
    }
    return best;
  }
  void extend();

  const Backend& pm_;
  const std::uint32_t entries_, headers_;
  std::uint64_t header_stride_ = 1;
  std::vector<Bank> banks_;
  Line next_{kLogBase / kLineBytes};
  std::uint64_t growths_;
};

// The banks' regions, and the cores' chains.
class LoadAwareSpace final : public LogSpace {
 public:
  LoadAwareSpace(const Backend& pm, std::uint32_t cores, std::uint32_t banks,
                 const HardwareLogParameters& parameters);
  const LoadAwareLog& banks() const { return banks_; }

  std::optional<HeaderPlace> begin_record(CoreId) override { return {}; }
  std::optional<HeaderPlace> place_header(const HeaderBuffer* buffer) override;
  bool header_fits(CoreId, const HeaderBuffer& buffer) override {
    return header_bank(&buffer).has_value();
  }
  bool may_go_to(CoreId, std::uint32_t) const override { return true; }
  std::uint32_t header_channel(CoreId) override { return banks_.channel(*header_bank(nullptr)); }
  Line entry(const std::optional<HeaderPlace>&, std::uint32_t) override { return banks_.entry(); }
  void free_entry(Line place) override { banks_.free_entry(place); }
  void free_header(CoreId, HeaderPlace place) override { banks_.free_header(place); }

  // Implements rule 6 of the head comment.
  std::optional<Line> append(CoreId core, Line header) override {
    return std::exchange(last_[core], header);
  }
  void link(CoreId core, Line header) override { newest_[core] = header; }
  void link_last(CoreId core) override { newest_[core] = last_[core]; }

  std::uint64_t initial_records() const override { return initial_records_; }
  std::uint64_t growths() const override { return banks_.growths(); }
  void survive(LogSurvivors& survivors) const override;

 private:
  std::optional<std::uint32_t> header_bank(const HeaderBuffer* buffer);

  LoadAwareLog banks_;
  const std::uint64_t initial_records_;
  const bool registers_survive_;
  std::vector<std::optional<Line>> newest_;  // LR
  std::vector<std::optional<Line>> last_;    // the last located header
};

}  // namespace pmemsim
