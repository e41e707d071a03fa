// The parameters of DPO's persist buffers (MICRO 2016; PMEM-Spec, 8.1).
#pragma once

#include <span>
#include <string_view>

#include "pmemsim/common/parameters.hpp"

namespace pmemsim {

// The time until which the single write in flight blocks all others.
enum class DpoToken : std::uint8_t {
  kAccepted,      // the controller accepts the write
  kAcknowledged,  // the acknowledgement reaches the write's core
};

// The core whose write leaves next.
enum class DpoTurn : std::uint8_t {
  kCores,   // the next core in turn
  kOldest,  // the core whose store became visible first, among entries that may leave
};

// The fences that stall the store queue until the core's buffer is empty.
enum class DpoDrains : std::uint8_t {
  kDurable,  // fences that make durable, or whose meaning isn't known
  kAll,      // all fences, since an sfence doesn't say what it is for
};

inline std::span<const std::string_view> choice_names(DpoToken) {
  static constexpr std::string_view kNames[] = {"accepted", "acknowledged"};
  return kNames;
}
inline std::span<const std::string_view> choice_names(DpoTurn) {
  static constexpr std::string_view kNames[] = {"cores", "oldest"};
  return kNames;
}
inline std::span<const std::string_view> choice_names(DpoDrains) {
  static constexpr std::string_view kNames[] = {"durable", "all"};
  return kNames;
}

// Injected faults: each disables one protective mechanism.
struct DpoFaults {
  bool order = false;
  bool token = false;
  bool dependences = false;
  bool snoop = false;
  bool fence = false;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("order", order, "a buffer drains the later one of two entries first");
    visit("token", token, "several writes are in flight at the same time");
    visit("dependences", dependences, "no entry waits for an entry of another core");
    visit("snoop", snoop, "reads of PM don't snoop the persist buffers");
    visit("fence", fence, "fences don't wait for the persist buffer");
  }
};

struct DpoParameters {
  std::uint32_t buffer_entries = 8;
  Picoseconds path_latency{20'000};
  DpoToken token_until = DpoToken::kAccepted;
  DpoTurn turn = DpoTurn::kCores;
  DpoDrains draining_fences = DpoDrains::kDurable;
  Delay snoop_latency = cycles(1);
  DpoFaults faults;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("buffer_entries", buffer_entries, {.least = 2, .most = 4096},
          "Entries of a core's persist buffer (stores and barriers that are not persistent yet)");
    visit("path_latency", path_latency, {.least = 1, .most = 1e9},
          "Latency from a core's persist buffer to the PM controllers");
    visit("token_until", token_until, {},
          "Whether the single write in flight blocks others until its acceptance, or until its "
          "core receives the acknowledgement");
    visit("turn", turn, {},
          "Whether the cores write in turn, or the oldest store is written first");
    visit("draining_fences", draining_fences, {},
          "Whether only durability fences wait for an empty persist buffer, or all fences");
    visit("snoop_latency", snoop_latency, {.most = 1e6},
          "Additional latency of every line fetched into a core's caches, for each core whose "
          "buffer is snooped");
  }
};

}  // namespace pmemsim
