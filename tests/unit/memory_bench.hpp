// A test bench for the memory: timings that are easy to add up, and a record of the time at which
// every request was answered.
#pragma once

#include <cstring>
#include <map>
#include <ostream>
#include <vector>

#include "pmemsim/common/event_queue.hpp"
#include "pmemsim/machine/memory/memory.hpp"
#include "pmemsim/machine/memory/memory_parameters.hpp"
#include "pmemsim/machine/memory/memory_statistics.hpp"

namespace pmemsim {

// GoogleTest prints times with it.
inline void PrintTo(const Picoseconds& time, std::ostream* out) { *out << time.count << "ps"; }
inline void PrintTo(const Time& time, std::ostream* out) { *out << "at " << time.count << "ps"; }

constexpr Picoseconds ns(std::int64_t count) { return {count * 1000}; }
// Time after the start of the run.
constexpr Time at_ns(std::int64_t count) { return Time{} + ns(count); }

// One channel and one rank with four banks, whose rows have two lines. Every timing is a different
// round number.
inline MemoryParameters simple_memory() {
  MemoryParameters p;
  p.controllers = p.channels_per_controller = p.ranks = 1;
  p.banks_per_rank = 4;
  p.row_size = {128};
  p.page_size = {128};
  p.trcd = ns(10);
  p.tcl = ns(20);
  p.tcwd = ns(15);
  p.trp = ns(30);
  p.tras = ns(50);
  p.twr = ns(100);
  p.twtr = ns(7);
  p.trtp = ns(6);
  p.trtw = ns(3);
  p.trrd = ns(2);
  p.tfaw = ns(40);
  p.tburst = ns(5);
  p.trefi = ns(0);
  p.front_latency = p.back_latency = ns(0);
  p.read_queue_entries = 16;
  p.wpq_entries = 8;
  p.min_writes_per_switch = 2;
  return p;
}

// The line of simple_memory() in this bank and row; `column` 0 is the row's first line, 1 its
// second.
constexpr Line line_in(std::uint64_t bank, std::uint64_t row, std::uint64_t column = 0) {
  return {(row * 4 + bank) * 2 + column};
}

inline LineData data_of(std::uint64_t value) {
  LineData data{};
  std::memcpy(data.data(), &value, sizeof value);
  return data;
}

inline std::uint64_t value_of(const LineData& data) {
  std::uint64_t value = 0;
  std::memcpy(&value, data.data(), sizeof value);
  return value;
}

class MemoryBench {
 public:
  explicit MemoryBench(const MemoryParameters& parameters) : memory(queue, parameters) {}

  // The test gives each request a number, by which the request's times are recorded.
  void read(std::uint64_t number, Line line) {
    memory.read(line, completion<&MemoryBench::note_read>(*this, number));
  }
  WriteId write(std::uint64_t number, Line line, WriteKind kind = WriteKind::kData,
                std::uint64_t owner = 0) {
    return memory.write(make_write(number, line, kind, owner));
  }
  WriteId write_reserved(std::uint64_t number, Line line, WriteKind kind = WriteKind::kData) {
    return memory.write_reserved(make_write(number, line, kind, 0));
  }
  // Executes all events up to and including `until`, which becomes the current time.
  void run_until(Time until) {
    bool reached = false;
    queue.schedule(
        until, Phase::kCore,
        {[](void* flag, std::uint64_t, Time) { *static_cast<bool*>(flag) = true; }, &reached, 0});
    while (!reached) queue.step();
  }
  void run() {
    while (queue.step()) {
    }
  }
  void drain() {
    memory.drain();
    run();
  }

  EventQueue queue;
  Memory memory;
  std::map<std::uint64_t, std::vector<Time>> read_at, persisted_at, written_at;

 private:
  Write make_write(std::uint64_t number, Line line, WriteKind kind, std::uint64_t owner) {
    return {line,
            kind,
            owner,
            data_of(number),
            completion<&MemoryBench::note_persisted>(*this, number),
            completion<&MemoryBench::note_written>(*this, number)};
  }
  void note_read(std::uint64_t number, Time when) { read_at[number].push_back(when); }
  void note_persisted(std::uint64_t number, Time when) { persisted_at[number].push_back(when); }
  void note_written(std::uint64_t number, Time when) { written_at[number].push_back(when); }
};

}  // namespace pmemsim
