// The images that x86's persistency model allows: litmus tests of the papers, and small random
// programs against an enumerator written from the definition.
#include "pmemsim/checks/images/persistency_model.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "litmus_program.hpp"
#include "long_tests.hpp"
#include "pmemsim/checks/images/all_images.hpp"
#include "pmemsim/checks/images/survey.hpp"
#include "pmemsim/checks/rules/persist_calls.hpp"

namespace pmemsim::litmus {
namespace {

constexpr std::size_t kProgramLines = 3;
constexpr std::uint64_t kX = 0, kY = 64, kZ = 128;
constexpr std::uint64_t kSameLine = 8;  // address in the line of x

Bytes bytes_of(const Image& base, const AllImages& images) {
  Bytes bytes(kProgramLines * kLineBytes);
  const auto put = [&](Line line, const LineData& data) {
    std::memcpy(bytes.data() + (line.address() - kPmBase), data.data(), kLineBytes);
  };
  for (std::size_t line = 0; line < kProgramLines; ++line) {
    const Line number = Line::of(kPmBase + line * kLineBytes);
    put(number, base.read(number));
  }
  for (std::size_t i = 0; i < images.lines(); ++i) put(images.line(i), images.contents(i));
  return bytes;
}

struct Found {
  Images images;
  std::size_t instants = 0, shown = 0;
};

Found all_of(const trace::TraceFile& trace, PersistencyRules rules,
             const Variation& variation = {}) {
  PersistencyModel model(trace, rules, variation);
  Found found;
  while (model.next()) {
    AllImages images(model, ++found.instants == 1);
    while (images.next()) {
      found.images.insert(bytes_of(model.base(), images));
      ++found.shown;
    }
  }
  return found;
}

Found all_of(const Program& program, PersistencyRules rules = PersistencyRules::kPx86,
             std::uint32_t threads = 2, const Variation& variation = {}) {
  Recorder recorder(program, threads);
  const TemporaryTrace file(recorder.trace());
  return all_of(trace::TraceFile(file.path()), rules, variation);
}

// The first bytes of x, y and so on, as the images have them.
std::set<std::vector<int>> values(const Program& program, const std::vector<std::uint64_t>& places,
                                  PersistencyRules rules = PersistencyRules::kPx86) {
  std::set<std::vector<int>> values;
  for (const Bytes& image : all_of(program, rules).images) {
    std::vector<int> row;
    for (const std::uint64_t place : places) row.push_back(image[place]);
    values.insert(row);
  }
  return values;
}

using Values = std::set<std::vector<int>>;

Step store(std::uint32_t thread, std::uint64_t at, std::uint64_t value = 1, std::uint8_t size = 8) {
  return {thread, Do::kStore, at, value, size};
}
Step non_temporal(std::uint32_t thread, std::uint64_t at, std::uint64_t value = 1) {
  return {thread, Do::kNonTemporal, at, value};
}
Step on(std::uint32_t thread, Do what, std::uint64_t at = 0) { return {thread, what, at}; }

// ---- Litmus tests: Raad et al. 2020, figures 1 to 3, and Khyzha and Lahav 2021, section 2 -------

const Values kAny{{0, 0}, {0, 1}, {1, 0}, {1, 1}};
const Values kInOrder{{0, 0}, {1, 0}, {1, 1}};

TEST(Px86, StoresToDifferentLinesHaveNoOrder) {
  EXPECT_EQ(values({store(0, kX), store(0, kY)}, {kX, kY}), kAny);
}

TEST(Px86, StoresToOneLinePersistInTheirOrder) {
  EXPECT_EQ(values({store(0, kX), store(0, kSameLine)}, {kX, kSameLine}), kInOrder);
  EXPECT_EQ(values({store(0, kX), store(1, kSameLine)}, {kX, kSameLine}), kInOrder);
}

TEST(Px86, FenceWithoutAFlushOrdersNothing) {
  for (const Do fence : {Do::kSfence, Do::kMfence, Do::kLock}) {
    EXPECT_EQ(values({store(0, kX), on(0, fence), store(0, kY)}, {kX, kY}), kAny);
  }
}

TEST(Px86, ClflushIsOrderedWithLaterStores) {
  EXPECT_EQ(values({store(0, kX), on(0, Do::kClflush, kX), store(0, kY)}, {kX, kY}), kInOrder);
  // The order holds whichever thread flushes or stores.
  EXPECT_EQ(values({store(0, kX), on(1, Do::kClflush, kX), store(1, kY)}, {kX, kY}), kInOrder);
  EXPECT_EQ(values({store(0, kX), on(0, Do::kClflush, kX), store(1, kY)}, {kX, kY}), kInOrder);
  // The flush itself may persist late: x stays open until a later store persists.
  EXPECT_EQ(values({store(0, kX), on(0, Do::kClflush, kX)}, {kX}), (Values{{0}, {1}}));
}

TEST(Px86, ClflushoptAndClwbAreNotOrderedWithLaterStores) {
  for (const Do flush : {Do::kClflushopt, Do::kClwb}) {
    EXPECT_EQ(values({store(0, kX), on(0, flush, kX), store(0, kY)}, {kX, kY}), kAny);
  }
}

TEST(Px86, ClflushoptAndClwbAreOrderedByFences) {
  for (const Do flush : {Do::kClflushopt, Do::kClwb}) {
    for (const Do fence : {Do::kSfence, Do::kMfence, Do::kLock}) {
      EXPECT_EQ(values({store(0, kX), on(0, flush, kX), on(0, fence), store(0, kY)}, {kX, kY}),
                kInOrder);
    }
    // A locked instruction of the same thread acts as a fence, also for its own store.
    EXPECT_EQ(
        values({store(0, kX), on(0, flush, kX), {0, Do::kExchange, kZ, 1}, store(0, kY)}, {kX, kY}),
        kInOrder);
    EXPECT_EQ(values({store(0, kX), on(0, flush, kX), {0, Do::kExchange, kY, 1}}, {kX, kY}),
              kInOrder);
  }
}

TEST(Px86, LfenceOrFenceOfAnotherThreadOrdersNothing) {
  for (const Step& step : {on(0, Do::kLfence), on(1, Do::kSfence), Step{1, Do::kExchange, kZ, 1}}) {
    EXPECT_EQ(values({store(0, kX), on(0, Do::kClwb, kX), step, store(0, kY)}, {kX, kY}), kAny);
  }
}

TEST(Px86, FlushCoversOnlyEarlierStoresOfItsLine) {
  const auto x_and_y = [](const Program& program) { return values(program, {kX, kY}); };
  EXPECT_EQ(x_and_y({on(0, Do::kClwb, kX), store(0, kX), on(0, Do::kSfence), store(0, kY)}), kAny);
  EXPECT_EQ(x_and_y({store(0, kX), on(0, Do::kClwb, kX), store(0, kX, 2), on(0, Do::kSfence),
                     store(0, kY)}),
            (Values{{0, 0}, {1, 0}, {2, 0}, {1, 1}, {2, 1}}));
  EXPECT_EQ(x_and_y({store(0, kX), on(0, Do::kClflush, kX), store(0, kX, 2), store(0, kY)}),
            (Values{{0, 0}, {1, 0}, {2, 0}, {1, 1}, {2, 1}}));
  // Two flushes before the fence: the second one covers its line's contents, too.
  EXPECT_EQ(x_and_y({store(0, kX), on(0, Do::kClwb, kX), store(0, kX, 2), on(0, Do::kClwb, kX),
                     on(0, Do::kSfence), store(0, kY)}),
            (Values{{0, 0}, {1, 0}, {2, 0}, {2, 1}}));
  // A flush covers its own line only.
  EXPECT_EQ(x_and_y({store(0, kX), on(0, Do::kClflush, kZ), store(0, kY)}), kAny);
  // A flush covers stores of other threads to its line, too.
  EXPECT_EQ(x_and_y({store(1, kX), on(0, Do::kClwb, kX), on(0, Do::kSfence), store(1, kY)}),
            kInOrder);
}

TEST(Px86, FlushIsOrderedByFencesOfItsOwnThread) {
  const Program program{store(0, kX), on(1, Do::kClwb, kX), on(0, Do::kSfence), store(0, kY)};
  EXPECT_EQ(values(program, {kX, kY}), kAny);
  Program fenced = program;
  fenced.insert(fenced.end() - 1, on(1, Do::kMfence));
  EXPECT_EQ(values(fenced, {kX, kY}), kInOrder);
}

TEST(Px86, LockedInstructionOrdersFlushesOfItsOwnThreadOnly) {
  // Message passing: data, flush; exchange of the flag; the reader stores what it makes of it.
  EXPECT_EQ(values({store(0, kX), on(0, Do::kClwb, kX), {0, Do::kExchange, kZ, 1}, store(1, kY)},
                   {kX, kY}),
            kInOrder);
  // The reader's exchange doesn't fence the writer's flush.
  EXPECT_EQ(values({store(0, kX), on(0, Do::kClwb, kX), {1, Do::kExchange, kZ, 1}, store(1, kY)},
                   {kX, kY}),
            kAny);
}

TEST(Px86, StoresTearAtEightBytes) {
  const std::uint64_t ones = 0x0101010101010101;
  EXPECT_EQ(values({store(0, kX, ones, 16)}, {kX, kX + 7, kX + 8}),
            (Values{{0, 0, 0}, {1, 1, 0}, {1, 1, 1}}));
  // A store across two words, and one across two lines.
  EXPECT_EQ(values({store(0, kX + 4, ones)}, {kX + 4, kX + 8}), kInOrder);
  EXPECT_EQ(values({store(0, kY - 4, ones)}, {kY - 4, kY}), kAny);
}

TEST(Px86, WordsOfACopyHaveNoOrder) {
  const Step copy{0, Do::kCopy, kX, 0x0101010101010101, 16};
  EXPECT_EQ(values({copy}, {kX, kX + 8}), kAny);
  // A store after the copy persists after all words of the copy.
  const Values copied = values({copy, store(0, kX + 16)}, {kX, kX + 8, kX + 16});
  EXPECT_EQ(copied, (Values{{0, 0, 0}, {0, 1, 0}, {1, 0, 0}, {1, 1, 0}, {1, 1, 1}}));
  // Two copies persist one after the other.
  EXPECT_EQ(values({{0, Do::kCopy, kX, 1}, {0, Do::kCopy, kX + 8, 1}}, {kX, kX + 8}), kInOrder);
}

TEST(Px86, NonTemporalStoresNeedAFenceButNoFlush) {
  EXPECT_EQ(values({non_temporal(0, kX), store(0, kY)}, {kX, kY}), kAny);
  EXPECT_EQ(values({non_temporal(0, kX), on(0, Do::kSfence), store(0, kY)}, {kX, kY}), kInOrder);
  EXPECT_EQ(values({non_temporal(0, kX), on(1, Do::kSfence), store(0, kY)}, {kX, kY}), kAny);
  EXPECT_EQ(values({non_temporal(0, kX), on(0, Do::kClflush, kX), store(0, kY)}, {kX, kY}), kAny);
  // Words of one line, too.
  EXPECT_EQ(values({non_temporal(0, kX), non_temporal(0, kSameLine)}, {kX, kSameLine}), kAny);
}

TEST(Px86, PointerStoredBeforeItsDataPersistMayPersistWithoutThem) {
  const Program wrong{store(0, kX, 7), store(0, kY), on(0, Do::kClwb, kX), on(0, Do::kClwb, kY),
                      on(0, Do::kSfence)};
  const Program right{store(0, kX, 7), on(0, Do::kClwb, kX), on(0, Do::kSfence),
                      store(0, kY),    on(0, Do::kClwb, kY), on(0, Do::kSfence)};
  EXPECT_TRUE(values(wrong, {kX, kY}).contains({0, 1}));
  EXPECT_FALSE(values(right, {kX, kY}).contains({0, 1}));
}

TEST(Eadr, StoresPersistInTheirOrder) {
  EXPECT_EQ(values({store(0, kX), store(0, kY)}, {kX, kY}, PersistencyRules::kEadr), kInOrder);
  EXPECT_EQ(values({store(0, kX), store(1, kY)}, {kX, kY}, PersistencyRules::kEadr), kInOrder);
  EXPECT_EQ(values({store(0, kX, 1, 16), store(0, kY)}, {kX, kX + 8, kY}, PersistencyRules::kEadr),
            (Values{{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {1, 1, 1}}));
}

TEST(Eadr, NonTemporalStoresMayBeMissingUntilTheirFence) {
  const auto x_and_y = [](const Program& program) {
    return values(program, {kX, kY}, PersistencyRules::kEadr);
  };
  EXPECT_EQ(x_and_y({non_temporal(0, kX), store(0, kY)}), kAny);
  EXPECT_EQ(x_and_y({non_temporal(0, kX), on(0, Do::kSfence), store(0, kY)}), kInOrder);
  EXPECT_EQ(x_and_y({store(0, kX), non_temporal(0, kY)}), kInOrder);
}

// ---- Instants -----------------------------------------------------------------------------------

TEST(PersistencyModel, InstantWithoutANewSegmentIsSkipped) {
  // Two fences guarantee a segment. The end adds no segment.
  const Program program{store(0, kX), on(0, Do::kClwb, kX), on(0, Do::kSfence), on(0, Do::kSfence),
                        store(0, kY), on(0, Do::kClwb, kY), on(0, Do::kSfence)};
  const Found found = all_of(program);
  EXPECT_EQ(found.instants, 2);
  EXPECT_EQ(found.images.size(), 3);
  EXPECT_EQ(all_of({store(0, kX), on(0, Do::kSfence), store(0, kY)}).instants, 1);
  EXPECT_EQ(all_of({}).instants, 1);
}

TEST(PersistencyModel, EachSetOfSegmentsIsShownOnce) {
  // Lines that are possibly lost over several instants.
  Program program{store(0, kZ)};
  for (std::uint64_t value = 1; value < 5; ++value) {
    program.insert(program.end(), {store(0, kX, value), on(0, Do::kClwb, kX), on(0, Do::kSfence)});
  }
  const Found found = all_of(program);
  EXPECT_EQ(found.images.size(), 2 * 5);
  EXPECT_EQ(found.shown, found.images.size());
  // The last segment before an instant is an old one at the next.
  const Found two =
      all_of({store(0, kX), store(0, kZ), on(0, Do::kClwb, kX), on(0, Do::kSfence), store(0, kY)});
  EXPECT_EQ(two.images.size(), 4 + 2);
  EXPECT_EQ(two.shown, two.images.size());
}

TEST(PersistencyModel, StoreOfAnUnchangedValueAddsNoImage) {
  EXPECT_EQ(all_of({store(0, kX), store(0, kX), store(0, kX)}).shown, 2);
  EXPECT_EQ(all_of({store(0, kX, 0)}).shown, 1);
  // An image that a non-temporal store could leave earlier isn't shown again.
  EXPECT_EQ(all_of({store(0, kX, 5), store(0, kY), on(0, Do::kClwb, kY), on(0, Do::kSfence),
                    non_temporal(0, kX, 5)})
                .shown,
            4);
}

// ---- Random programs ----------------------------------------------------------------------------

// The operations of random programs; one that is listed more often is more frequent.
struct Mix {
  std::vector<Do> operations;
  std::uint32_t threads = 2;
  std::uint32_t lines = kProgramLines;
};
const Mix kAllKinds{{Do::kStore,    Do::kStore,       Do::kStore,       Do::kStore,
                     Do::kStore,    Do::kCopy,        Do::kCopy,        Do::kClwb,
                     Do::kClwb,     Do::kClwb,        Do::kNonTemporal, Do::kNonTemporal,
                     Do::kClwb,     Do::kClflushopt,  Do::kClflush,     Do::kSfence,
                     Do::kSfence,   Do::kMfence,      Do::kLock,        Do::kLfence,
                     Do::kExchange, Do::kAtomicStore, Do::kFencedStore, Do::kLoad}};
// Non-temporal stores of several threads to one line, and all kinds of fences.
const Mix kNonTemporalStores{
    {Do::kNonTemporal, Do::kNonTemporal, Do::kNonTemporal, Do::kNonTemporal, Do::kStore,
     Do::kSfence, Do::kMfence, Do::kLock, Do::kExchange, Do::kFencedStore, Do::kAtomicStore},
    3,
    1};
// Flushes, which only atomic stores with and without a full fence follow.
const Mix kAtomicStores{{Do::kStore, Do::kStore, Do::kClwb, Do::kClwb, Do::kClflushopt,
                         Do::kNonTemporal, Do::kAtomicStore, Do::kFencedStore, Do::kFencedStore}};

Step random_step(std::mt19937& random, const Mix& mix = kAllKinds) {
  const auto up_to = [&](std::uint32_t most) {
    return static_cast<std::uint32_t>(random() % most);
  };
  Step step{up_to(mix.threads),
            mix.operations[up_to(static_cast<std::uint32_t>(mix.operations.size()))]};
  step.at = up_to(mix.lines) * kLineBytes + up_to(3) * 8;
  step.value = 0x0101010101010101 * up_to(3);
  if (step.what == Do::kStore) {
    step.size = std::array<std::uint8_t, 4>{4, 8, 8, 16}[up_to(4)];
    if (step.size <= 8 && up_to(4) == 0) step.at += 4;
  } else if (step.what == Do::kCopy) {
    step.size = static_cast<std::uint8_t>(8 + up_to(17));
  } else if (step.what == Do::kNonTemporal && up_to(3) == 0) {
    step.size = 4;
  }
  return step;
}

std::string written(const Program& program) {
  constexpr std::array kNames{"store",    "copy",   "non-temporal", "atomic store", "fenced store",
                              "exchange", "clwb",   "clflushopt",   "clflush",      "sfence",
                              "mfence",   "lfence", "lock",         "load"};
  std::string text;
  for (const Step& step : program) {
    text +=
        fmt::format("{}: {} at {}, {} bytes of {:x}\n", step.thread,
                    kNames[static_cast<std::size_t>(step.what)], step.at, step.size, step.value);
  }
  return text;
}

void compare_random_programs(PersistencyRules rules, std::uint32_t seed, std::size_t programs,
                             const Mix& mix = kAllKinds, HostFailure failure = {}) {
  std::mt19937 random(seed);
  for (std::size_t compared = 0; compared < programs;) {
    Program program;
    const std::size_t steps = 1 + random() % 10;
    while (program.size() < steps) program.push_back(random_step(random, mix));
    const Definition definition(program, rules, kProgramLines, failure);
    if (definition.words() > 12) continue;
    ASSERT_TRUE(all_of(program, rules, mix.threads, {.failure = failure}).images ==
                definition.images())
        << written(program);
    ++compared;
  }
}

TEST(PersistencyModel, ImagesOfRandomProgramsMatchTheDefinition) {
  compare_random_programs(PersistencyRules::kPx86, 1, amount(100u, 300u, 600u));
}

TEST(PersistencyModel, ImagesOfRandomProgramsMatchTheDefinitionOnEadr) {
  compare_random_programs(PersistencyRules::kEadr, 2, amount(50u, 150u, 300u));
}

TEST(PersistencyModel, ImagesWithNonTemporalStoresOfSeveralThreadsMatchTheDefinition) {
  compare_random_programs(PersistencyRules::kPx86, 3, amount(100u, 300u, 600u), kNonTemporalStores);
}

TEST(PersistencyModel, ImagesWithAtomicStoresMatchTheDefinition) {
  compare_random_programs(PersistencyRules::kPx86, 4, amount(100u, 300u, 600u), kAtomicStores);
}

TEST(PersistencyModel, ImagesAfterTheFailureOfOneHostMatchTheDefinition) {
  Mix hosts = kAllKinds;
  hosts.threads = 3;
  hosts.operations.insert(hosts.operations.end(), 3, Do::kLoad);
  for (const std::uint32_t failed : {0u, 1u}) {
    compare_random_programs(PersistencyRules::kPx86, 5 + failed, amount(100u, 300u, 600u), hosts,
                            {.hosts = 2, .failed = failed});
  }
}

// Steps of one sort are one instruction of the recording.
TEST(PersistencyModel, LeavingOutAnInstructionEqualsAProgramWithoutIt) {
  const std::map<std::string_view, Do> sorts{{"clwb", Do::kClwb},
                                             {"clflushopt", Do::kClflushopt},
                                             {"clflush", Do::kClflush},
                                             {"sfence", Do::kSfence},
                                             {"mfence", Do::kMfence}};
  std::mt19937 random(3);
  std::set<std::string_view> tried;
  int needless = 0;
  for (int programs = 0; programs < 300; ++programs) {
    Program program;
    const std::size_t steps = 1 + random() % 10;
    while (program.size() < steps) program.push_back(random_step(random));
    if (Definition(program, PersistencyRules::kPx86, kProgramLines).words() > 10) continue;
    Recorder recorder(program, 2);
    const TemporaryTrace file(recorder.trace());
    const trace::TraceFile trace(file.path());
    const Images whole = all_of(trace, PersistencyRules::kPx86).images;
    const std::uint64_t digest = survey(trace, PersistencyRules::kPx86, {}).digest;
    std::map<Do, std::uint64_t> executed;
    for (const Step& step : program) ++executed[step.what];
    for (const check::PersistCall& instruction : check::persist_calls(trace)) {
      const Do sort = sorts.at(instruction.name);
      EXPECT_EQ(instruction.executed(), executed[sort]) << written(program);
      Program without = program;
      std::erase_if(without, [&](const Step& step) { return step.what == sort; });
      const Definition definition(without, PersistencyRules::kPx86, kProgramLines);
      const auto left_out =
          std::make_shared<const std::vector<std::vector<std::uint64_t>>>(instruction.operations);
      ASSERT_TRUE(all_of(trace, PersistencyRules::kPx86, {left_out}).images == definition.images())
          << instruction.name << " left out of\n"
          << written(program);
      if (survey(trace, PersistencyRules::kPx86, {left_out}).digest == digest) {
        ++needless;
        ASSERT_TRUE(definition.images() == whole) << instruction.name << " in\n"
                                                  << written(program);
      }
      executed.erase(sort);
      tried.insert(instruction.name);
    }
    for (const auto& [name, sort] : sorts) EXPECT_EQ(executed[sort], 0u) << name;
  }
  EXPECT_EQ(tried.size(), sorts.size());
  EXPECT_GT(needless, 100);
}

// The digests of a program, whole and without its clflushopts.
std::pair<std::uint64_t, std::uint64_t> digests(const Program& program) {
  Recorder recorder(program, 2);
  const TemporaryTrace file(recorder.trace());
  const trace::TraceFile trace(file.path());
  std::pair<std::uint64_t, std::uint64_t> found;
  found.first = survey(trace, PersistencyRules::kPx86, {}).digest;
  for (const check::PersistCall& call : check::persist_calls(trace)) {
    if (call.name != "clflushopt") continue;
    const auto left_out =
        std::make_shared<const std::vector<std::vector<std::uint64_t>>>(call.operations);
    found.second = survey(trace, PersistencyRules::kPx86, {left_out}).digest;
  }
  return found;
}

// Calls that synchronise have no source line.
TEST(PersistencyModel, LastVisibleOperationOfEachThreadIsReported) {
  trace::TraceBuilder builder;
  builder.pm_region(kPmBase, kPmBase + 4096);
  const std::uint32_t site = builder.site(trace::SiteKind::kStore, 8, 7);
  builder.thread(0).store(site, kPmBase, 1);
  builder.sync(trace::SyncKind::kMutexLock, kDramBase, 0, 0);
  builder.thread(1).sync(trace::SyncKind::kMutexLock, kDramBase + 64, 1, 0);
  builder.thread(2);
  const TemporaryTrace file(builder);
  const trace::TraceFile trace(file.path());
  PersistencyModel model(trace, PersistencyRules::kPx86);
  while (model.next()) {
  }
  const std::vector<PersistencyModel::Position>& last = model.last_positions();
  ASSERT_GE(last.size(), 2u);
  EXPECT_EQ(last[0].site, site);
  EXPECT_EQ(last[0].number, 0u);
  EXPECT_NE(last[1].site, PersistencyModel::kNone);
  EXPECT_NE(last[1].site, site);
}

TEST(Survey, DigestDoesNotDependOnAUselessFlush) {
  const auto [whole, without] =
      digests({store(0, kX), on(0, Do::kClwb, kX), on(0, Do::kClflushopt, kX), on(0, Do::kSfence),
               store(0, kY)});
  EXPECT_EQ(whole, without);
}

// The flush of y makes the fence an instant, whether or not x is flushed.
TEST(Survey, DigestDependsOnThePossiblyLostSegments) {
  const auto [whole, without] =
      digests({store(0, kX), on(0, Do::kClflushopt, kX), store(0, kY), on(0, Do::kClwb, kY),
               store(0, kX, 2), on(0, Do::kSfence), store(0, kZ)});
  EXPECT_NE(whole, without);
}

TEST(Survey, DigestDependsOnTheGuaranteedSegments) {
  const auto [whole, without] =
      digests({non_temporal(0, kX), store(1, kSameLine), on(1, Do::kClflushopt, kX), store(1, kY),
               on(1, Do::kClwb, kY), on(1, Do::kSfence), store(1, kZ)});
  EXPECT_NE(whole, without);
}

}  // namespace
}  // namespace pmemsim::litmus
