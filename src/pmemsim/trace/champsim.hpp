// Converts a trace of ChampSim into a recording that has times but no values.
//
//   1  A record of the trace is one instruction. Its loads, stores and branch become operations,
//      in this order; instructions without these are counted by the next operation.
//   2  An operation's site is the instruction's address and its place in the instruction. The
//      site's file name is that address. The number of instructions before the operation is a
//      property of the site, so that an instruction with several predecessors has several sites.
//   3  The trace has lines but no widths: each access is of the 8 aligned bytes that contain the
//      address. Stored bytes are zero.
//   4  A site's dependences are those of the registers that its first two executions read, through
//      one cycle for each instruction between. The stack pointer and the instruction pointer carry
//      no dependence, since processors predict them.
//   5  Conditional branches, and indirect jumps and calls, are operations. Processors predict other
//      jumps and calls, and returns, which are counted as instructions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "pmemsim/trace/format.hpp"
#include "pmemsim/trace/writer.hpp"

namespace pmemsim::trace {

enum class ChampsimVariant : std::uint8_t { kUsual, kCloudsuite };

// A record of either variant; unused fields are zero.
struct ChampsimRecord {
  std::uint64_t ip;
  bool is_branch, taken;
  std::array<std::uint8_t, 4> destinations, sources;
  std::array<std::uint64_t, 4> stores, loads;
};

class ChampsimImport {
 public:
  // Writes the recording to `path`, without the first `skip` records, and at most `most` records.
  ChampsimImport(std::string path, ChampsimVariant variant, std::uint64_t skip, std::uint64_t most);

  // Converts the next bytes of the trace, which may end within a record. Returns false if no more
  // are wanted. Throws Error, which names the record.
  bool add(std::span<const std::byte> bytes);

  // Ends the operations. Throws Error if the trace ends within a record, or if there is no record.
  void end();

  // Writes the metadata and the table of sites, and completes the file.
  void finish(const std::string& metadata);

  std::uint64_t records() const { return converted_; }
  std::uint64_t operations() const { return operations_; }

 private:
  // The loads on which a register's value depends, with the cycles since each.
  struct Sources {
    static constexpr std::size_t kMost = 4;
    std::array<std::uint32_t, kMost> loads{};  // (site << 8) | cycles
    std::uint32_t count = 0;
    void add(std::uint32_t load, std::uint32_t cycles);
  };
  struct SiteKey {
    std::uint64_t ip;
    std::uint32_t slot, instructions;
    bool operator==(const SiteKey&) const = default;
  };
  // Numbers of sites by their keys: a hash table whose collisions are in the next entries, since
  // each operation is looked up.
  class SiteNumbers {
   public:
    // Returns the entry of the key: the number, or 0 for a new key. The caller sets a new number.
    std::uint32_t& find(const SiteKey& key);

   private:
    struct Entry {
      SiteKey key{};
      std::uint32_t number = 0;
    };
    std::uint32_t& place_of(const SiteKey& key);
    std::vector<Entry> entries_ = std::vector<Entry>(1u << 12);
    std::size_t used_ = 0;
  };

  void add_record(const std::byte* bytes);
  void convert(const ChampsimRecord& record, std::uint64_t next_ip);
  void convert_branch(const ChampsimRecord& record, std::uint64_t next_ip, const Sources& read);
  void pass_plain(std::uint64_t ip);
  std::uint32_t site(std::uint64_t ip, std::uint32_t slot, SiteKind kind, const Sources& read);
  void note_second_execution(std::uint32_t site, const Sources& read);
  Sources read_by(const ChampsimRecord& record) const;
  void begin(std::uint32_t site, bool flag = false);
  template <class Value>
  void put(Value value);
  void end_frame();
  std::vector<std::byte> site_table() const;

  Writer writer_;
  ChampsimVariant variant_;
  std::uint64_t skip_, most_;
  std::vector<std::byte> partial_;  // the begin of a record whose end is in the next bytes
  std::uint64_t read_ = 0;          // records read, skipped ones included
  std::uint64_t converted_ = 0;
  ChampsimRecord pending_{};  // converted when the address of its successor is known
  bool is_pending_ = false;
  std::uint32_t before_ = 0;  // instructions since the last operation
  std::array<Sources, 256> registers_{};
  SiteNumbers numbers_;
  std::vector<SiteRecord> sites_;
  std::vector<Sources> sources_;                            // by site
  std::vector<bool> executed_twice_;                        // by site
  std::unordered_map<std::uint64_t, std::uint32_t> names_;  // offsets of strings, by ip
  std::string strings_;
  std::vector<std::byte> frame_ = std::vector<std::byte>(kMaxFrameBytes);
  std::size_t frame_bytes_ = 0;
  std::uint64_t frame_operations_ = 0;
  std::uint64_t operations_ = 0;
};

}  // namespace pmemsim::trace
