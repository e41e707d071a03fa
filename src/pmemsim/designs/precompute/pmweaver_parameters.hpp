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

// The source of rules: the paper, or the authors' artifact where it differs.
enum class PmWeaverVariant : std::uint8_t { kPaper, kArtifact };

inline std::span<const std::string_view> choice_names(PmWeaverVariant) {
  static constexpr std::string_view kNames[] = {"paper", "artifact"};
  return kNames;
}

// Injected faults: each takes one protective mechanism away.
struct PmWeaverFaults {
  bool merge = false;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("merge", merge,
          "what isn't predicted of a line is merged from the next one, and isn't compared "
          "with the write");
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
    visit(
        "variant", variant, {},
        "Whose rules: the paper's, or its artifact's, where these differ: what is learnt and kept, "
        "timeouts, and constants instead of zeros (docs/explanation/precompute.md)");
    visit("path_length", path_length, {.least = 1, .most = 64},
          "PC path: store instructions that it looks back");
    visit("history_entries", history_entries, {.least = 1, .most = 1e6},
          "Store history buffer of a core: values");
    visit("history_ways", history_ways, {.least = 1, .most = 1e6}, "Its ways");
    visit("table_entries", table_entries, {.least = 1, .most = 1e6},
          "Prediction table of a core: patterns (the artifact has no limit)");
    visit("table_ways", table_ways, {.least = 1, .most = 1e6}, "Its ways");
    visit("index_entries", index_entries, {.least = 1, .most = 1e6},
          "Index generator of a core: instructions that predictions wait for");
    visit("pending_entries", pending_entries, {.least = 1, .most = 1e6},
          "Predictions of a core that wait for values");
    visit("timeout_entries", timeout_entries, {.least = 0, .most = 1e6},
          "Timeout predictor table of a core: lines; 0: without that predictor");
    visit("timeout", timeout, {.least = 1, .most = 1e12},
          "Time without a store after which a line is predicted to be as it is");
    visit("result_lines", result_lines, {.least = 1, .most = 1e6},
          "Prediction result buffer: lines for each core of the machine, which share it");
    visit("results_a_line", results_a_line, {.least = 1, .most = 1e6},
          "Prediction result buffer: predictions of one line");
    visit("prediction_latency", prediction_latency, {.most = 1e9},
          "From a store's retirement until a prediction is made: three structures, one after the "
          "other");
    visit("result_latency", result_latency, {.most = 1e9},
          "Until a prediction has come to the result buffer");
    visit("predicted", predicted, {},
          "What of a write is worked out early; nothing: stores and write-backs are counted, that "
          "is all");
    visit("learn_address_alone", learn_address_alone, {},
          "Whether a write whose data aren't all found is learnt by its address");
    visit("zeros", zeros, {}, "Whether chunks that are zero are predicted without a store");
    visit("next_pointers", next_pointers, {},
          "Whether an address that no store has is looked for in the lines that stored pointers "
          "lead to (named in VII; not the artifact's)");
    visit("value_deltas", value_deltas, {},
          "Whether addresses and data that no store has are predicted by their difference from the "
          "last write of the same path (named in VII; not the artifact's)");
  }
};

}  // namespace pmemsim
