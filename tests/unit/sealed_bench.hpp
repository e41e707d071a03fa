// A workbench for lines that are deduplicated, encrypted and verified.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <string>

#include "memory_bench.hpp"
#include "pmemsim/designs/backend/backend.hpp"
#include "pmemsim/designs/backend/backend_parts.hpp"
#include "pmemsim/designs/backend/deduplication.hpp"
#include "pmemsim/designs/backend/encryption.hpp"
#include "pmemsim/designs/backend/integrity.hpp"

namespace pmemsim {

inline constexpr std::uint64_t kLines = 64;

enum class Sealing : std::uint8_t { kNone, kEncrypted, kVerified };

// Executes random writes and drains them. The device is then one that an attacker may have stolen
// and returned.
class Sealed : public MemoryBench {
 public:
  explicit Sealed(bool deduplicates, const IntegrityParameters& integrity = {},
                  const DeduplicationParameters& deduplication = {},
                  Sealing sealing = Sealing::kVerified, bool defers = false,
                  const MetadataCacheParameters& counter_cache = {})
      : MemoryBench(roomy()) {
    BackendParts::Operations operations;
    if (deduplicates) operations.push_back(std::make_unique<Deduplication>(deduplication, 1));
    if (sealing != Sealing::kNone) {
      operations.push_back(std::make_unique<Encryption>(EncryptionParameters{}));
    }
    if (sealing == Sealing::kVerified) {
      operations.push_back(std::make_unique<Integrity>(integrity, 1));
    }
    BackendParts parts(std::move(operations));
    parts.add_shared({}, counter_cache, 1, 1, defers);
    backend = std::make_unique<Backend>(queue, memory, std::move(parts), ns(0));
  }
  static MemoryParameters roomy() {
    MemoryParameters parameters = simple_memory();
    parameters.wpq_entries = 16;  // a write with an entry and eight nodes takes ten
    return parameters;
  }
  WriteId write(Line line, std::uint64_t value) {
    plain[line.number] = value;
    return backend->write({.line = line, .data = data_of(value), .persisted = {}, .written = {}});
  }
  // Sets the initial contents that programs find, as if they had been written before.
  void find(const std::map<std::uint64_t, std::uint64_t>& values) {
    plain = values;
    for (const auto& [line, value] : values) memory.device().write({line}, data_of(value));
    backend->parts().format(memory.device());
  }
  void write_at_random(int writes, std::uint64_t seed = 1) {
    std::mt19937_64 random(seed);
    for (int i = 0; i < writes; ++i) {
      write({random() % kLines}, random() % 10);
      if (random() % 3 == 0) run();
    }
    settle();
  }
  // Runs until all writes are on the device.
  void settle() {
    run();
    drain();
  }
  double statistic(const std::string& name) const {
    StatisticsCollector collector;
    backend->statistics(collector);
    for (const Statistic& found : collector.found) {
      if (found.name == name) return found.value;
    }
    ADD_FAILURE() << "there is no statistic " << name;
    return 0;
  }
  // The device's lines that aren't zero.
  std::map<Line, LineData> lines() const {
    std::map<Line, LineData> found;
    memory.device().for_each_page([&](std::uint64_t address, const std::byte*) {
      for (std::uint64_t at = 0; at < Image::kPageBytes; at += kLineBytes) {
        const Line line = Line::of(address + at);
        const LineData data = memory.device().read(line);
        if (data != LineData{}) found[line] = data;
      }
    });
    return found;
  }

  std::unique_ptr<Backend> backend;
  std::map<std::uint64_t, std::uint64_t> plain;  // by line number
};

}  // namespace pmemsim
