#include "pmemsim/machine/memory/memory_parameters.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace pmemsim {

std::vector<DeviceKind> MemoryParameters::devices_of(std::string_view name) {
  using enum DeviceKind;
  static constexpr std::string_view kOfRows[] = {"trcd", "tcl",  "tcwd", "trp",
                                                 "tras", "twr",  "twtr", "trtp",
                                                 "trtw", "trrd", "tfaw", "page_policy"};
  static constexpr std::string_view kOfBuffers[] = {
      "internal_line",       "read_buffer_lines",    "write_buffer_lines",       "buffer_latency",
      "media_read_interval", "media_write_interval", "read_after_write_latency", "wear_writes",
      "wear_block",          "wear_latency"};
  if (std::ranges::find(kOfRows, name) != std::end(kOfRows)) return {kDram};
  if (std::ranges::find(kOfBuffers, name) != std::end(kOfBuffers)) return {kBuffered};
  if (name == "read_latency") return {kFixed, kBuffered};
  if (name == "write_latency" || name == "write_occupancy") return {kFixed};
  return {kDram, kFixed, kBuffered};
}

std::vector<std::string> MemoryParameters::problems() const {
  std::vector<std::string> found;
  if (banks() > kMostBanks) {
    found.push_back(
        fmt::format("ranks x banks_per_rank: {} x {} exceeds the limit of {} banks per channel",
                    ranks, banks_per_rank, kMostBanks));
  }
  if (write_low_watermark.value > write_high_watermark.value) {
    found.push_back(fmt::format("write_low_watermark: {} is above write_high_watermark, {}",
                                format_value(write_low_watermark),
                                format_value(write_high_watermark)));
  }
  if (trefi > Picoseconds{0} && trefi <= trfc) {
    found.push_back(fmt::format("trefi: a refresh every {} that takes {} (trfc) leaves no time",
                                format_value(trefi), format_value(trfc)));
  }
  const Bytes chunk = interleaving == Interleaving::kPage ? page_size : Bytes{kLineBytes};
  if (device == DeviceKind::kBuffered && internal_line > chunk) {
    found.push_back(fmt::format(
        "internal_line: {} don't lie in one channel, which has {} in a row; choose page "
        "interleaving with larger pages (interleaving, page_size)",
        format_value(internal_line), format_value(chunk)));
  }
  return found;
}

}  // namespace pmemsim
