// Values as text: what is read, what is refused and in which words, and that what is written reads
// back as the same.
#include "pmemsim/common/nearest.hpp"
#include "pmemsim/common/parameters.hpp"
#include "pmemsim/machine/memory/memory.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "pmemsim/machine/memory/memory_parameters.hpp"

namespace pmemsim {
namespace {

// Returns the value of the text; the test fails if the text has no valid value.
template <class Value>
Value parsed(std::string_view text, const Limits& limits = {}) {
  Value value{};
  const auto problem = parse_value(text, limits, value);
  EXPECT_FALSE(problem.has_value()) << text << ": " << problem.value_or("");
  return value;
}

// Returns the error message for the text; an invalid text must leave the value unchanged.
template <class Value>
std::string problem(std::string_view text, const Limits& limits = {}) {
  Value value{};
  const std::string before = format_value(value);
  const auto found = parse_value(text, limits, value);
  EXPECT_EQ(format_value(value), before) << text;
  return found.value_or("(none)");
}

TEST(Parameters, CountsAreWholeNumbers) {
  EXPECT_EQ(parsed<std::uint32_t>("0"), 0u);
  EXPECT_EQ(parsed<std::uint32_t>("4294967295"), 4294967295u);
  EXPECT_EQ(problem<std::uint32_t>("4294967296"), "'4294967296' is too large; at most 4294967295");
  EXPECT_EQ(problem<std::uint32_t>("8x"), "'8x' is not a whole number");
  EXPECT_EQ(problem<std::uint32_t>("1.5"), "'1.5' is not a whole number");
  EXPECT_EQ(problem<std::uint32_t>("0x10"), "'0x10' is not a whole number");
  EXPECT_EQ(problem<std::uint32_t>("-3"), "'-3' is negative");
  EXPECT_EQ(problem<std::uint32_t>(""), "is empty; write something like 8");
  EXPECT_EQ(problem<std::uint32_t>("lots"), "'lots' is not a number; write something like 8");
  EXPECT_EQ(problem<std::uint32_t>("4 "), "'4 ' is not a whole number");
}

TEST(Parameters, LimitsAreReportedInTheUnitOfTheType) {
  EXPECT_EQ(problem<std::uint32_t>("0", {.least = 1}), "'0' is too small; at least 1");
  EXPECT_EQ(problem<std::uint32_t>("9", {.most = 8}), "'9' is too large; at most 8");
  EXPECT_EQ(problem<std::uint32_t>("6", {.power_of_two = true}), "'6' is not a power of two");
  EXPECT_EQ(problem<Picoseconds>("2s", {.most = 1e12}), "'2s' is too large; at most 1s");
  EXPECT_EQ(problem<Bytes>("32B", {.least = 64}), "'32B' is too small; at least 64B");
  EXPECT_EQ(problem<Bytes>("96B", {.power_of_two = true}), "'96B' is not a power of two");
  EXPECT_EQ(problem<Ratio>("2", {.most = 1}), "'2' is too large; at most 1");
  EXPECT_EQ(parsed<Bytes>("64B", {.least = 64, .most = 64, .power_of_two = true}).count, 64u);
}

TEST(Parameters, FlagsAreTrueOrFalse) {
  EXPECT_TRUE(parsed<bool>("true"));
  EXPECT_FALSE(parsed<bool>("false"));
  EXPECT_EQ(problem<bool>("1"), "'1' is not a flag; write true or false");
}

TEST(Parameters, TimesAreReadExactlyOrRejected) {
  EXPECT_EQ(parsed<Picoseconds>("0.833ns").count, 833);
  EXPECT_EQ(parsed<Picoseconds>("14.16ns").count, 14160);
  EXPECT_EQ(parsed<Picoseconds>("7.8us").count, 7'800'000);
  EXPECT_EQ(parsed<Picoseconds>("1ps").count, 1);
  EXPECT_EQ(parsed<Picoseconds>("0.5000ns").count, 500);
  EXPECT_EQ(problem<Picoseconds>("0.8335ns"), "'0.8335ns' is finer than 1ps");
  EXPECT_EQ(problem<Picoseconds>("2"), "'2': missing unit; write 2ns");
  EXPECT_EQ(problem<Picoseconds>("2GHz"), "'2GHz': unknown unit 'GHz'; use ps, ns, us, ms or s");
  EXPECT_EQ(problem<Picoseconds>("2 ns"), "'2 ns': unknown unit ' ns'; use ps, ns, us, ms or s");
  EXPECT_EQ(problem<Picoseconds>("nan"), "'nan' is not a number; write something like 2ns");
  EXPECT_EQ(problem<Picoseconds>("inf"), "'inf' is not a number; write something like 2ns");
  EXPECT_EQ(problem<Picoseconds>(".5ns"), "'.5ns' is not a number; write something like 2ns");
  EXPECT_EQ(problem<Picoseconds>("5.ns"), "'5.ns' is not a number; write something like 2ns");
  EXPECT_EQ(problem<Picoseconds>("-5ns"), "'-5ns' is negative");
  EXPECT_EQ(problem<Picoseconds>("10000000s"), "'10000000s' is too large");
  EXPECT_EQ(problem<Picoseconds>("99999999999999999999999999ns"),
            "'99999999999999999999999999ns' has too many digits");
}

TEST(Parameters, DelaysAreTimesOrCycles) {
  EXPECT_EQ(parsed<Delay>("4cycles").count, 4);
  EXPECT_TRUE(parsed<Delay>("1cycle").cycles);
  EXPECT_FALSE(parsed<Delay>("2ns").cycles);
  EXPECT_EQ(parsed<Delay>("2ns").count, 2000);
  EXPECT_EQ(problem<Delay>("4"), "'4': missing unit; write 4ns or 4cycles");
  EXPECT_EQ(problem<Delay>("1.5cycles"), "'1.5cycles' is not a whole number of cycles");
  EXPECT_EQ(problem<Delay>("4clocks"),
            "'4clocks': unknown unit 'clocks'; use ps, ns, us, ms, s or cycles");
  EXPECT_EQ(problem<Delay>("200cycles", {.most = 100}),
            "'200cycles' is too large; at most 100cycles");
}

TEST(Parameters, EachQuantityAcceptsOnlyItsUnits) {
  EXPECT_EQ(parsed<Hertz>("2GHz").count, 2'000'000'000u);
  EXPECT_EQ(parsed<Hertz>("2.45GHz").count, 2'450'000'000u);
  EXPECT_EQ(problem<Hertz>("2"), "'2': missing unit; write 2GHz");
  EXPECT_EQ(problem<Hertz>("0.5Hz"), "'0.5Hz' is finer than 1Hz");
  EXPECT_EQ(parsed<Bytes>("32KiB").count, 32768u);
  EXPECT_EQ(parsed<Bytes>("1.5KiB").count, 1536u);
  EXPECT_EQ(parsed<Bytes>("16GiB").count, std::uint64_t{16} << 30);
  EXPECT_EQ(problem<Bytes>("32KB"), "'32KB' is ambiguous; write 32KiB (32768 bytes)");
  EXPECT_EQ(problem<Bytes>("1KB"), "'1KB' is ambiguous; write 1KiB (1024 bytes)");
  EXPECT_EQ(problem<Bytes>("4GB"), "'4GB' is ambiguous; write 4GiB (4294967296 bytes)");
  EXPECT_EQ(problem<Bytes>("4096"), "'4096': missing unit; write 4096B");
  EXPECT_EQ(parsed<Bandwidth>("6.6GB/s").count, 6'600'000'000u);
  EXPECT_EQ(problem<Bandwidth>("6.6"), "'6.6': missing unit; write 6.6GB/s");
  EXPECT_EQ(problem<Bandwidth>("6GiB/s"),
            "'6GiB/s': unknown unit 'GiB/s'; use B/s, kB/s, MB/s, GB/s or TB/s");
  EXPECT_EQ(parsed<Picojoules>("300pJ").count, 300);
  EXPECT_EQ(parsed<Picojoules>("1.628nJ").count, 1628);
  EXPECT_EQ(problem<Picojoules>("300"), "'300': missing unit; write 300pJ");
  EXPECT_EQ(problem<Picojoules>("0.5pJ"), "'0.5pJ' is finer than 1pJ");
  EXPECT_EQ(parsed<Milliwatts>("13W").count, 13'000);
  EXPECT_EQ(problem<Milliwatts>("13kW"), "'13kW': unknown unit 'kW'; use mW or W");
}

TEST(Parameters, RatiosAreFractionsOrPercent) {
  EXPECT_EQ(parsed<Ratio>("0.85").value, 0.85);
  EXPECT_EQ(parsed<Ratio>("85%").value, 0.85);
  EXPECT_EQ(parsed<Ratio>("12.3%").value, 0.123);
  EXPECT_EQ(parsed<Ratio>("16").value, 16);
  EXPECT_EQ(problem<Ratio>("1e-3"), "'1e-3' is not a ratio; write something like 0.85 or 85%");
}

TEST(Parameters, LimitsAreFormattedWithUnits) {
  EXPECT_EQ(format_limits({}, Picoseconds{}), "");
  EXPECT_EQ(format_limits({.least = 1, .most = 64}, std::uint32_t{}), "1 to 64");
  EXPECT_EQ(format_limits({.least = 0.01, .most = 1000}, Ratio{}), "0.01 to 1000");
  EXPECT_EQ(format_limits({.most = 1e12}, Picoseconds{}), "at most 1s");
  EXPECT_EQ(format_limits({.least = 1e6}, Hertz{}), "at least 1MHz");
  EXPECT_EQ(format_limits({.most = 1e9}, Bandwidth{}), "at most 1GB/s");
  EXPECT_EQ(format_limits({.least = 64, .most = 1 << 20, .power_of_two = true}, Bytes{}),
            "64B to 1MiB, a power of two");
  EXPECT_EQ(format_limits({.most = 1e12}, Picojoules{}), "at most 1000mJ");
  EXPECT_EQ(format_limits({.most = 1e6}, Milliwatts{}), "at most 1000W");
  EXPECT_EQ(format_limits({.power_of_two = true}, std::uint32_t{}), "a power of two");
  EXPECT_EQ(format_limits({}, Delay{}), "");
  EXPECT_EQ(format_limits({.most = 1e6}, Delay{}), "at most 1us, or at most 1000000cycles");
  EXPECT_EQ(format_limits({.most = 1}, true), "");
}

TEST(Parameters, ValuesAreFormattedWithUnits) {
  EXPECT_EQ(format_value(Picoseconds{14160}), "14.16ns");
  EXPECT_EQ(format_value(Picoseconds{833}), "833ps");
  EXPECT_EQ(format_value(Picoseconds{7'800'000}), "7.8us");
  EXPECT_EQ(format_value(Picoseconds{0}), "0ps");
  EXPECT_EQ(format_value(cycles(1)), "1cycle");
  EXPECT_EQ(format_value(cycles(42)), "42cycles");
  EXPECT_EQ(format_value(Hertz{2'000'000'000}), "2GHz");
  EXPECT_EQ(format_value(Bytes{32768}), "32KiB");
  EXPECT_EQ(format_value(Bytes{1536}), "1536B");
  EXPECT_EQ(format_value(Bandwidth{6'600'000'000}), "6.6GB/s");
  EXPECT_EQ(format_value(Picojoules{1628}), "1.628nJ");
  EXPECT_EQ(format_value(Milliwatts{403}), "403mW");
  EXPECT_EQ(format_value(Ratio{0.85}), "0.85");
  EXPECT_EQ(format_value(Ratio{1e-7}), "0.0000001");
  EXPECT_EQ(format_value(true), "true");
}

// Numbers of every magnitude, round ones among them.
class Numbers {
 public:
  std::int64_t next() {
    const std::uint64_t bits = random_() >> (random_() % 60 + 4);
    static constexpr std::int64_t kRound[] = {1, 1, 10, 1000, 1024, 1'000'000};
    const std::int64_t factor = kRound[random_() % std::size(kRound)];
    return static_cast<std::int64_t>(bits) % (1'000'000'000'000'000'000 / factor) * factor;
  }

 private:
  std::mt19937_64 random_{20260611};
};

TEST(Parameters, FormattedValuesParseToTheSameValue) {
  Numbers numbers;
  for (int i = 0; i < 20'000; ++i) {
    const std::int64_t n = numbers.next();
    const auto u = static_cast<std::uint64_t>(n);
    EXPECT_EQ(parsed<Picoseconds>(format_value(Picoseconds{n})).count, n);
    EXPECT_EQ(parsed<Hertz>(format_value(Hertz{u})).count, u);
    EXPECT_EQ(parsed<Bytes>(format_value(Bytes{u})).count, u);
    EXPECT_EQ(parsed<Bandwidth>(format_value(Bandwidth{u})).count, u);
    EXPECT_EQ(parsed<Picojoules>(format_value(Picojoules{n})).count, n);
    EXPECT_EQ(parsed<Milliwatts>(format_value(Milliwatts{n})).count, n);
    const Delay delay{n, i % 2 == 0};
    EXPECT_EQ(parsed<Delay>(format_value(delay)).count, n);
    EXPECT_EQ(parsed<Delay>(format_value(delay)).cycles, delay.cycles);
    const auto small = static_cast<std::uint32_t>(u);
    EXPECT_EQ(parsed<std::uint32_t>(format_value(small)), small);
    const Ratio ratio{static_cast<double>(small) / 4294967296.0};
    EXPECT_EQ(parsed<Ratio>(format_value(ratio)).value, ratio.value);
  }
}

// No text crashes the reader, and what it accepts is unchanged by writing and reading again.
TEST(Parameters, RandomTextIsParsedOrRejected) {
  std::mt19937 random{7};
  constexpr std::string_view kLetters = "0123456789..-+eE%xKMGTiBpnums/Hzcyl \n\0";
  for (int i = 0; i < 50'000; ++i) {
    std::string text(random() % 12, ' ');
    for (char& c : text) c = kLetters[random() % kLetters.size()];
    const auto check = [&](auto value) {
      if (!parse_value(text, {}, value)) {
        auto again = value;
        EXPECT_FALSE(parse_value(format_value(value), {}, again));
        EXPECT_EQ(format_value(again), format_value(value)) << text;
      }
    };
    check(std::uint32_t{});
    check(false);
    check(Ratio{});
    check(Picoseconds{});
    check(Delay{});
    check(Hertz{});
    check(Bytes{});
    check(Bandwidth{});
    check(Picojoules{});
    check(Milliwatts{});
  }
}

TEST(Parameters, UnknownChoiceIsRejectedWithTheNearestName) {
  const std::string_view names[] = {"page", "line"};
  int index = -1;
  EXPECT_FALSE(parse_choice("line", names, index));
  EXPECT_EQ(index, 1);
  EXPECT_EQ(parse_choice("lime", names, index),
            "'lime' is not one of page, line; did you mean 'line'?");
  EXPECT_EQ(parse_choice("bank", names, index), "'bank' is not one of page, line");
  EXPECT_EQ(parse_choice("bank", std::span(names).first(1), index),
            "'bank' is unknown; the only value is page");
  EXPECT_EQ(index, 1);
}

TEST(Parameters, OnlyNamesWithATypingErrorAreSuggested) {
  const std::vector<std::string> words = {"core.rob_entries", "core.load_queue_entries",
                                          "pm.ranks"};
  EXPECT_EQ(nearest("core.rob_entires", words), "core.rob_entries");
  EXPECT_EQ(nearest("pm.rank", words), "pm.ranks");
  EXPECT_EQ(nearest("cache.sets", words), std::nullopt);
  EXPECT_EQ(nearest("x", {}), std::nullopt);
}

TEST(Parameters, SetterReportsAllProblemsAtOnce) {
  MemoryParameters memory;
  const Setting settings[] = {
      {"pm.wpq_entries", "64", "machine.yaml:3"}, {"pm.wpq_entries", "96", "--set"},
      {"pm.tburst", "3", "machine.yaml:4"},       {"pm.wpq_entrys", "12", "machine.yaml:5"},
      {"interleaving", "line", "machine.yaml:6"}, {"pm.interleaving", "bank", "machine.yaml:7"},
      {"nothing.like_it", "1", "machine.yaml:8"},
  };
  ParameterSetter setter(settings);
  setter.group("pm", memory);
  EXPECT_EQ(memory.wpq_entries, 96u);  // the later setting wins
  try {
    setter.throw_problems();
    FAIL() << "no problem was reported";
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.problems(),
              (std::vector<std::string>{
                  "machine.yaml:7: pm.interleaving: 'bank' is not one of page, line",
                  "machine.yaml:4: pm.tburst: '3': missing unit; write 3ns",
                  "machine.yaml:5: pm.wpq_entrys: unknown key; did you mean 'pm.wpq_entries'?",
                  "machine.yaml:6: interleaving: unknown key; did you mean 'pm.interleaving'?",
                  "machine.yaml:8: nothing.like_it: unknown key; `pmemsim show machine NAME` "
                  "lists all",
              }));
  }
}

TEST(Parameters, UnknownKeyIsRejectedWithSimilarKeys) {
  const auto said = [](const std::string& key) -> std::string {
    MemoryParameters memory;
    const Setting settings[] = {{key, "1", "--set"}};
    ParameterSetter setter(settings);
    setter.group("memory", memory);
    try {
      setter.throw_problems();
    } catch (const ConfigError& error) {
      return error.problems().at(0).substr(std::string("--set: : unknown key; ").size() +
                                           key.size());
    }
    return "";
  };
  EXPECT_EQ(said("memory.tburs"), "did you mean 'memory.tburst'?");
  EXPECT_EQ(said("memory.write_high"), "similar keys: memory.write_high_watermark");  // begins so
  EXPECT_EQ(said("pm.watermark"),  // contains the word
            "similar keys: memory.write_high_watermark, memory.write_low_watermark");
  EXPECT_TRUE(said("memory.").starts_with("`pmemsim show machine NAME`"));
  EXPECT_TRUE(said("memory").ends_with(" more; `pmemsim show machine NAME` lists all"))
      << said("memory");
}

struct BreakableFaults {
  bool fence = false, flush = false;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("fence", fence, "fences don't wait");
    visit("flush", flush, "flushes don't flush");
  }
};

class Faults : public testing::Test {
 protected:
  Faults() {
    FaultLister lister(set_);
    lister.group("one", faults_);
    lister.group("one", faults_);  // declared once all the same
  }
  void inject() {
    FaultInjector injector(set_);
    injector.group("one", faults_);
  }
  // Returns the setter's error message for this value.
  std::string problem(std::string_view names) {
    const Setting settings[] = {{"pmemsim.faults", std::string(names), "--set"}};
    ParameterSetter setter(settings);
    setter.faults(set_);
    try {
      setter.throw_problems();
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  }

  BreakableFaults faults_;
  FaultSet set_;
};

TEST_F(Faults, NameBeginsWithTheNameOfItsGroup) {
  ASSERT_EQ(set_.declared().size(), 2u);
  EXPECT_EQ(set_.declared()[1].name, "one.flush");
  EXPECT_EQ(set_.declared()[1].what, "flushes don't flush");
}

TEST_F(Faults, OnlyNamedFaultsAreInjected) {
  EXPECT_EQ(problem("one.flush"), "");
  inject();
  EXPECT_FALSE(faults_.fence);
  EXPECT_TRUE(faults_.flush);
}

TEST_F(Faults, LastSettingReplacesEarlierSettings) {
  EXPECT_EQ(problem("one.flush"), "");
  EXPECT_EQ(problem("one.fence"), "");
  EXPECT_EQ(set_.injected(), std::vector<std::string_view>{"one.fence"});
  EXPECT_EQ(problem(""), "");
  EXPECT_TRUE(set_.injected().empty());
}

TEST_F(Faults, ConfigurationListsOnlyInjectedFaults) {
  ParameterLister none;
  none.faults(set_);
  EXPECT_TRUE(none.found.empty());
  EXPECT_EQ(problem("one.flush,one.fence"), "");
  ParameterLister both;
  both.faults(set_);
  ASSERT_EQ(both.found.size(), 1u);
  EXPECT_EQ(both.found[0].key, "pmemsim.faults");
  EXPECT_EQ(both.found[0].value, "one.fence,one.flush");
}

TEST_F(Faults, UnknownFaultIsRejectedWithTheNearestName) {
  EXPECT_NE(problem("one.fense").find("unknown fault \"one.fense\"; did you mean one.fence?"),
            std::string::npos);
  EXPECT_NE(problem("x").find("`pmemsim list faults` shows all"), std::string::npos);
}

TEST(Parameters, ValidSettingIsAppliedWithoutAProblem) {
  MemoryParameters memory;
  const Setting settings[] = {{"pm.trcd", "48ns", "--set"}};
  ParameterSetter setter(settings);
  setter.group("pm", memory);
  setter.throw_problems();
  EXPECT_EQ(memory.trcd.count, 48'000);
}

// Everything that a memory lists can be set to what it lists, within its own limits.
TEST(Parameters, ListedMemoryParametersCanBeSetAgain) {
  MemoryParameters memory;
  ParameterLister lister;
  lister.group("pm", memory);
  ASSERT_GT(lister.found.size(), 30u);
  std::vector<Setting> settings;
  for (const ParameterInfo& info : lister.found) {
    EXPECT_FALSE(info.description.empty()) << info.key;
    settings.push_back({info.key, info.value, "listing"});
  }
  ParameterSetter setter(settings);
  setter.group("pm", memory);
  setter.throw_problems();
  ParameterLister again;
  again.group("pm", memory);
  for (std::size_t i = 0; i < lister.found.size(); ++i) {
    EXPECT_EQ(again.found[i].value, lister.found[i].value) << again.found[i].key;
  }
}

TEST(Parameters, ContradictoryMemoryParametersAreRejected) {
  MemoryParameters memory;
  EXPECT_TRUE(memory.problems().empty());
  memory.ranks = 8;
  memory.write_low_watermark = {0.9};
  memory.trefi = memory.trfc;
  EXPECT_EQ(memory.problems(),
            (std::vector<std::string>{
                "ranks x banks_per_rank: 8 x 16 exceeds the limit of 64 banks per channel",
                "write_low_watermark: 0.9 is above write_high_watermark, 0.85",
                "trefi: a refresh every 350ns that takes 350ns (trfc) leaves no time",
            }));
  EventQueue queue;
  EXPECT_THROW(Memory(queue, memory), ConfigError);
}

}  // namespace
}  // namespace pmemsim
