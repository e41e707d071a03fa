// Parameters of PMWeaver (PACT 2021, Table I).
#pragma once

#include <span>
#include <string_view>

#include "pmemsim/common/parameters.hpp"

namespace pmemsim {

// The parts of a write that are computed early.
enum class Predicted : std::uint8_t { kAddressAndData, kAddress, kNothing };

inline std::span<const std::string_view> choice_names(Predicted) {
  static constexpr std::string_view kNames[] = {"address+data", "address", "nothing"};
  return kNames;
}

// The source of the rules in which the paper and the authors' artifact differ.
enum class PmWeaverVariant : std::uint8_t { kPaper, kArtifact };

inline std::span<const std::string_view> choice_names(PmWeaverVariant) {
  static constexpr std::string_view kNames[] = {"paper", "artifact"};
  return kNames;
}

// Injected faults: each disables one protective mechanism.
struct PmWeaverFaults {
  bool merge = false;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("merge", merge,
          "unpredicted bytes of a line are merged from the next line, and not compared with the "
          "write");
  }
};

struct PmWeaverParameters {
  PmWeaverVariant variant = PmWeaverVariant::kPaper;
  std::uint32_t path_length = 32;
  std::uint32_t history_entries = 512;
  std::uint32_t history_ways = 16;
  std::uint32_t table_entries = 32;
  std::uint32_t table_ways = 4;
  std::uint32_t index_entries = 128;
  std::uint32_t pending_entries = 8;
  std::uint32_t timeout_entries = 4;
  Picoseconds timeout{150'000};
  std::uint32_t result_lines = 16;
  std::uint32_t results_a_line = 16;
  Picoseconds prediction_latency{3'000};
  Picoseconds result_latency{5'000};
  Predicted predicted = Predicted::kAddressAndData;
  bool learn_address_alone = false;
  bool zeros = true;
  bool next_pointers = false;
  bool value_deltas = false;
  PmWeaverFaults faults;

  bool as_artifact() const { return variant == PmWeaverVariant::kArtifact; }

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("variant", variant, {},
          "Rules of the paper or of its artifact, where these differ: learning, storage, timeouts, "
          "and constants instead of zeros (docs/explanation/precompute.md)");
    visit("path_length", path_length, {.least = 1, .most = 64},
          "Length of the PC path in store instructions");
    visit("history_entries", history_entries, {.least = 1, .most = 1e6},
          "Stores in a core's store history buffer");
    visit("history_ways", history_ways, {.least = 1, .most = 1e6},
          "Associativity of a core's store history buffer");
    visit("table_entries", table_entries, {.least = 1, .most = 1e6},
          "Patterns in a core's prediction table (unlimited in the artifact)");
    visit("table_ways", table_ways, {.least = 1, .most = 1e6},
          "Associativity of a core's prediction table");
    visit("index_entries", index_entries, {.least = 1, .most = 1e6},
          "Entries of a core's index generator (instructions for which predictions wait)");
    visit("pending_entries", pending_entries, {.least = 1, .most = 1e6},
          "Pending predictions of a core, which wait for values");
    visit("timeout_entries", timeout_entries, {.least = 0, .most = 1e6},
          "Lines in a core's timeout predictor table; 0: no timeout predictor");
    visit("timeout", timeout, {.least = 1, .most = 1e12},
          "Time without a store after which a line's current data are predicted");
    visit("result_lines", result_lines, {.least = 1, .most = 1e6},
          "Lines of the prediction result buffer per core of the machine; the cores share the "
          "buffer");
    visit("results_a_line", results_a_line, {.least = 1, .most = 1e6},
          "Predictions of one line in the prediction result buffer");
    visit(
        "prediction_latency", prediction_latency, {.most = 1e9},
        "Latency from a store's retirement to a prediction, through three structures in sequence");
    visit("result_latency", result_latency, {.most = 1e9},
          "Latency from a prediction to the result buffer");
    visit(
        "predicted", predicted, {},
        "Parts of a write that are precomputed; nothing: stores and write-backs are only counted");
    visit("learn_address_alone", learn_address_alone, {},
          "Whether the address of a write is learnt although not all of its data are found");
    visit("zeros", zeros, {}, "Whether zero chunks are predicted without a store");
    visit("next_pointers", next_pointers, {},
          "Whether an address that no store contains is searched in the lines to which stored "
          "pointers refer (named in VII; not in the artifact)");
    visit("value_deltas", value_deltas, {},
          "Whether addresses and data that no store contains are predicted by their difference "
          "from the last write of the same path (named in VII; not in the artifact)");
  }
};

}  // namespace pmemsim
