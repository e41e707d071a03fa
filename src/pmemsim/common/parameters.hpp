// Declaration of parameters. Each parameter is declared once, in the struct of the component that
// uses it, by a member
//
//   template <class Visitor>
//   void describe(Visitor& visit) {
//     visit("rob_entries", rob_entries, {.least = 1, .most = 4096},
//           "Entries of the reorder buffer");
//   }
//
// Parsing, checks, output and documentation of parameters use these declarations. Supported types:
// std::uint32_t (a count), bool, Ratio, Picoseconds ("2ns"), Delay ("2ns" or "4cycles" of the
// cores' clock), Hertz ("2GHz"), Bytes ("32KiB"), Bandwidth ("6.6GB/s"), Picojoules ("1.2nJ"),
// Milliwatts ("13W"), enums that have a choice_names(), and one or several names from a list
// (NamedChoice, NamedChoices).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "pmemsim/common/error.hpp"
#include "pmemsim/common/faults.hpp"
#include "pmemsim/common/units.hpp"

namespace pmemsim {

// A fraction: "0.85" or "85%".
struct Ratio {
  double value = 0;
};

// A duration that may be given in cycles of the cores' clock.
struct Delay {
  std::int64_t count = 0;
  bool cycles = false;  // false: `count` is in picoseconds
};
constexpr Delay cycles(std::int64_t count) { return {count, true}; }
constexpr Delay picoseconds(std::int64_t count) { return {count, false}; }
constexpr Delay nanoseconds(std::int64_t count) { return {count * 1000, false}; }

// Bytes per second, with decimal prefixes as in data sheets of devices.
struct Bandwidth {
  std::uint64_t count = 0;
};

// A choice among names that are known only at run time. `index` is the number of the chosen name.
struct NamedChoice {
  std::vector<std::string_view> names;
  std::size_t index = 0;
  std::string_view name() const { return names.at(index); }
};

// Several choices among names that are known only at run time, in the order in which the user gives
// them. An empty list is written as kNoChoice.
struct NamedChoices {
  std::vector<std::string_view> names;
  std::vector<std::size_t> indices;
};
inline constexpr std::string_view kNoChoice = "none";

struct Limits {
  static constexpr double kNone = 1e18;
  double least = 0;
  double most = kNone;
  bool power_of_two = false;
};

// The names of an enum's values, in the order of the values (found by argument-dependent lookup).
template <class Enum>
concept NamedEnum = std::is_enum_v<Enum> && requires(Enum value) {
  { choice_names(value) } -> std::convertible_to<std::span<const std::string_view>>;
};

struct ParameterInfo {
  std::string key;     // "core.rob_entries"
  std::string type;    // "count", "flag", "ratio", "time", "delay", "frequency", "size", ...
  std::string value;   // text with its unit
  std::string limits;  // text such as "1 to 64"; empty if every value is allowed
  std::vector<std::string> choices;
  std::string description;
  std::string place = "default";  // location of the setting that gave the value
};

// One setting that a user, a machine or a design makes. A later setting overrides an earlier one.
struct Setting {
  std::string key;
  std::string value;
  std::string place;  // "machines/asap.yaml:12", "--set"
};

// Conversions between text and value. parse_value returns a description of the problem that
// completes the sentence "KEY: ...", or nothing.
std::optional<std::string> parse_value(std::string_view text, const Limits&, std::uint32_t& value);
std::optional<std::string> parse_value(std::string_view text, const Limits&, bool& value);
std::optional<std::string> parse_value(std::string_view text, const Limits&, Ratio& value);
std::optional<std::string> parse_value(std::string_view text, const Limits&, Picoseconds& value);
std::optional<std::string> parse_value(std::string_view text, const Limits&, Delay& value);
std::optional<std::string> parse_value(std::string_view text, const Limits&, Hertz& value);
std::optional<std::string> parse_value(std::string_view text, const Limits&, Bytes& value);
std::optional<std::string> parse_value(std::string_view text, const Limits&, Bandwidth& value);
std::optional<std::string> parse_value(std::string_view text, const Limits&, Picojoules& value);
std::optional<std::string> parse_value(std::string_view text, const Limits&, Milliwatts& value);
std::optional<std::string> parse_choice(std::string_view text,
                                        std::span<const std::string_view> choices, int& index);
std::optional<std::string> parse_value(std::string_view text, const Limits&, NamedChoice& value);
std::optional<std::string> parse_value(std::string_view text, const Limits&, NamedChoices& value);
std::string format_value(std::uint32_t value);
std::string format_value(bool value);
std::string format_value(Ratio value);
std::string format_value(Picoseconds value);
std::string format_value(Delay value);
std::string format_value(Hertz value);
std::string format_value(Bytes value);
std::string format_value(Bandwidth value);
std::string format_value(Picojoules value);
std::string format_value(Milliwatts value);
std::string format_value(const NamedChoice& value);
std::string format_value(const NamedChoices& value);

// Describes limits: "1 to 64", "at least 1KiB", "1 to 8, a power of two". Empty if every value is
// allowed.
std::string format_limits(const Limits& limits, std::uint32_t);
std::string format_limits(const Limits& limits, bool);
std::string format_limits(const Limits& limits, Ratio);
std::string format_limits(const Limits& limits, Picoseconds);
std::string format_limits(const Limits& limits, Delay);
std::string format_limits(const Limits& limits, Hertz);
std::string format_limits(const Limits& limits, Bytes);
std::string format_limits(const Limits& limits, Bandwidth);
std::string format_limits(const Limits& limits, Picojoules);
std::string format_limits(const Limits& limits, Milliwatts);

constexpr std::string_view type_name(std::uint32_t) { return "count"; }
constexpr std::string_view type_name(bool) { return "flag"; }
constexpr std::string_view type_name(Ratio) { return "ratio"; }
constexpr std::string_view type_name(Picoseconds) { return "time"; }
constexpr std::string_view type_name(Delay) { return "delay"; }
constexpr std::string_view type_name(Hertz) { return "frequency"; }
constexpr std::string_view type_name(Bytes) { return "size"; }
constexpr std::string_view type_name(Bandwidth) { return "bandwidth"; }
constexpr std::string_view type_name(Picojoules) { return "energy"; }
constexpr std::string_view type_name(Milliwatts) { return "power"; }
constexpr std::string_view type_name(const NamedChoice&) { return "choice"; }
constexpr std::string_view type_name(const NamedChoices&) { return "choices"; }

// Collects every parameter with its current value.
class ParameterLister {
 public:
  template <class Group>
  void group(std::string_view name, Group& parameters) {
    const std::string outer = prefix_;
    prefix_ += std::string(name) + ".";
    parameters.describe(*this);
    prefix_ = outer;
  }
  template <class Value>
  void operator()(std::string_view name, Value& value, const Limits& limits,
                  std::string_view description) {
    ParameterInfo info{prefix_ + std::string(name), "", "", "", {}, std::string(description)};
    if constexpr (NamedEnum<Value>) {
      info.type = "choice";
      for (auto choice : choice_names(value)) info.choices.emplace_back(choice);
      info.value = info.choices.at(static_cast<std::size_t>(value));
    } else {
      info.type = type_name(value);
      info.value = format_value(value);
      if constexpr (requires { value.names; }) {
        info.choices.assign(value.names.begin(), value.names.end());
      } else {
        info.limits = format_limits(limits, value);
      }
    }
    found.push_back(std::move(info));
  }
  // Lists injected faults as one entry. Faults are not parameters, but the list of a configuration
  // with faults must show them.
  void faults(FaultSet& faults) {
    if (faults.injected().empty()) return;
    std::string names;
    for (const std::string_view name : faults.injected()) {
      names += (names.empty() ? "" : ",") + std::string(name);
    }
    found.push_back({std::string(kFaultsKey), "faults", names, "", {}, "Injected faults"});
  }

  std::vector<ParameterInfo> found;

 private:
  std::string prefix_;
};

// Applies settings and records every problem. throw_problems() reports all problems at once.
class ParameterSetter {
 public:
  explicit ParameterSetter(std::span<const Setting> settings)
      : settings_(settings), used_(settings.size(), false) {}

  template <class Group>
  void group(std::string_view name, Group& parameters) {
    const std::string outer = prefix_;
    prefix_ += std::string(name) + ".";
    parameters.describe(*this);
    prefix_ = outer;
  }
  template <class Value>
  void operator()(std::string_view name, Value& value, const Limits& limits, std::string_view) {
    const std::string key = prefix_ + std::string(name);
    keys_.push_back(key);
    for (std::size_t i = 0; i < settings_.size(); ++i) {
      if (settings_[i].key != key) continue;
      used_[i] = true;
      if (auto problem = parse(settings_[i].value, limits, value)) {
        problems_.push_back(settings_[i].place + ": " + key + ": " + *problem);
        unreadable_.push_back(key);
      }
    }
  }

  void faults(FaultSet& faults) {
    for (std::size_t i = 0; i < settings_.size(); ++i) {
      if (settings_[i].key != kFaultsKey) continue;
      used_[i] = true;
      if (auto problem = faults.inject(settings_[i].value)) {
        problems_.push_back(settings_[i].place + ": " + settings_[i].key + ": " + *problem);
      }
    }
  }

  // Adds a problem between values that are each within their limits. The sentence names the
  // parameters, in full or as members of `group`. The message begins with the locations of their
  // settings. The problem is dropped if one of these values could not be read, because it would be
  // about a default value that the user did not choose.
  void add_problem(std::string_view sentence, std::string_view group = "");
  // Throws all problems, and reports settings whose key no component declares.
  void throw_problems();

 private:
  template <class Value>
  static std::optional<std::string> parse(std::string_view text, const Limits& limits,
                                          Value& value) {
    if constexpr (NamedEnum<Value>) {
      int index = 0;
      auto problem = parse_choice(text, choice_names(value), index);
      if (!problem) value = static_cast<Value>(index);
      return problem;
    } else {
      return parse_value(text, limits, value);
    }
  }

  std::vector<std::string> keys_in(std::string_view sentence, std::string_view group) const;
  // Returns the location of the last setting of the key, which determines its value. Empty for a
  // default.
  std::string_view place_of(std::string_view key) const;

  std::span<const Setting> settings_;
  std::vector<bool> used_;
  std::vector<std::string> keys_;
  std::vector<std::string> unreadable_;  // keys with a value that could not be parsed
  std::vector<std::string> problems_;
  std::string prefix_;
};

}  // namespace pmemsim
