// The parameters of one memory of a machine. A machine has two memories: the groups "dram" and
// "pm".
//
// The defaults are DDR4-2400 as gem5 24 describes it (src/mem/DRAMInterface.py, DDR4_2400_16x4),
// with the controller policy of gem5 (src/mem/MemCtrl.py). Writes drain between 85% and 50% of the
// WPQ, with at least 16 writes per switch, and an idle channel holds the others. The front end and
// the back end take 10 ns each. Rows close after 16 accesses. No bits are hashed. Presets of
// machines state every value.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pmemsim/common/parameters.hpp"
#include "pmemsim/common/units.hpp"
#include "pmemsim/machine/memory/write.hpp"

namespace pmemsim {

enum class DeviceKind : std::uint8_t {
  kDram,      // banks with row buffers: DRAM, PCM
  kFixed,     // every access occupies its bank for the same time: simple NVM models
  kBuffered,  // a module with buffers before media of larger lines: Optane (internal_buffer.hpp)
};
inline std::span<const std::string_view> choice_names(DeviceKind) {
  static constexpr std::string_view kNames[] = {"dram", "fixed", "buffered"};
  return kNames;
}

enum class Interleaving : std::uint8_t { kPage, kLine };
inline std::span<const std::string_view> choice_names(Interleaving) {
  static constexpr std::string_view kNames[] = {"page", "line"};
  return kNames;
}

// The policy of a channel without reads for its writes at or below the low watermark.
enum class IdleWrites : std::uint8_t { kDrain, kHold };
inline std::span<const std::string_view> choice_names(IdleWrites) {
  static constexpr std::string_view kNames[] = {"drain", "hold"};
  return kNames;
}

enum class PagePolicy : std::uint8_t { kOpen, kClosed };
inline std::span<const std::string_view> choice_names(PagePolicy) {
  static constexpr std::string_view kNames[] = {"open", "closed"};
  return kNames;
}

// Location of the queues when a link (CXL) connects the host and the device.
enum class QueuePlace : std::uint8_t { kHost, kDevice };
inline std::span<const std::string_view> choice_names(QueuePlace) {
  static constexpr std::string_view kNames[] = {"host", "device"};
  return kNames;
}

inline std::span<const std::string_view> choice_names(PersistencePoint) {
  static constexpr std::string_view kNames[] = {"accepted", "written"};
  return kNames;
}

inline constexpr std::uint32_t kMostBanks = 64;  // limit of banks in a channel

// Fault injections: each one removes one protective mechanism, or falsifies a time.
struct MemoryFaults {
  bool merge = false;
  bool device = false;
  bool acknowledgement = false;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("merge", merge, "two writes that coalesce keep the older one's data");
    visit("device", device, "the device doesn't write the last byte of a line");
    visit("acknowledgement", acknowledgement,
          "the acknowledgement of a write lacks the time in the controller's front end");
  }
};

struct MemoryParameters {
  std::uint32_t controllers = 1;
  std::uint32_t channels_per_controller = 1;
  std::uint32_t ranks = 1;
  std::uint32_t banks_per_rank = 16;
  Bytes row_size{8192};
  Interleaving interleaving = Interleaving::kPage;
  Bytes page_size{4096};
  bool channel_hashing = false;
  bool bank_hashing = false;

  DeviceKind device = DeviceKind::kDram;
  Picoseconds read_latency{175'000};
  Picoseconds write_latency{94'000};
  Picoseconds write_occupancy{0};
  Bytes internal_line{256};
  std::uint32_t read_buffer_lines = 64;
  std::uint32_t write_buffer_lines = 64;
  Picoseconds buffer_latency{50'000};
  Picoseconds media_read_interval{40'000};
  Picoseconds media_write_interval{110'000};
  Picoseconds read_after_write_latency{0};
  std::uint32_t wear_writes = 0;
  Bytes wear_block{64 << 10};
  Picoseconds wear_latency{0};
  Picoseconds trcd{14'160};
  Picoseconds tcl{14'160};
  Picoseconds tcwd{14'160};
  Picoseconds trp{14'160};
  Picoseconds tras{32'000};
  Picoseconds twr{15'000};
  Picoseconds twtr{5'000};
  Picoseconds trtp{7'500};
  Picoseconds trtw{1'666};
  Picoseconds trrd{3'332};
  Picoseconds tfaw{13'328};
  Picoseconds tburst{3'332};
  Picoseconds trfc{350'000};
  Picoseconds trefi{7'800'000};
  Ratio latency_factor{1};

  std::uint32_t read_queue_entries = 64;
  std::uint32_t wpq_entries = 128;
  Ratio write_high_watermark{0.85};
  Ratio write_low_watermark{0.5};
  std::uint32_t min_writes_per_switch = 16;
  IdleWrites idle_writes = IdleWrites::kHold;
  PagePolicy page_policy = PagePolicy::kOpen;
  std::uint32_t max_accesses_per_row = 16;
  Picoseconds front_latency{10'000};
  Picoseconds back_latency{10'000};

  PersistencePoint persistence = PersistencePoint::kAccepted;
  std::uint32_t log_queue_entries = 0;
  bool write_merging = true;

  Picoseconds link_latency{0};
  Bandwidth link_bandwidth{0};
  QueuePlace queue_place = QueuePlace::kHost;

  MemoryFaults faults;  // not in describe(): only PM has faults

  std::uint32_t channels() const { return controllers * channels_per_controller; }
  std::uint32_t banks() const { return ranks * banks_per_rank; }  // banks in a channel

  // Returns the kinds of device that use the parameter of this name. Returns all kinds for a name
  // that no list contains.
  static std::vector<DeviceKind> devices_of(std::string_view name);

  // Returns the conflicts between values that are each within their limits. Empty if there are
  // none.
  std::vector<std::string> problems() const;

  template <class Visitor>
  void describe(Visitor& visit) {
    constexpr double kSecond = 1e12;
    visit("controllers", controllers, {.least = 1, .most = 64}, "Number of memory controllers");
    visit("channels_per_controller", channels_per_controller, {.least = 1, .most = 16},
          "Number of channels per controller, each with its own queues, banks and data bus");
    visit("ranks", ranks, {.least = 1, .most = 8, .power_of_two = true},
          "Number of ranks per "
          "channel");
    visit("banks_per_rank", banks_per_rank, {.least = 1, .most = 64, .power_of_two = true},
          "Number of banks per rank; a channel has at most 64 banks");
    visit("row_size", row_size, {.least = 64, .most = 1 << 20, .power_of_two = true},
          "Size of a bank's row buffer");
    visit("interleaving", interleaving, {},
          "Whether consecutive pages or consecutive lines are in different channels and banks");
    visit("page_size", page_size, {.least = 64, .most = 1 << 30, .power_of_two = true},
          "Number of consecutive bytes in one bank with page interleaving");
    visit("channel_hashing", channel_hashing, {},
          "Whether the number of a channel is XORed with higher bits of the address, so that "
          "accesses at regular distances use all channels");
    visit("bank_hashing", bank_hashing, {},
          "Whether the number of a bank is XORed with bits of the row's number, so that rows at "
          "regular distances are in different banks");

    visit("device", device, {},
          "dram: banks with row buffers and the t* timings; fixed: every access occupies its bank "
          "for read_latency or write_latency; buffered: buffers in front of media with larger "
          "lines");
    visit("read_latency", read_latency, {.most = kSecond},
          "Time of a read: in a fixed device, from its start in the bank to the first data on the "
          "bus; in a buffered device, from its start in the media to the line in the buffer");
    visit("write_latency", write_latency, {.most = kSecond},
          "Time in which a bank of a fixed device writes data that it has received");
    visit("write_occupancy", write_occupancy, {.most = kSecond},
          "Time for which a write that a bank of a fixed device has received occupies it, which "
          "limits its bandwidth; 0ps: write_latency");
    visit("internal_line", internal_line, {.least = 64, .most = 4096, .power_of_two = true},
          "Size of the lines that a buffered device's media reads and writes");
    visit("read_buffer_lines", read_buffer_lines, {.least = 1, .most = 1024},
          "Size of a buffered device's read buffer in internal lines");
    visit("write_buffer_lines", write_buffer_lines, {.least = 1, .most = 1024},
          "Size of a buffered device's write-combining buffer in internal lines");
    visit("buffer_latency", buffer_latency, {.most = kSecond},
          "Time from a buffered device's start of a read to the first data on the bus, beyond the "
          "media's time");
    visit("media_read_interval", media_read_interval, {.most = kSecond},
          "Time in which a buffered device's media reads an internal line, which limits its "
          "bandwidth");
    visit("media_write_interval", media_write_interval, {.most = kSecond},
          "Time in which a buffered device's media writes an internal line, which limits its "
          "bandwidth");
    visit("read_after_write_latency", read_after_write_latency, {.most = kSecond},
          "Time after a write during which a buffered device doesn't serve reads of its line");
    visit("wear_writes", wear_writes, {.most = 1'000'000'000},
          "Number of writes of internal lines to a block of a buffered device before the block is "
          "migrated (wear levelling); 0: never");
    visit("wear_block", wear_block, {.least = 64, .most = 1 << 30, .power_of_two = true},
          "Size of the blocks that wear levelling migrates");
    visit("wear_latency", wear_latency, {.most = kSecond},
          "Time for which the migration of a block occupies the media of a buffered device");
    visit("trcd", trcd, {.most = kSecond},
          "Time from activating a row to its first column "
          "command (tRCD)");
    visit("tcl", tcl, {.most = kSecond},
          "Time from a read command to its first data on the bus "
          "(tCL)");
    visit("tcwd", tcwd, {.most = kSecond},
          "Time from a write command to its first data on the "
          "bus (tCWD)");
    visit("trp", trp, {.most = kSecond},
          "Time from a precharge to an activation of the same bank "
          "(tRP)");
    visit("tras", tras, {.most = kSecond},
          "Time from an activation to a precharge of the same "
          "bank (tRAS)");
    visit("twr", twr, {.most = kSecond},
          "Time from the last data of a write to a precharge of its bank: the array's write time "
          "(tWR)");
    visit("twtr", twtr, {.most = kSecond},
          "Time from the last data of a write to the next read command of the same rank (tWTR)");
    visit("trtp", trtp, {.most = kSecond},
          "Time from a read command to a precharge of the same "
          "bank (tRTP)");
    visit("trtw", trtw, {.most = kSecond}, "Gap on the data bus between a read and a write (tRTW)");
    visit("trrd", trrd, {.most = kSecond}, "Time between two activations in the same rank (tRRD)");
    visit("tfaw", tfaw, {.most = kSecond},
          "Window in which a rank activates at most four rows (tFAW)");
    visit("tburst", tburst, {.most = kSecond}, "Time of a line on the data bus (tBURST)");
    visit("trfc", trfc, {.most = kSecond},
          "Time for which a refresh occupies all banks of a "
          "channel (tRFC)");
    visit("trefi", trefi, {.most = kSecond}, "Time between refreshes (tREFI); 0ps: no refreshes");
    visit("latency_factor", latency_factor, {.least = 0.01, .most = 1000},
          "Factor for the array's timings (trcd, tcl, tcwd, trp, tras, twr, trtp, read_latency, "
          "write_latency, write_occupancy), but not for those of bus and power");

    visit("read_queue_entries", read_queue_entries, {.least = 1, .most = 4096},
          "Entries of each channel's read queue; further reads wait in order of arrival");
    visit("wpq_entries", wpq_entries, {.least = 1, .most = 4096},
          "Entries of each channel's write pending queue (WPQ); further writes wait in order of "
          "arrival");
    visit("write_high_watermark", write_high_watermark, {.least = 0, .most = 1},
          "Occupancy of the WPQ above which a channel switches from reads to writes");
    visit("write_low_watermark", write_low_watermark, {.least = 0, .most = 1},
          "Occupancy of the WPQ above which a channel without pending reads always writes");
    visit("min_writes_per_switch", min_writes_per_switch, {.least = 1, .most = 4096},
          "Number of writes, if available, before a channel switches back to pending reads");
    visit(
        "idle_writes", idle_writes, {},
        "What a channel without pending reads does with its last writes, up to the low watermark. "
        "drain: it writes them; hold: they wait in the WPQ, where later writes coalesce with them");
    visit("page_policy", page_policy, {},
          "open: a row stays open until another row is accessed; closed: a row is closed after "
          "each access");
    visit("max_accesses_per_row", max_accesses_per_row, {.least = 1, .most = 1'000'000},
          "Number of accesses after which a row closes for an older request to another row of its "
          "bank, which prevents starvation");
    visit(
        "front_latency", front_latency, {.most = kSecond},
        "Time in the controller's front end: part of every read and of a write's acknowledgement");
    visit("back_latency", back_latency, {.most = kSecond},
          "Time in the controller's back end: part of every read that a bank serves");

    visit("persistence", persistence, {},
          "When a write is persistent. accepted: after its acceptance by the WPQ (ADR); written: "
          "after its bank has written it");
    visit("log_queue_entries", log_queue_entries, {.least = 0, .most = 4096},
          "Entries of each channel's log queue. Its writes (log entries and headers) are "
          "persistent when their bank has written them; 0: they enter the WPQ like all others");
    visit("write_merging", write_merging, {},
          "Whether a write coalesces with a pending one of the same line, kind and owner");

    visit("link_latency", link_latency, {.most = kSecond},
          "Latency in each direction of a link (CXL) between a controller's host and its device; "
          "0ps: no link");
    visit("link_bandwidth", link_bandwidth, {},
          "Data rate in each direction of each controller's link; 0B/s: no limit");
    visit(
        "queue_place", queue_place, {},
        "Whether the queues, and thus the persistence domain, are at the host's end of the link or "
        "in the device");
  }
};

}  // namespace pmemsim
