// Tables of deduplication that recovery rebuilds from an image. The tests compare them with the
// tables that the run keeps.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "pmemsim/designs/backend/entry_layout.hpp"
#include "pmemsim/designs/backend/image_decoder.hpp"
#include "pmemsim/designs/backend/keys.hpp"
#include "pmemsim/designs/backend/operation.hpp"
#include "pmemsim/designs/backend/sealed_image.hpp"
#include "sealed_bench.hpp"

namespace pmemsim {
namespace {

constexpr Line kLastPlace{(std::uint64_t{1} << 28) - 1};  // that mappings of these lines reach

class Bench : public Sealed {
 public:
  explicit Bench(const DeduplicationParameters& parameters = {},
                 Sealing sealing = Sealing::kVerified, bool defers = false)
      : Sealed(true, {}, parameters, sealing, defers) {}
  // Writes lines one after the other. Each is on the device before the next write.
  void write_all(const std::vector<std::pair<std::uint64_t, std::uint64_t>>& writes) {
    for (const auto& [line, value] : writes) {
      write({line}, value);
      settle();
    }
  }
  // Returns the problem of an image that is read at once, so that all locations are compared.
  std::string problem(const std::map<Line, LineData>& image) const {
    const std::unique_ptr<ImageDecoder> decoder = backend->parts().decoder();
    for (const auto& [line, data] : image) decoder->changed(line, data, [](Line, auto&) {});
    return decoder->problem();
  }
  std::string problem() const { return problem(lines()); }
  // Returns true if all entries are in PM already.
  bool publish() { return backend->parts().publish(completion<&Bench::published>(*this)); }

 private:
  void published(std::uint64_t, Time) {}
};

TEST(RebuiltLocations, EntriesDetermineTheLocations) {
  Bench bench;
  bench.write_all({{1, 42}, {2, 42}, {3, 42}, {1, 43}});
  const LineCipher cipher(encryption_key());
  const LineHash authenticator(authentication_key());
  SealedImage image(EntryLayout(true), {.cipher = &cipher, .authenticator = &authenticator});
  for (const auto& [line, data] : bench.lines()) image.changed(line, data, [](Line, auto&) {});
  EXPECT_EQ(image.references({1}), 2u) << "lines 2 and 3";
  EXPECT_EQ(image.place({2}), Line{1});
  EXPECT_EQ(image.place({1}), Line{3}) << "the place that was free last";
  EXPECT_EQ(image.references({3}), 1u);
  EXPECT_EQ(image.references({2}), 0u);
  EXPECT_EQ(image.duplicated_lines(), 3u);
  EXPECT_TRUE(image.has_entry({2}));
  EXPECT_FALSE(image.has_entry({4}));
  EXPECT_FALSE(image.has_entry(kLastPlace));
  EXPECT_EQ(image.read_at({1})->second, data_of(42));
  EXPECT_EQ(image.read_at({3}), std::pair(Line{1}, data_of(43)));
  EXPECT_FALSE(image.read_at({2}));
}

TEST(RebuiltLocations, LocationsEqualTheStateOfDeduplication) {
  Bench bench;
  bench.write_all({{1, 42}, {2, 42}, {1, 43}, {3, 43}, {2, 43}, {1, 44}, {5, 42}, {2, 42}});
  EXPECT_EQ(bench.problem(), "");
  bench.write_all({{1, 50}, {2, 50}, {3, 50}, {5, 50}, {1, 1}, {2, 2}, {3, 3}, {5, 5}});
  EXPECT_EQ(bench.problem(), "");
}

// A line's own location becomes free for other lines before any other location.
TEST(RebuiltLocations, LocationWithoutAMappingIsFree) {
  Bench bench;
  bench.write_all({{1, 42}, {2, 42}, {2, 7}, {1, 42}});
  EXPECT_EQ(bench.problem(), "");
  bench.write_all({{3, 42}, {4, 42}, {3, 8}, {1, 9}, {4, 10}});
  EXPECT_EQ(bench.problem(), "");
}

TEST(RebuiltLocations, LeakedLocationIsReported) {
  DeduplicationParameters broken;
  broken.faults.leak = true;
  Bench bench(broken);
  bench.write_all({{1, 42}, {2, 43}});
  EXPECT_EQ(bench.problem(), "");
  bench.write_all({{2, 42}});
  EXPECT_EQ(bench.problem(),
            "deduplication considers location 0x80 used, but no line has its data there");
}

TEST(RebuiltLocations, WrongReferenceCountIsReported) {
  DeduplicationParameters broken;
  broken.faults.count = true;
  Bench bench(broken);
  bench.write_all({{1, 42}, {2, 42}});
  EXPECT_EQ(bench.problem(), "");
  bench.write_all({{3, 42}});
  EXPECT_EQ(bench.problem(),
            "deduplication counts 2 lines with data at location 0x40, but the entries in PM refer "
            "to it 3 times");
}

TEST(RebuiltLocations, LocationFreedTooEarlyIsReported) {
  DeduplicationParameters broken;
  broken.faults.references = true;
  Bench bench(broken);
  bench.write_all({{1, 42}, {2, 42}, {3, 42}, {2, 50}});
  EXPECT_EQ(bench.problem(), "") << "two are left";
  bench.write_all({{3, 51}});
  EXPECT_EQ(bench.problem(),
            "deduplication considers location 0x40 free, but 1 lines have their data there");
}

TEST(RebuiltLocations, FingerprintOfOverwrittenDataIsReported) {
  DeduplicationParameters broken;
  broken.faults.fingerprint = true;
  Bench bench(broken);
  bench.write_all({{1, 42}});
  EXPECT_EQ(bench.problem(), "");
  bench.write_all({{1, 43}});
  EXPECT_EQ(bench.problem(), "deduplication finds data at location 0x40 that are not there");
}

TEST(RebuiltLocations, FingerprintOfAFreeLocationIsReported) {
  DeduplicationParameters broken;
  broken.faults.fingerprint = true;
  Bench bench(broken);
  bench.write_all({{1, 42}, {2, 43}, {2, 42}});
  EXPECT_EQ(bench.problem(), "deduplication finds data at location 0x80 that are not there");
}

TEST(RebuiltLocations, UnreadableDataAreReported) {
  Bench bench;
  bench.write_all({{1, 42}, {2, 42}});
  std::map<Line, LineData> lines = bench.lines();
  lines[{1}][9] ^= std::byte{1};
  EXPECT_EQ(bench.problem(lines), "deduplication finds data at location 0x40 that are not there");
}

// Without a tree, no other check would reveal that an entry is another one.
TEST(RebuiltLocations, ReplacedEntryIsReported) {
  Bench bench({}, Sealing::kNone);
  bench.write_all({{1, 42}, {2, 42}, {3, 43}});
  const std::unique_ptr<ImageDecoder> decoder = bench.backend->parts().decoder();
  const auto ignore = [](Line, const LineData&) {};
  for (const auto& [line, data] : bench.lines()) decoder->changed(line, data, ignore);
  EXPECT_EQ(decoder->problem(), "");
  const EntryLayout layout(false);
  const LineData right = bench.lines().at(layout.line_of({2}));
  LineData wrong = right;
  layout.put(wrong, {2}, layout.get(right, {3}));
  decoder->changed(layout.line_of({2}), wrong, ignore);
  const std::string problem =
      "deduplication counts 2 lines with data at location 0x40, but the entries in PM refer to it "
      "1 times";
  EXPECT_EQ(decoder->problem(), problem);
  EXPECT_EQ(decoder->problem(), problem) << "as long as it is so";
  decoder->changed(layout.line_of({2}), right, ignore);
  EXPECT_EQ(decoder->problem(), "");
}

// Decodes the image at every change of its surviving contents.
class Watch final : public PersistenceObserver {
 public:
  explicit Watch(Bench& bench) : bench_(bench), decoder_(bench.backend->parts().decoder()) {
    bench.memory.observe(this);
  }
  void persisted(const Write& write, PersistencePoint, Time) override {
    change(write.line, write.data);
    look();
  }
  void persisted_with_next(const Write& write) override { change(write.line, write.data); }
  void dropped(const Write& write, Time) override {
    change(write.line, bench_.memory.surviving(write.line));
    look();
  }
  std::string problem;
  int points = 0;

 private:
  void change(Line place, const LineData& data) {
    decoder_->changed(place, data, [](Line, auto&) {});
  }
  void look() {
    ++points;
    if (problem.empty()) problem = decoder_->problem();
  }
  Bench& bench_;
  const std::unique_ptr<ImageDecoder> decoder_;
};

// A location becomes free when the line's new data are written. This does not change the image.
TEST(RebuiltLocations, FreedLocationIsComparedWithoutAChangeOfTheImage) {
  DeduplicationParameters broken;
  broken.faults.references = true;
  Bench bench(broken);
  Watch watch(bench);
  bench.write_all({{1, 42}, {2, 42}, {1, 43}});
  EXPECT_EQ(watch.problem, "") << "when line 1 moved, both still counted";
  bench.write_all({{5, 77}});
  EXPECT_EQ(watch.problem,
            "deduplication considers location 0x40 free, but 1 lines have their data there");
}

// With selective metadata atomicity, images are compared as soon as no entry is behind its data,
// and not before.
TEST(RebuiltLocations, ComparisonWaitsForDeferredEntries) {
  for (const bool leaks : {false, true}) {
    DeduplicationParameters parameters;
    parameters.faults.leak = leaks;
    Bench bench(parameters, Sealing::kVerified, true);
    Watch watch(bench);
    bench.write_all({{1, 42}, {2, 43}});
    bench.backend->parts().stored({9}, EntryNeed::kLater);
    bench.write_all({{9, 44}, {2, 42}, {1, 42}});
    EXPECT_EQ(watch.problem, "") << "the entry of line 9 isn't there yet";
    if (!bench.publish()) bench.settle();
    EXPECT_EQ(
        watch.problem,
        leaks ? "deduplication considers location 0x80 used, but no line has its data there" : "");
  }
}

// Locations that change while entries are behind, without a change of the image, are compared
// later.
TEST(RebuiltLocations, LocationsFreedBeforePublicationAreComparedLater) {
  DeduplicationParameters broken;
  broken.faults.references = true;
  Bench bench(broken, Sealing::kVerified, true);
  Watch watch(bench);
  for (const std::uint64_t line : {9, 10}) bench.backend->parts().stored({line}, EntryNeed::kLater);
  bench.write_all({{1, 42}, {2, 42}});
  bench.write({1}, 43);
  bench.run();  // it is in its queue
  bench.write({9}, 44);
  bench.run();
  bench.settle();  // its former place is left
  bench.write_all({{10, 45}});
  EXPECT_EQ(watch.problem, "");
  if (!bench.publish()) bench.settle();
  EXPECT_EQ(watch.problem,
            "deduplication considers location 0x40 free, but 1 lines have their data there");
}

// Writes that wait for space in their queue have a location that does not hold their data yet. Line
// 1 gets the location that line 2 has left; line 2 gets a location that no line had before.
class Waiting {
 public:
  explicit Waiting(const DeduplicationParameters& parameters = {})
      : bench(parameters, Sealing::kVerified, true), watch(bench) {
    bench.write_all({{1, 42}, {2, 42}});
    for (const std::uint64_t line : {1, 2})
      bench.backend->parts().stored({line}, EntryNeed::kLater);
    first = bench.write({1}, 43);
    second = bench.write({2}, 44);
    bench.run_until(bench.queue.now() + ns(600));  // their operations are nearly done
    for (std::uint64_t i = 0; i < 40; ++i) {
      bench.memory.write({.line = {4096 + 8 * i}, .data = {}, .persisted = {}, .written = {}});
    }
    bench.run_until(bench.queue.now() + ns(500));
  }
  // Runs until all has been compared.
  void settle() {
    bench.settle();
    if (!bench.publish()) bench.settle();
  }
  Bench bench;
  Watch watch;
  WriteId first, second;
};

TEST(RebuiltLocations, LocationIsNotComparedBeforeItsWriteIsAccepted) {
  Waiting waiting;
  EXPECT_EQ(waiting.bench.backend->surviving({1}), data_of(42));
  EXPECT_TRUE(waiting.bench.publish()) << "no queue has it";
  waiting.settle();
  EXPECT_EQ(waiting.watch.problem, "");
  EXPECT_EQ(waiting.bench.problem(), "");
  EXPECT_NE(waiting.bench.memory.device().read({2}), LineData{});
  EXPECT_NE(waiting.bench.memory.device().read(kLastPlace), LineData{});
}

TEST(RebuiltLocations, LocationIsComparedAfterItsWriteIsAccepted) {
  DeduplicationParameters broken;
  broken.faults.count = true;
  Waiting waiting(broken);
  waiting.settle();
  waiting.bench.write_all({{20, 43}});
  EXPECT_EQ(waiting.watch.problem, "");
  waiting.bench.write_all({{21, 43}});
  EXPECT_EQ(waiting.watch.problem,
            "deduplication counts 2 lines with data at location 0x80, but the entries in PM refer "
            "to it 3 times");
}

TEST(RebuiltLocations, DroppedWriteFreesItsLocation) {
  Waiting waiting;
  Bench& bench = waiting.bench;
  EXPECT_TRUE(bench.backend->drop(waiting.second));
  EXPECT_TRUE(bench.backend->drop(waiting.first));
  waiting.settle();
  EXPECT_EQ(waiting.watch.problem, "");
  EXPECT_EQ(bench.problem(), "");
  bench.write_all({{1, 45}});
  waiting.settle();
  EXPECT_EQ(waiting.watch.problem, "");
  EXPECT_NE(bench.memory.device().read({2}), LineData{}) << "that is free, and so taken";
  EXPECT_EQ(bench.memory.device().read(kLastPlace), LineData{}) << "no other one is";
}

struct Kept {
  Sealing sealing;
  bool defers = false;
};

class RebuiltAtRandom : public testing::TestWithParam<Kept> {};
INSTANTIATE_TEST_SUITE_P(Sealed, RebuiltAtRandom,
                         testing::Values(Kept{Sealing::kNone}, Kept{Sealing::kEncrypted},
                                         Kept{Sealing::kVerified}, Kept{Sealing::kNone, true},
                                         Kept{Sealing::kVerified, true}));

TEST_P(RebuiltAtRandom, LocationsEqualTheStateOfDeduplication) {
  int points = 0, drops = 0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Bench bench({}, GetParam().sealing, GetParam().defers);
    Watch watch(bench);
    for (std::uint64_t line = 0; line < 6; ++line)
      bench.backend->parts().stored({line}, EntryNeed::kLater);
    std::mt19937_64 random(seed);
    std::vector<WriteId> ids;
    for (int i = 0; i < 150; ++i) {
      ids.push_back(bench.write({random() % 12}, random() % 6));
      if (random() % 2 == 0) bench.run_until(bench.queue.now() + ns(random() % 800));
      if (random() % 3 == 0) drops += bench.backend->drop(ids[random() % ids.size()]);
      if (random() % 40 == 0) bench.settle();
      if (random() % 10 == 0) bench.publish();
    }
    bench.settle();
    if (!bench.publish()) bench.settle();
    EXPECT_EQ(watch.problem, "") << seed;
    EXPECT_EQ(bench.problem(), "") << "seed " << seed << ": all places at the end";
    points += watch.points;
  }
  EXPECT_GT(points, 2000);
  EXPECT_GT(drops, 100);
}

}  // namespace
}  // namespace pmemsim
