#include "pmemsim/common/parameters.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "pmemsim/common/nearest.hpp"

namespace pmemsim {

namespace {

using Wide = unsigned __int128;
using Problem = std::optional<std::string>;

// A decimal number as written, kept exact, and the text that follows it.
struct Decimal {
  Wide digits = 0;
  unsigned decimals = 0;
  std::string_view number;
  std::string_view unit;
};

// A unit of one type. `scale` is the number of base units (ps, Hz, B, B/s, pJ, mW) in one unit.
struct Unit {
  std::string_view name;
  std::uint64_t scale;
};

constexpr Unit kTimeUnits[] = {
    {"ps", 1}, {"ns", 1'000}, {"us", 1'000'000}, {"ms", 1'000'000'000}, {"s", 1'000'000'000'000}};
constexpr Unit kFrequencyUnits[] = {
    {"Hz", 1}, {"kHz", 1'000}, {"MHz", 1'000'000}, {"GHz", 1'000'000'000}};
constexpr Unit kSizeUnits[] = {
    {"B", 1}, {"KiB", 1ull << 10}, {"MiB", 1ull << 20}, {"GiB", 1ull << 30}, {"TiB", 1ull << 40}};
constexpr Unit kBandwidthUnits[] = {{"B/s", 1},
                                    {"kB/s", 1'000},
                                    {"MB/s", 1'000'000},
                                    {"GB/s", 1'000'000'000},
                                    {"TB/s", 1'000'000'000'000}};
constexpr Unit kEnergyUnits[] = {
    {"pJ", 1}, {"nJ", 1'000}, {"uJ", 1'000'000}, {"mJ", 1'000'000'000}};
constexpr Unit kPowerUnits[] = {{"mW", 1}, {"W", 1'000}};
constexpr Unit kCycleUnits[] = {{"cycles", 1}, {"cycle", 1}};

// Number of significant digits at most. Wide holds as many digits with any scale, and no unit needs
// more.
constexpr std::size_t kMostDigits = 24;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

Problem scan(std::string_view text, std::string_view expected, Decimal& decimal) {
  if (text.empty()) return fmt::format("is empty; write something like {}", expected);
  if (text.front() == '-') return fmt::format("'{}' is negative", text);
  std::size_t end = 0;
  std::size_t significant = 0;
  bool point = false;
  for (; end < text.size(); ++end) {
    const char c = text[end];
    if (is_digit(c)) {
      significant += significant > 0 || c != '0';
      if (significant > kMostDigits) return fmt::format("'{}' has too many digits", text);
      decimal.digits = decimal.digits * 10 + static_cast<unsigned>(c - '0');
      decimal.decimals += point;
    } else if (c == '.' && !point && end > 0) {
      point = true;
    } else {
      break;
    }
  }
  if (end == 0 || text[end - 1] == '.') {
    return fmt::format("'{}' is not a number; write something like {}", text, expected);
  }
  decimal.number = text.substr(0, end);
  decimal.unit = text.substr(end);
  return std::nullopt;
}

// Returns the number in base units, or nothing if it is not a whole number of them.
std::optional<Wide> scaled(const Decimal& decimal, std::uint64_t scale) {
  Wide value = decimal.digits * scale;
  for (unsigned i = 0; i < decimal.decimals; ++i) {
    if (value % 10 != 0) return std::nullopt;
    value /= 10;
  }
  return value;
}

std::string names(std::span<const Unit> units) {
  std::string text;
  for (const Unit& unit : units) {
    if (!text.empty()) text += &unit == &units.back() ? " or " : ", ";
    text += unit.name;
  }
  return text;
}

const Unit* find_unit(std::span<const Unit> units, std::string_view name) {
  const auto found =
      std::find_if(units.begin(), units.end(), [&](const Unit& u) { return u.name == name; });
  return found == units.end() ? nullptr : &*found;
}

std::string without_trailing_zeros(std::string text) {
  if (text.find('.') == std::string::npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

// Formats the value exactly, in the largest unit that leaves at least 1 before the point.
std::string format_decimal(std::uint64_t value, std::span<const Unit> units) {
  const Unit* unit = &units.front();
  for (const Unit& candidate : units) {
    if (value >= candidate.scale) unit = &candidate;
  }
  const std::uint64_t whole = value / unit->scale;
  const std::uint64_t rest = value % unit->scale;
  if (rest == 0) return fmt::format("{}{}", whole, unit->name);
  const auto width = std::lround(std::log10(static_cast<double>(unit->scale)));
  return without_trailing_zeros(fmt::format("{}.{:0{}}", whole, rest, width)) +
         std::string(unit->name);
}

// Returns what is wrong with a parsed value, measured in base units.
template <class Format>
Problem check_limits(std::string_view text, double value, const Limits& limits, Format&& format) {
  if (value < limits.least) {
    return fmt::format("'{}' is too small; at least {}", text, format(limits.least));
  }
  if (value > limits.most) {
    return fmt::format("'{}' is too large; at most {}", text, format(limits.most));
  }
  return std::nullopt;
}

Problem check_power_of_two(std::string_view text, std::uint64_t value, const Limits& limits) {
  if (limits.power_of_two && !std::has_single_bit(value)) {
    return fmt::format("'{}' is not a power of two", text);
  }
  return std::nullopt;
}

template <class Value>
Problem parse_with_units(std::string_view text, const Limits& limits, std::span<const Unit> units,
                         std::string_view expected, Value& value) {
  Decimal decimal;
  if (auto problem = scan(text, expected, decimal)) return problem;
  if (decimal.unit.empty()) {
    const auto suffix = expected.substr(expected.find_first_not_of("0123456789"));
    return fmt::format("'{0}': missing unit; write {0}{1}", text, suffix);
  }
  const Unit* unit = find_unit(units, decimal.unit);
  if (!unit) {
    return fmt::format("'{}': unknown unit '{}'; use {}", text, decimal.unit, names(units));
  }
  const auto whole = scaled(decimal, unit->scale);
  if (!whole) return fmt::format("'{}' is finer than 1{}", text, units.front().name);
  if (*whole > static_cast<Wide>(INT64_MAX)) return fmt::format("'{}' is too large", text);
  const auto count = static_cast<std::uint64_t>(*whole);
  const auto format = [](double base) {
    return format_value(Value{static_cast<decltype(Value::count)>(base)});
  };
  if (auto problem = check_limits(text, static_cast<double>(count), limits, format)) return problem;
  if (auto problem = check_power_of_two(text, count, limits)) return problem;
  value.count = static_cast<decltype(value.count)>(count);
  return std::nullopt;
}

// "KB" means 1000 bytes to some users and 1024 to others, so that pmemsim refuses it.
Problem refuse_ambiguous_size(std::string_view text) {
  constexpr std::string_view kAmbiguous[] = {"KB", "kB", "MB", "GB", "TB"};
  constexpr std::string_view kClear[] = {"KiB", "KiB", "MiB", "GiB", "TiB"};
  Decimal decimal;
  if (scan(text, "32KiB", decimal)) return std::nullopt;
  for (std::size_t i = 0; i < std::size(kAmbiguous); ++i) {
    if (decimal.unit != kAmbiguous[i]) continue;
    const Unit* unit = find_unit(kSizeUnits, kClear[i]);
    const auto bytes = scaled(decimal, unit->scale);
    if (!bytes || *bytes > UINT64_MAX) break;
    return fmt::format("'{}' is ambiguous; write {}{} ({} bytes)", text, decimal.number, kClear[i],
                       static_cast<std::uint64_t>(*bytes));
  }
  return std::nullopt;
}

}  // namespace

Problem parse_value(std::string_view text, const Limits& limits, std::uint32_t& value) {
  Decimal decimal;
  if (auto problem = scan(text, "8", decimal)) return problem;
  if (!decimal.unit.empty() || decimal.number.find('.') != std::string_view::npos) {
    return fmt::format("'{}' is not a whole number", text);
  }
  const auto format = [](double limit) { return fmt::format("{:.0f}", limit); };
  Limits range = limits;
  range.most = std::min(range.most, double{std::numeric_limits<std::uint32_t>::max()});
  if (auto problem = check_limits(text, static_cast<double>(decimal.digits), range, format)) {
    return problem;
  }
  const auto count = static_cast<std::uint32_t>(decimal.digits);
  if (auto problem = check_power_of_two(text, count, limits)) return problem;
  value = count;
  return std::nullopt;
}

Problem parse_value(std::string_view text, const Limits&, bool& value) {
  if (text != "true" && text != "false") {
    return fmt::format("'{}' is not a flag; write true or false", text);
  }
  value = text == "true";
  return std::nullopt;
}

Problem parse_value(std::string_view text, const Limits& limits, Ratio& value) {
  Decimal decimal;
  if (auto problem = scan(text, "0.85 or 85%", decimal)) return problem;
  if (!decimal.unit.empty() && decimal.unit != "%") {
    return fmt::format("'{}' is not a ratio; write something like 0.85 or 85%", text);
  }
  // The exponent does the division by 100, so that 12.3% is the double nearest to 0.123.
  std::string number(decimal.number);
  if (decimal.unit == "%") number += "e-2";
  double ratio = 0;
  std::from_chars(number.data(), number.data() + number.size(), ratio);
  const auto format = [](double limit) { return format_value(Ratio{limit}); };
  if (auto problem = check_limits(text, ratio, limits, format)) return problem;
  value.value = ratio;
  return std::nullopt;
}

Problem parse_value(std::string_view text, const Limits& limits, Picoseconds& value) {
  return parse_with_units(text, limits, kTimeUnits, "2ns", value);
}

Problem parse_value(std::string_view text, const Limits& limits, Delay& value) {
  Decimal decimal;
  if (auto problem = scan(text, "2ns or 4cycles", decimal)) return problem;
  if (decimal.unit.empty()) {
    return fmt::format("'{0}': missing unit; write {0}ns or {0}cycles", text);
  }
  if (find_unit(kCycleUnits, decimal.unit)) {
    Picoseconds count;  // any type with a 64-bit count serves
    const Limits unlimited;
    if (!scaled(decimal, 1)) return fmt::format("'{}' is not a whole number of cycles", text);
    if (auto problem = parse_with_units(text, unlimited, kCycleUnits, "4cycles", count)) {
      return problem;
    }
    const auto format = [](double limit) {
      return format_value(cycles(static_cast<std::int64_t>(limit)));
    };
    if (auto problem = check_limits(text, static_cast<double>(count.count), limits, format)) {
      return problem;
    }
    value = cycles(count.count);
    return std::nullopt;
  }
  if (!find_unit(kTimeUnits, decimal.unit)) {
    return fmt::format("'{}': unknown unit '{}'; use {} or cycles", text, decimal.unit,
                       "ps, ns, us, ms, s");
  }
  Picoseconds time;
  if (auto problem = parse_value(text, limits, time)) return problem;
  value = picoseconds(time.count);
  return std::nullopt;
}

Problem parse_value(std::string_view text, const Limits& limits, Hertz& value) {
  return parse_with_units(text, limits, kFrequencyUnits, "2GHz", value);
}

Problem parse_value(std::string_view text, const Limits& limits, Bytes& value) {
  if (auto problem = refuse_ambiguous_size(text)) return problem;
  return parse_with_units(text, limits, kSizeUnits, "64B", value);
}

Problem parse_value(std::string_view text, const Limits& limits, Bandwidth& value) {
  return parse_with_units(text, limits, kBandwidthUnits, "6GB/s", value);
}

Problem parse_value(std::string_view text, const Limits& limits, Picojoules& value) {
  return parse_with_units(text, limits, kEnergyUnits, "300pJ", value);
}

Problem parse_value(std::string_view text, const Limits& limits, Milliwatts& value) {
  return parse_with_units(text, limits, kPowerUnits, "13W", value);
}

Problem parse_choice(std::string_view text, std::span<const std::string_view> choices, int& index) {
  const auto found = std::find(choices.begin(), choices.end(), text);
  if (found != choices.end()) {
    index = static_cast<int>(found - choices.begin());
    return std::nullopt;
  }
  if (choices.size() == 1)
    return fmt::format("'{}' is unknown; the only value is {}", text, choices.front());
  std::string problem = fmt::format("'{}' is not one of {}", text, fmt::join(choices, ", "));
  const std::vector<std::string> candidates(choices.begin(), choices.end());
  if (const auto near = nearest(text, candidates)) {
    problem += fmt::format("; did you mean '{}'?", *near);
  }
  return problem;
}

Problem parse_value(std::string_view text, const Limits&, NamedChoice& value) {
  int index = 0;
  Problem problem = parse_choice(text, value.names, index);
  if (!problem) value.index = static_cast<std::size_t>(index);
  return problem;
}

Problem parse_value(std::string_view text, const Limits& limits, NamedChoices& value) {
  NamedChoices parsed{value.names, {}};
  if (text == kNoChoice) {
    value = parsed;
    return std::nullopt;
  }
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    NamedChoice one{value.names};
    const std::string_view name = text.substr(begin, end - begin);
    if (Problem problem = parse_value(name, limits, one)) return problem;
    if (name == kNoChoice) return fmt::format("'{}' must be the only value", kNoChoice);
    if (std::find(parsed.indices.begin(), parsed.indices.end(), one.index) !=
        parsed.indices.end()) {
      return fmt::format("'{}' is given twice", name);
    }
    parsed.indices.push_back(one.index);
    begin = end + 1;
  }
  value = parsed;
  return std::nullopt;
}

std::string format_value(const NamedChoice& value) { return std::string(value.name()); }

std::string format_value(const NamedChoices& value) {
  std::vector<std::string_view> names;
  for (const std::size_t index : value.indices) names.push_back(value.names.at(index));
  return names.empty() ? std::string(kNoChoice) : fmt::format("{}", fmt::join(names, ","));
}

std::string format_value(std::uint32_t value) { return fmt::format("{}", value); }
std::string format_value(bool value) { return value ? "true" : "false"; }

std::string format_value(Ratio value) {
  // This is the shortest text that reads back as the same double, and never has an exponent.
  std::array<char, 512> text;
  const auto [end, error] =
      std::to_chars(text.data(), text.data() + text.size(), value.value, std::chars_format::fixed);
  return {text.data(), end};
}

std::string format_value(Picoseconds value) {
  return format_decimal(static_cast<std::uint64_t>(value.count), kTimeUnits);
}

std::string format_value(Delay value) {
  if (!value.cycles) return format_value(Picoseconds{value.count});
  return fmt::format("{}{}", value.count, value.count == 1 ? "cycle" : "cycles");
}

std::string format_value(Hertz value) { return format_decimal(value.count, kFrequencyUnits); }

std::string format_value(Bytes value) {
  // Only whole units are used: "1536B" says more than "1.5KiB" to a user who counts entries.
  const Unit* unit = &kSizeUnits[0];
  for (const Unit& candidate : kSizeUnits) {
    if (value.count != 0 && value.count % candidate.scale == 0) unit = &candidate;
  }
  return fmt::format("{}{}", value.count / unit->scale, unit->name);
}

std::string format_value(Bandwidth value) { return format_decimal(value.count, kBandwidthUnits); }

std::string format_value(Picojoules value) {
  return format_decimal(static_cast<std::uint64_t>(value.count), kEnergyUnits);
}

std::string format_value(Milliwatts value) {
  return format_decimal(static_cast<std::uint64_t>(value.count), kPowerUnits);
}

namespace {

template <class Format>
std::string range(const Limits& limits, Format&& format) {
  std::string text;
  const bool has_most = limits.most < Limits::kNone;
  if (limits.least > 0 && has_most) {
    text = fmt::format("{} to {}", format(limits.least), format(limits.most));
  } else if (limits.least > 0) {
    text = fmt::format("at least {}", format(limits.least));
  } else if (has_most) {
    text = fmt::format("at most {}", format(limits.most));
  }
  if (limits.power_of_two) text += text.empty() ? "a power of two" : ", a power of two";
  return text;
}

// Formats the limits of a type that counts base units.
template <class Value>
std::string range_of_units(const Limits& limits) {
  return range(limits, [](double base) {
    return format_value(Value{static_cast<decltype(Value::count)>(base)});
  });
}

}  // namespace

std::string format_limits(const Limits& limits, std::uint32_t) {
  return range(limits, [](double limit) { return fmt::format("{:.0f}", limit); });
}
std::string format_limits(const Limits&, bool) { return ""; }
std::string format_limits(const Limits& limits, Ratio) {
  return range(limits, [](double limit) { return format_value(Ratio{limit}); });
}
std::string format_limits(const Limits& limits, Picoseconds) {
  return range_of_units<Picoseconds>(limits);
}
std::string format_limits(const Limits& limits, Delay) {
  const auto in_cycles = [](double limit) { return fmt::format("{:.0f}cycles", limit); };
  const std::string time = range_of_units<Picoseconds>(limits);
  return time.empty() ? time : fmt::format("{}, or {}", time, range(limits, in_cycles));
}
std::string format_limits(const Limits& limits, Hertz) { return range_of_units<Hertz>(limits); }
std::string format_limits(const Limits& limits, Bytes) { return range_of_units<Bytes>(limits); }
std::string format_limits(const Limits& limits, Bandwidth) {
  return range_of_units<Bandwidth>(limits);
}
std::string format_limits(const Limits& limits, Picojoules) {
  return range_of_units<Picojoules>(limits);
}
std::string format_limits(const Limits& limits, Milliwatts) {
  return range_of_units<Milliwatts>(limits);
}

namespace {

// Returns the key that the user probably meant: a typing error, or a name without its group.
std::optional<std::string> probable_key(const std::string& key, std::span<const std::string> keys) {
  for (const std::string& candidate : keys) {
    if (candidate.ends_with("." + key)) return candidate;
  }
  return nearest(key, keys);
}

// Returns the keys that begin with this one or, if there are none, keys that contain its last part.
std::vector<std::string> alike(const std::string& key, std::span<const std::string> keys) {
  const std::string word = key.substr(key.rfind('.') + 1);
  std::vector<std::string> begin, contain;
  if (word.size() < 3) return begin;  // a shorter word is in half of all keys
  for (const std::string& candidate : keys) {
    if (candidate.starts_with(key)) begin.push_back(candidate);
    if (candidate.find(word) != candidate.npos) contain.push_back(candidate);
  }
  return begin.empty() ? contain : begin;
}

// Returns advice on what to write in place of an unknown key.
std::string cure_of_key(const std::string& key, std::span<const std::string> keys) {
  constexpr std::size_t kShown = 5;
  if (const auto candidate = probable_key(key, keys))
    return fmt::format("did you mean '{}'?", *candidate);
  std::vector<std::string> found = alike(key, keys);
  if (found.empty()) return "`pmemsim show machine NAME` lists all";
  const std::size_t more = found.size() - std::min(found.size(), kShown);
  found.resize(found.size() - more);
  const std::string text = fmt::format("similar keys: {}", fmt::join(found, ", "));
  return more == 0
             ? text
             : fmt::format("{} and {} more; `pmemsim show machine NAME` lists all", text, more);
}

bool contains(std::span<const std::string> words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

std::vector<std::string> ParameterSetter::keys_in(std::string_view sentence,
                                                  std::string_view group) const {
  constexpr std::string_view kKeyLetters = "abcdefghijklmnopqrstuvwxyz0123456789_.";
  std::vector<std::string> found;
  for (std::size_t end = 0, begin = 0;
       (begin = sentence.find_first_of(kKeyLetters, end)) != sentence.npos;) {
    end = std::min(sentence.find_first_not_of(kKeyLetters, begin), sentence.size());
    const std::string word(sentence.substr(begin, end - begin));
    for (const std::string& key : {word, fmt::format("{}.{}", group, word)}) {
      if (contains(keys_, key) && !contains(found, key)) found.push_back(key);
    }
  }
  return found;
}

std::string_view ParameterSetter::place_of(std::string_view key) const {
  const auto last = std::find_if(settings_.rbegin(), settings_.rend(),
                                 [&](const Setting& setting) { return setting.key == key; });
  return last == settings_.rend() ? std::string_view{} : last->place;
}

void ParameterSetter::add_problem(std::string_view sentence, std::string_view group) {
  std::vector<std::string> places;
  for (const std::string& key : keys_in(sentence, group)) {
    if (contains(unreadable_, key)) return;
    const std::string place(place_of(key));
    if (!place.empty() && !contains(places, place)) places.push_back(place);
  }
  std::string problem = places.empty() ? "" : fmt::format("{}: ", fmt::join(places, ", "));
  if (!group.empty()) problem += fmt::format("{}: ", group);
  problems_.push_back(problem += sentence);
}

void ParameterSetter::throw_problems() {
  for (std::size_t i = 0; i < settings_.size(); ++i) {
    if (used_[i]) continue;
    problems_.push_back(fmt::format("{}: {}: unknown key; {}", settings_[i].place, settings_[i].key,
                                    cure_of_key(settings_[i].key, keys_)));
  }
  if (!problems_.empty()) throw ConfigError(problems_);
}

}  // namespace pmemsim
