// Parameters of Janus (ISCA 2019, Table 3 and 4.3 to 4.6).
#pragma once

#include "pmemsim/common/parameters.hpp"

namespace pmemsim {

struct JanusParameters {
  std::uint32_t request_entries = 16;
  std::uint32_t operation_entries = 64;
  std::uint32_t result_entries = 64;
  std::uint32_t scale = 1;
  Picoseconds request_latency{15'000};
  Delay decode_latency = cycles(1);
  Picoseconds most_age{100'000'000};
  std::uint32_t call_instructions = 4;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("request_entries", request_entries, {.least = 1, .most = 1e6},
          "Entries of the pre-execution request queue per core of the machine; the cores share the "
          "queue");
    visit("operation_entries", operation_entries, {.least = 1, .most = 1e6},
          "Lines of the pre-execution operation queue per core of the machine; the cores share the "
          "queue");
    visit("result_entries", result_entries, {.least = 1, .most = 1e6},
          "Lines of the intermediate result buffer per core of the machine; the cores share the "
          "buffer");
    visit(
        "scale", scale, {.least = 0, .most = 1024},
        "Factor for the entries of both queues and of the buffer, and for the units; 0: no limits");
    visit("request_latency", request_latency, {.most = 1e9},
          "Latency from a call's retirement to the request queue");
    visit("decode_latency", decode_latency, {.least = 0, .most = 1e9},
          "Time of the decoder for each line");
    visit("most_age", most_age, {.least = 1, .most = 1e15},
          "Lifetime of an entry of the intermediate result buffer");
    visit("call_instructions", call_instructions, {.most = 1000},
          "Instructions that the program executes for a call of the pre-execution interface");
  }
};

}  // namespace pmemsim
