// What a thread makes of data that it has read from others before they are sure to persist: rule
// P9 of program_check.hpp.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "pmemsim/check/findings.hpp"
#include "pmemsim/check/flush_check.hpp"
#include "pmemsim/check/lines.hpp"
#include "pmemsim/crash/happens_before.hpp"
#include "pmemsim/trace/reader.hpp"

namespace pmemsim::check {

class ReadCheck {
 public:
  ReadCheck(Findings& findings, const Lines& lines, const FlushCheck& flushes,
            const trace::SiteTable& sites, const HappensBefore& order, CoreId thread)
      : findings_(findings),
        lines_(lines),
        flushes_(flushes),
        sites_(sites),
        order_(order),
        thread_(thread) {}

  void load_pm(const At& at, std::uint64_t address, std::uint64_t bytes);
  void store_pm(const At& at, std::uint64_t address);
  // Of words, which carry values from one register to another.
  void load_volatile(const At& at, std::uint64_t address);
  void store_volatile(const At& at, std::uint64_t address);

 private:
  struct Read {
    At at;
    Line line;
    Words words;
    std::uint32_t version;  // of the line
  };

  const Read* read_by(const At& store, bool data_only) const;
  bool still_unsure(const Read& read) const;

  Findings& findings_;
  const Lines& lines_;
  const FlushCheck& flushes_;
  const trace::SiteTable& sites_;
  const HappensBefore& order_;
  const CoreId thread_;
  std::unordered_map<std::uint32_t, Read> by_site_;     // whose latest load has read such data
  std::unordered_map<std::uint64_t, Read> by_address_;  // volatile words made of it
};

}  // namespace pmemsim::check
