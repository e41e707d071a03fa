// Everything that can be configured: the machine, the design's four layers, the run. One
// describe() declares it all; parsing, printing and documentation follow from it.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "pmemsim/atomicity/asap_parameters.hpp"
#include "pmemsim/atomicity/hardware_log_parameters.hpp"
#include "pmemsim/atomicity/hw_redo_parameters.hpp"
#include "pmemsim/atomicity/software_undo_parameters.hpp"
#include "pmemsim/cache/hierarchy.hpp"
#include "pmemsim/core/parameters.hpp"
#include "pmemsim/cpu/core_parameters.hpp"
#include "pmemsim/mem/memory_parameters.hpp"
#include "pmemsim/ordering/ordering_parameters.hpp"
#include "pmemsim/sim/synchronisation.hpp"

namespace pmemsim {

enum class OrderingChoice : std::uint8_t { kNone, kX86, kEadr };
enum class AtomicityChoice : std::uint8_t { kNone, kSoftwareUndo, kHwUndo, kHwRedo, kAsap, kLad };
enum class BackendChoice : std::uint8_t { kNone };
enum class PrecomputeChoice : std::uint8_t { kNone };
std::span<const std::string_view> choice_names(OrderingChoice);
std::span<const std::string_view> choice_names(AtomicityChoice);
std::span<const std::string_view> choice_names(BackendChoice);
std::span<const std::string_view> choice_names(PrecomputeChoice);

struct RunParameters {
  std::uint32_t instances = 1;
  LockOrder lock_order = LockOrder::kRecorded;
  bool hand_placed_flushes = false;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("instances", instances, {.least = 1, .most = 64},
          "Independent copies of the recording, each on cores and addresses of its own");
    visit(
        "lock_order", lock_order, {},
        "Who gets a lock: whoever got it when the program was recorded, so that all values in the "
        "trace hold, or whoever asks first in simulated time, so that they may not");
    visit(
        "hand_placed_flushes", hand_placed_flushes, {},
        "Whether only the flushes of a region's data take time, as if the program named the lines "
        "itself, and not the code of pm.h that has kept account of them");
  }
};

struct Configuration {
  OrderingChoice ordering = OrderingChoice::kX86;
  AtomicityChoice atomicity = AtomicityChoice::kSoftwareUndo;
  BackendChoice backend = BackendChoice::kNone;
  PrecomputeChoice precompute = PrecomputeChoice::kNone;
  RunParameters run;
  CoreParameters core;
  CacheParameters l1{
      .size = {32u << 10}, .ways = 8, .latency = cycles(4), .tag_latency = cycles(4)};
  CacheParameters l2{
      .size = {1u << 20}, .ways = 16, .latency = cycles(14), .tag_latency = cycles(14)};
  SharedCacheParameters shared;
  PathParameters path;
  MemoryParameters dram;
  MemoryParameters pm;
  X86Defects x86_defects;
  EadrDefects eadr_defects;
  SoftwareUndoDefects software_undo_defects;
  HardwareLogParameters log;
  HwRedoParameters hw_redo;
  AsapParameters asap;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("ordering", ordering, {}, "Layer 1: when stores become persistent, in which order");
    visit("atomicity", atomicity, {}, "Layer 2: what makes a region all-or-nothing");
    visit("backend", backend, {}, "Layer 3: what the controller does to a write before it counts");
    visit("precompute", precompute, {}, "Layer 4: who starts backend operations early");
    visit.group("run", run);
    visit.group("core", core);
    visit.group("l1", l1);
    visit.group("l2", l2);
    visit.group("shared", shared);
    visit.group("path", path);
    visit.group("dram", dram);
    visit.group("pm", pm);
    visit.group("x86.break", x86_defects);
    visit.group("eadr.break", eadr_defects);
    visit.group("software_undo.break", software_undo_defects);
    visit.group("log", log);
    visit.group("hw_redo", hw_redo);
    visit.group("asap", asap);
  }

  // What a store leaves in the caches survives a crash.
  bool caches_persist() const { return ordering == OrderingChoice::kEadr && !eadr_defects.caches; }
};

// Applies the settings to the defaults. Throws ConfigError with every problem at once.
Configuration configure(std::span<const Setting> settings);

// Throws ConfigError with what is wrong with single settings. For settings that don't make up a
// whole configuration, so that nothing can be said about how they go together.
void check_values(std::span<const Setting> settings);

// Throws ConfigError with a sentence on what is wrong with the configuration that these settings
// make up, and the places where the parameters that it names were set.
void throw_problem(std::span<const Setting> settings, const std::string& sentence);

// Every parameter with its value in this configuration.
std::vector<ParameterInfo> parameters(Configuration configuration);

}  // namespace pmemsim
