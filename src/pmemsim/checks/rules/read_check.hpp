// Check of stores that a thread computes from other threads' data while these data are possibly
// lost: rule P9 of program_check.hpp.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "pmemsim/analysis/happens_before.hpp"
#include "pmemsim/checks/rules/findings.hpp"
#include "pmemsim/checks/rules/flush_check.hpp"
#include "pmemsim/checks/rules/lines.hpp"
#include "pmemsim/trace/reader.hpp"

namespace pmemsim::check {

class ReadCheck {
 public:
  // A store computed from possibly lost data. `flushes`: the number of flushes of the data's line
  // until then.
  struct Built {
    Line line;
    std::uint32_t flushes;
    At read, store;
  };
  struct Shared {
    std::vector<Built> built{};
    std::size_t limit = 1 << 16;  // Number of stores at which those that are certain are reported
  };

  ReadCheck(Findings& findings, Shared& shared, const Lines& lines, const FlushCheck& flushes,
            const trace::SiteTable& sites, const HappensBefore& order, CoreId thread)
      : findings_(findings),
        shared_(shared),
        lines_(lines),
        flushes_(flushes),
        sites_(sites),
        order_(order),
        thread_(thread) {}

  void load_pm(const At& at, std::uint64_t address, std::uint64_t bytes);
  void store_pm(const At& at, std::uint64_t address);
  // Process loads and stores of volatile words, which carry values from one register to another.
  void load_volatile(const At& at, std::uint64_t address);
  void store_volatile(const At& at, std::uint64_t address);

  // Reports the findings when all threads have ended. Data that are never flushed are left out:
  // they are a finding of rule P1.
  static void finish(Findings& findings, const Shared& shared, const Lines& lines);

 private:
  struct Read {
    At at;
    Line line;
    Words words;
    bool pointer;           // True if the words may be a pointer
    std::uint32_t version;  // Version of the line
  };

  const Read* read_by(const At& store, bool data_only) const;
  bool still_possibly_lost(const Read& read) const;
  void report_certain();

  Findings& findings_;
  Shared& shared_;
  const Lines& lines_;
  const FlushCheck& flushes_;
  const trace::SiteTable& sites_;
  const HappensBefore& order_;
  const CoreId thread_;
  std::unordered_map<std::uint32_t, Read> by_site_;     // Sites that last loaded possibly lost data
  std::unordered_map<std::uint64_t, Read> by_address_;  // Volatile words made of possibly lost data
};

}  // namespace pmemsim::check
