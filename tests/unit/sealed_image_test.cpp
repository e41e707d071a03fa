// Images of encrypted, verified and deduplicated PM: recovery reads the written data and detects
// every change by an attacker.
#include "pmemsim/designs/backend/sealed_image.hpp"
#include "pmemsim/designs/backend/backend.hpp"
#include "pmemsim/designs/backend/entry_layout.hpp"
#include "pmemsim/designs/backend/image_decoder.hpp"
#include "pmemsim/designs/backend/operation.hpp"
#include "pmemsim/designs/backend/surviving_registers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "long_tests.hpp"
#include "pmemsim/designs/backend/keys.hpp"
#include "sealed_bench.hpp"

namespace pmemsim {
namespace {

// Result of a recovery's read of the image, with the current registers.
struct Reading {
  Reading(const Backend& backend, const std::map<Line, LineData>& image)
      : decoder(backend.parts().decoder()) {
    for (const auto& [line, data] : image) {
      decoder->changed(line, data, [&](Line read, const LineData& plain) { lines[read] = plain; });
    }
    problem = decoder->problem();
  }
  // True if the image is accepted and every line has the written data.
  bool is(const std::map<std::uint64_t, std::uint64_t>& plain) const {
    if (!problem.empty()) return false;
    for (const auto& [number, value] : plain) {
      const auto found = lines.find({number});
      if ((found == lines.end() ? LineData{} : found->second) != data_of(value)) return false;
    }
    return true;
  }
  // True if the image is rejected or some line is unreadable, and every readable line has the
  // written data.
  bool finds_out(const std::map<std::uint64_t, std::uint64_t>& plain) const {
    if (!problem.empty()) return true;
    bool unreadable = false;
    for (const auto& [number, value] : plain) {
      const auto found = lines.find({number});
      const LineData read = found == lines.end() ? LineData{} : found->second;
      if (read == unreadable_line()) {
        unreadable = true;
      } else if (read != data_of(value)) {
        return false;
      }
    }
    return unreadable;
  }

  std::unique_ptr<ImageDecoder> decoder;
  std::map<Line, LineData> lines;
  std::string problem;
};

class SealedImages : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(WithDeduplication, SealedImages, testing::Bool());

// Parameters with a cache for two nodes of the tree, so that the others are on the device.
IntegrityParameters with_nodes_in_pm() {
  IntegrityParameters parameters;
  parameters.cache = {.size_per_core = {128}, .ways = 2};
  return parameters;
}

// All of them, with their entries.
IntegrityParameters with_nodes_persisted() {
  IntegrityParameters parameters;
  parameters.persist_nodes = PersistNodes::kAll;
  return parameters;
}

std::int64_t nodes_in(const std::map<Line, LineData>& lines) {
  return std::ranges::count_if(lines, [](const auto& line) { return is_node(line.first); });
}

TEST_P(SealedImages, DecodedImageEqualsTheWrittenData) {
  Sealed bench(GetParam());
  bench.write_at_random(2000);
  EXPECT_TRUE(Reading(*bench.backend, bench.lines()).is(bench.plain));
  for (const auto& [number, value] : bench.plain) {
    EXPECT_EQ(bench.backend->newest({number}), data_of(value));
  }
}

TEST_P(SealedImages, DeviceHoldsNoPlaintext) {
  Sealed bench(GetParam());
  bench.write_at_random(300);
  const std::map<Line, LineData> lines = bench.lines();
  for (std::uint64_t number = 0; number < kLines; ++number) {
    const auto found = lines.find({number});
    if (found == lines.end()) continue;
    for (std::uint64_t value = 0; value < 10; ++value) {
      EXPECT_NE(found->second, data_of(value));
    }
  }
}

TEST_P(SealedImages, InitialContentsAreSealed) {
  Sealed bench(GetParam());
  bench.find({{1, 11}, {2, 12}, {40, 13}});
  const auto is_sealed = [&](Line line, std::uint64_t value) {
    return bench.memory.device().read(line) != data_of(value) &&
           bench.backend->newest(line) == data_of(value);
  };
  EXPECT_TRUE(is_sealed({1}, 11));
  EXPECT_TRUE(is_sealed({40}, 13));
  EXPECT_TRUE(Reading(*bench.backend, bench.lines()).is(bench.plain));
  bench.write({2}, 13);
  bench.write({3}, 11);
  bench.settle();
  EXPECT_TRUE(Reading(*bench.backend, bench.lines()).is(bench.plain));
}

// The pads of initial contents count as used, too.
TEST_P(SealedImages, PadsOfInitialContentsAreNotUsedAgain) {
  Sealed bench(GetParam());
  bench.find({{1, 11}});
  const std::unique_ptr<ImageDecoder> decoder = bench.backend->parts().decoder();
  decoder->begin(bench.memory.device());
  const EntryLayout layout(true);
  LineData entries = bench.memory.device().read(layout.line_of({1}));
  Seal entry = layout.get(entries, {1});
  const LineData again = LineCipher(encryption_key()).apply({1}, entry.counter, data_of(12));
  entry.mac = mac_of(LineHash(authentication_key()), {1}, entry.counter, again);
  layout.put(entries, {1}, entry);
  const auto ignore = [](Line, const LineData&) {};
  decoder->changed({1}, again, ignore);
  EXPECT_EQ(decoder->problem(), "");
  decoder->changed(layout.line_of({1}), entries, ignore);
  EXPECT_EQ(decoder->problem(), "two versions of a line were encrypted with the same one-time pad");
}

// A line that was never written is zero, and so is its entry.
TEST_P(SealedImages, ChangedUnwrittenLineIsUnreadable) {
  Sealed bench(GetParam());
  bench.write({1}, 11);
  bench.settle();
  std::map<Line, LineData> lines = bench.lines();
  lines[{20}][5] = std::byte{1};
  EXPECT_EQ(Reading(*bench.backend, lines).lines.at({20}), unreadable_line());
}

// Flips thousands of bits of data, counters, locations and MACs, also of older contents. Flipped
// bits of the tree's nodes change nothing, since recovery rebuilds the tree. The long form flips
// more bits of a line.
TEST_P(SealedImages, AnyFlippedBitIsDetected) {
  Sealed bench(GetParam(), with_nodes_in_pm());
  std::map<std::uint64_t, std::uint64_t> before;
  for (std::uint64_t line = 0; line < 2 * kLines; ++line) before[line] = 100 + line;
  bench.find(before);
  bench.write_at_random(500);
  const std::map<Line, LineData> lines = bench.lines();
  EXPECT_GT(nodes_in(lines), 4);
  std::mt19937_64 random(1);
  const int flips = long_tests() ? 8 : 4;
  int found_out = 0, harmless = 0;
  for (const auto& [line, data] : lines) {
    for (int i = 0; i < flips; ++i) {
      const std::size_t bit = random() % (8 * kLineBytes);
      std::map<Line, LineData> changed = lines;
      changed[line][bit / 8] ^= std::byte{1} << bit % 8;
      const Reading reading(*bench.backend, changed);
      const bool same = reading.is(bench.plain);
      EXPECT_TRUE(same || reading.finds_out(bench.plain)) << line.number << " bit " << bit;
      if (is_node(line)) {
        EXPECT_TRUE(same);
      } else {
        ++(same ? harmless : found_out);
      }
    }
  }
  EXPECT_GT(found_out, 60 * flips);
  EXPECT_LT(harmless, found_out) << "places that no line refers to";
}

// ---- Tree nodes that persist with the nodes below them

TEST_P(SealedImages, TreeNodesAreInPmIfAllArePersisted) {
  Sealed leaves(GetParam());
  leaves.write({1}, 11);
  leaves.settle();
  EXPECT_EQ(nodes_in(leaves.lines()), 0);
  Sealed all(GetParam(), with_nodes_persisted());
  all.write({1}, 11);
  all.settle();
  EXPECT_EQ(nodes_in(all.lines()), 8) << "of nine levels the highest is the root";
  all.write({40}, 12);
  all.settle();
  EXPECT_EQ(nodes_in(all.lines()), 9) << "leaf 10 is below another of the lowest nodes";
  EXPECT_TRUE(Reading(*all.backend, all.lines()).is(all.plain));
}

TEST_P(SealedImages, PersistedNodesAreVerifiedWhenAnImageIsDecoded) {
  Sealed bench(GetParam(), with_nodes_persisted());
  bench.find({{1, 11}, {70, 12}});
  EXPECT_EQ(nodes_in(bench.lines()), 9) << "of what was there before";
  bench.write_at_random(1000);
  EXPECT_TRUE(Reading(*bench.backend, bench.lines()).is(bench.plain));
  const std::unique_ptr<ImageDecoder> decoder = bench.backend->parts().decoder();
  decoder->begin(bench.memory.device());
  EXPECT_EQ(decoder->problem(), "");
  bench.memory.device().write(node_line(1, 0), {});
  const std::unique_ptr<ImageDecoder> without = bench.backend->parts().decoder();
  without->begin(bench.memory.device());
  EXPECT_NE(without->problem(), "");
}

TEST_P(SealedImages, AnyFlippedBitOfAPersistedNodeIsDetected) {
  Sealed bench(GetParam(), with_nodes_persisted());
  bench.write_at_random(200);
  const std::map<Line, LineData> lines = bench.lines();
  EXPECT_GT(nodes_in(lines), 8);
  std::mt19937_64 random(1);
  for (const auto& [line, data] : lines) {
    if (!is_node(line)) continue;
    for (int i = 0; i < 8; ++i) {
      const std::size_t bit = random() % (8 * kLineBytes);
      std::map<Line, LineData> changed = lines;
      changed[line][bit / 8] ^= std::byte{1} << bit % 8;
      EXPECT_EQ(Reading(*bench.backend, changed).problem,
                "a node of the integrity tree in PM does not match its children");
    }
    std::map<Line, LineData> without = lines;
    without.erase(line);
    EXPECT_NE(Reading(*bench.backend, without).problem, "");
  }
}

TEST_P(SealedImages, ReplayOfOlderNodesIsDetected) {
  Sealed bench(GetParam(), with_nodes_persisted());
  bench.write_at_random(200);
  const std::map<Line, LineData> older = bench.lines();
  bench.write({5}, 2000);
  bench.settle();
  std::map<Line, LineData> lines = bench.lines();
  for (const auto& [line, data] : older) {
    if (is_node(line)) lines[line] = data;
  }
  EXPECT_NE(Reading(*bench.backend, lines).problem, "");
}

TEST(Metadata, ReadsAndWritesAreCountedByKind) {
  for (const bool all : {false, true}) {
    Sealed bench(false, all ? with_nodes_persisted() : IntegrityParameters{});
    bench.write({1}, 11);
    bench.run();
    bench.write({2}, 12);  // with an entry beside that
    bench.run();
    bench.write({40}, 13);
    bench.settle();
    EXPECT_EQ(bench.statistic("metadata.entries_written"), 3);
    EXPECT_EQ(bench.statistic("metadata.lowest_nodes_written"), all ? 3 : 0);
    EXPECT_EQ(bench.statistic("metadata.higher_nodes_written"), all ? 3 * 7 : 0);
    EXPECT_EQ(bench.statistic("metadata.entries_read"), 2);
    EXPECT_EQ(bench.statistic("metadata.nodes_read"), 8 + 1) << "leaf 10: the lowest alone";
  }
}

// A cache of two nodes evicts six of eight repeatedly. PM already has their current contents.
TEST(Metadata, EvictedNodesThatArePersistedAreNotWrittenAgain) {
  IntegrityParameters parameters = with_nodes_persisted();
  parameters.cache = with_nodes_in_pm().cache;
  Sealed bench(false, parameters);
  for (std::uint64_t line = 0; line < 4; ++line) {
    bench.write({64 * line}, 11);
    bench.settle();
  }
  EXPECT_EQ(bench.statistic("tree_cache.write_backs"), 0);
  EXPECT_EQ(bench.statistic("metadata.lowest_nodes_written"), 4);
}

TEST_P(SealedImages, SwappedLinesAreDetected) {
  Sealed bench(GetParam());
  for (std::uint64_t line = 0; line < 16; ++line) bench.write({line}, 100 + line);
  bench.settle();
  std::map<Line, LineData> lines = bench.lines();
  std::swap(lines[{3}], lines[{7}]);
  EXPECT_TRUE(Reading(*bench.backend, lines).finds_out(bench.plain)) << "the data alone";
  // The entries are swapped, too: their lines hold the entries of four lines.
  const EntryLayout layout(true);
  LineData& one = lines[layout.line_of({3})];
  LineData& other = lines[layout.line_of({7})];
  const Seal three = layout.get(one, {3}), seven = layout.get(other, {7});
  layout.put(one, {3}, {.place = {3}, .counter = seven.counter, .mac = seven.mac});
  layout.put(other, {7}, {.place = {7}, .counter = three.counter, .mac = three.mac});
  const Reading reading(*bench.backend, lines);
  EXPECT_NE(reading.problem, "") << "the tree";
  EXPECT_EQ(reading.lines.at({3}), unreadable_line()) << "the MAC is of the place, too";
}

// All initial contents have the same counter, so that only data and MAC distinguish lines.
TEST(SealedImage, SwappedLinesOfOneCounterAreDetectedOnlyByTheKeyedMac) {
  IntegrityParameters published;
  published.mac = MacForm::kPublished;
  for (const bool keyed : {true, false}) {
    Sealed bench(false, keyed ? IntegrityParameters{} : published);
    bench.find({{3, 103}, {7, 107}});
    std::map<Line, LineData> lines = bench.lines();
    std::swap(lines[{3}], lines[{7}]);
    const EntryLayout layout(true);
    LineData& one = lines[layout.line_of({3})];
    LineData& other = lines[layout.line_of({7})];
    const Seal three = layout.get(one, {3}), seven = layout.get(other, {7});
    EXPECT_EQ(three.counter, seven.counter);
    layout.put(one, {3}, {.place = {3}, .counter = three.counter, .mac = seven.mac});
    layout.put(other, {7}, {.place = {7}, .counter = seven.counter, .mac = three.mac});
    const Reading reading(*bench.backend, lines);
    EXPECT_EQ(reading.problem, "") << "the tree is of counters and places";
    for (const std::uint64_t line : {3, 7}) {
      EXPECT_EQ(reading.lines.at({line}) == unreadable_line(), keyed);
      EXPECT_NE(reading.lines.at({line}), data_of(100 + line));
    }
  }
}

TEST_P(SealedImages, ReplayOfOlderContentsIsDetected) {
  Sealed bench(GetParam(), with_nodes_in_pm());
  bench.write_at_random(200);
  bench.write({5}, 1000);
  bench.settle();
  const std::map<Line, LineData> older = bench.lines();
  bench.write({5}, 2000);
  bench.settle();
  std::map<Line, LineData> lines = bench.lines();
  const EntryLayout layout(true);
  EXPECT_GT(nodes_in(older), 4);
  for (const auto& [line, data] : older) {
    if (line.number < kLines || is_node(line)) lines[line] = data;  // all data, and the tree
  }
  EXPECT_TRUE(Reading(*bench.backend, lines).finds_out(bench.plain)) << "without the entry";
  lines[layout.line_of({5})] = older.at(layout.line_of({5}));
  EXPECT_NE(Reading(*bench.backend, lines).problem, "")
      << "with entry and MAC: the root is another";
  EXPECT_NE(Reading(*bench.backend, older).problem, "") << "all of it";
}

TEST_P(SealedImages, MacOfAnotherKeyIsDetected) {
  Sealed bench(GetParam());
  bench.write_at_random(200);
  std::map<Line, LineData> lines = bench.lines();
  const EntryLayout layout(true);
  const Line line{bench.plain.begin()->first};
  Seal entry = layout.get(lines[layout.line_of(line)], line);
  lines[entry.place][0] ^= std::byte{1};
  const LineHash guessed(Key{});
  entry.mac = mac_of(guessed, entry.place, entry.counter, lines[entry.place]);
  layout.put(lines[layout.line_of(line)], line, entry);
  EXPECT_TRUE(Reading(*bench.backend, lines).finds_out(bench.plain));
}

// ---- Restarted machines

// A crash occurs while a write waits for space in its queue, where an attacker may have seen it.
// Then another machine writes the same line. Its counters continue from the first machine's
// register.
struct TwoMachines {
  // `counter`: the register's value that the second machine finds, if it differs from the value
  // that the first machine left.
  explicit TwoMachines(std::optional<std::uint64_t> counter = {}) {
    first.write({1}, 11);
    first.settle();
    first.write({2}, 22);
    first.settle();
    accepted = *first.backend->parts().registers().write_counter;
    first.backend->parts().stored(
        {1}, EntryNeed::kLater);  // with its entry, the write would wait for queue space here
    first.write({1}, 12);
    first.run_until(first.queue.now() + ns(9 * 40 - 10));  // the tree is nearly done
    for (std::uint64_t i = 0; i < 40; ++i) {               // the queue is full of others
      first.memory.write({.line = {4096 + 8 * i}, .data = {}, .persisted = {}, .written = {}});
    }
    first.run_until(first.queue.now() + ns(20));
    surviving = first.backend->surviving({1});
    SurvivingRegisters registers = first.backend->parts().registers();
    crashed = first.lines();
    for (const auto& [line, data] : crashed) second.memory.device().write(line, data);
    left = *registers.write_counter;
    if (counter) registers.write_counter = counter;
    second.backend->parts().entries->restart(second.memory.device(), registers);
    first.settle();
    first.write({3}, 33);  // its entry is in the line of the entry of line 1
    first.settle();
    found = second.backend->newest({1});
    second.write({1}, 13);
    second.settle();
  }
  // Returns the problem of all data that both machines have sent.
  std::string problem() const {
    const std::unique_ptr<ImageDecoder> decoder = second.backend->parts().decoder();
    for (const auto& lines : {crashed, first.lines(), second.lines()}) {
      for (const auto& [line, data] : lines) {
        decoder->changed(line, data, [](Line, const LineData&) {});
      }
    }
    return decoder->problem();
  }

  Sealed first{false, {}, {}, Sealing::kVerified, true};
  Sealed second{false};
  std::map<Line, LineData> crashed;
  std::uint64_t accepted = 0, left = 0;
  LineData surviving{}, found{};
};

TEST(Restart, PadsOfThePreviousRunAreNotUsedAgain) {
  const TwoMachines machines;
  EXPECT_EQ(machines.problem(), "");
  EXPECT_EQ(machines.left, machines.accepted + 1) << "the write was sent";
  EXPECT_EQ(machines.surviving, data_of(11)) << "it was lost";
  EXPECT_EQ(machines.found, data_of(11));
  EXPECT_EQ(machines.second.backend->newest({1}), data_of(13));
  EXPECT_EQ(machines.second.backend->newest({2}), data_of(22));
}

// A register that counts from the beginning again, or only what has been accepted.
TEST(Restart, WrongCounterRegisterReusesAPad) {
  for (const std::uint64_t counter : {std::uint64_t{0}, TwoMachines().accepted}) {
    EXPECT_EQ(TwoMachines(counter).problem(),
              "two versions of a line were encrypted with the same one-time pad")
        << counter;
  }
}

// ---- Deduplicated lines

TEST(Deduplication, SharedDataAreWrittenOnceAndMovedWhenOverwritten) {
  Sealed bench(true);
  bench.write({1}, 42);
  bench.settle();
  bench.write({2}, 42);
  bench.settle();
  EXPECT_EQ(bench.memory.device().read({2}), LineData{}) << "never written";
  bench.write({1}, 43);  // 2 still refers to its place
  bench.settle();
  EXPECT_TRUE(Reading(*bench.backend, bench.lines()).is({{1, 43}, {2, 42}}));
  EXPECT_NE(bench.memory.device().read({2}), LineData{}) << "the free place";
  bench.write({2}, 44);  // no other line refers to its location any more
  bench.settle();
  EXPECT_TRUE(Reading(*bench.backend, bench.lines()).is({{1, 43}, {2, 44}}));
}

// Without the address in MACs, entry and data of one line would be accepted for another line.
TEST(SealedImage, SwappedLinesAreNotDetectedIfMacsLackTheAddress) {
  IntegrityParameters broken;
  broken.faults.address = true;
  Sealed bench(false, broken);
  for (std::uint64_t line = 0; line < 16; ++line) bench.write({line}, 100 + line);
  bench.settle();
  std::map<Line, LineData> lines = bench.lines();
  std::swap(lines[{3}], lines[{7}]);
  const EntryLayout layout(true);
  LineData& one = lines[layout.line_of({3})];
  LineData& other = lines[layout.line_of({7})];
  const Seal three = layout.get(one, {3}), seven = layout.get(other, {7});
  layout.put(one, {3}, {.place = {3}, .counter = seven.counter, .mac = seven.mac});
  layout.put(other, {7}, {.place = {7}, .counter = three.counter, .mac = three.mac});
  EXPECT_NE(Reading(*bench.backend, lines).lines.at({3}), unreadable_line());
}

// With the published MAC, an attacker who has an image can change a line's data and compute the MAC
// for it. The attacker can also put a line's data and MAC in the place of another line with the
// same counter. Only the counters' tree withstands this.
TEST(SealedImage, PublishedMacCanBeForgedWithoutTheKey) {
  IntegrityParameters published;
  published.mac = MacForm::kPublished;
  for (const bool keyed : {true, false}) {
    Sealed bench(false, keyed ? IntegrityParameters{} : published);
    bench.write({3}, 103);
    bench.settle();
    std::map<Line, LineData> lines = bench.lines();
    EXPECT_TRUE(Reading(*bench.backend, lines).is(bench.plain));
    const EntryLayout layout(true);
    LineData& entries = lines[layout.line_of({3})];
    Seal entry = layout.get(entries, {3});
    lines[{3}][0] ^= std::byte{1};
    entry.mac = mac_of(LineHash("SHA1"), {}, entry.counter, lines[{3}]);
    layout.put(entries, {3}, entry);
    const Reading reading(*bench.backend, lines);
    EXPECT_EQ(reading.problem, "");
    EXPECT_EQ(reading.lines.at({3}) == unreadable_line(), keyed);
  }
}

// Locations that no line refers to are used again before other locations.
TEST(Deduplication, FreedLocationsAreReusedBeforeOthers) {
  for (const bool leaks : {false, true}) {
    DeduplicationParameters parameters;
    parameters.faults.leak = leaks;
    Sealed bench(true, {}, parameters);
    for (std::uint64_t i = 0; i < 50; ++i) {
      for (const std::uint64_t value : {i, i + 1000}) {
        for (const std::uint64_t line : {1, 2}) {
          bench.write({line}, value + 10'000 * (value > 1000 ? line : 0));
          bench.settle();
        }
      }
    }
    std::size_t others = 0;
    for (const auto& [line, _] : bench.lines()) {
      others += line.number >= kLines && !EntryLayout(true).holds_entries(line) &&
                line.number < std::uint64_t{1} << 50;
    }
    if (leaks) {
      EXPECT_GT(others, 40u);
    } else {
      EXPECT_EQ(others, 0u);
    }
  }
}

// Lines that differ by a multiple of CRC-32's polynomial have one CRC: lowest bit first, that is
// x^32 and, behind it, the other coefficients.
constexpr std::uint64_t kPolynomial = 1 | std::uint64_t{0xedb88320} << 1;

double counted(const Sealed& bench, std::string_view name) {
  StatisticsCollector collector;
  bench.backend->statistics(collector);
  return std::ranges::find(collector.found, name, &Statistic::name)->value;
}

TEST(Deduplication, WriteIsComparedWithAllDataOfTheSameCrc) {
  DeduplicationParameters parameters;
  parameters.fingerprint = Fingerprint::kCrc32;
  Sealed bench(true, {}, parameters);
  const auto compared_by = [&](Line line, std::uint64_t value) {
    const double before = counted(bench, "deduplication.compared");
    bench.write(line, value);
    bench.settle();
    return counted(bench, "deduplication.compared") - before;
  };
  constexpr std::uint64_t kValue = 42;
  EXPECT_EQ(compared_by({1}, kValue), 0);
  EXPECT_EQ(compared_by({2}, kValue ^ 1), 0) << "this one's is another";
  EXPECT_EQ(compared_by({3}, kValue ^ kPolynomial), 1);
  EXPECT_EQ(compared_by({4}, kValue ^ kPolynomial << 1), 2);
  EXPECT_EQ(counted(bench, "deduplication.duplicates"), 0);
  EXPECT_EQ(compared_by({5}, kValue ^ kPolynomial), 3);
  EXPECT_EQ(counted(bench, "deduplication.duplicates"), 1);
  EXPECT_TRUE(Reading(*bench.backend, bench.lines()).is(bench.plain));
  for (const auto& [line, value] : bench.plain) {
    EXPECT_EQ(bench.backend->newest({line}), data_of(value));
  }
}

TEST(Deduplication, OverwrittenDataAreNotFoundAsDuplicates) {
  Sealed bench(true);
  bench.write({1}, 42);
  bench.settle();
  bench.write({1}, 43);
  bench.settle();
  bench.write({2}, 42);
  bench.settle();
  EXPECT_TRUE(Reading(*bench.backend, bench.lines()).is({{1, 43}, {2, 42}}));
  EXPECT_EQ(bench.backend->newest({2}), data_of(42));
}

}  // namespace
}  // namespace pmemsim
