#include "pmemsim/crash/oracle.hpp"

#include <algorithm>
#include <cstring>

namespace pmemsim {

using UnitId = ProgramHistory::UnitId;
constexpr UnitId kNone = ProgramHistory::kNone;

Oracle::Oracle(const ProgramHistory& history)
    : history_(history), units_(history.units().size()), words_(history.words()) {
  for (std::uint32_t word = 0; word < words_.size(); ++word) set_version(word, 0);
}

bool Oracle::guarantee(UnitId unit) {
  if (units_[unit].guaranteed) return false;
  std::vector<UnitId> left{unit};
  units_[unit].guaranteed = true;
  while (!left.empty()) {
    const UnitId next = left.back();
    left.pop_back();
    if (!units_[next].held) hold_one(next, unit);
    units_[next].reason = unit;  // Replaces the reason, even if an image has shown the unit before
    for (const UnitId earlier : history_.follows(next)) {
      if (std::exchange(units_[earlier].guaranteed, true)) continue;
      left.push_back(earlier);
    }
  }
  std::erase_if(not_guaranteed_, [&](UnitId held) { return units_[held].guaranteed; });
  suspect_.insert(suspect_.end(), to_check_.begin(), to_check_.end());
  to_check_.clear();
  return true;
}

std::optional<Oracle::Finding> Oracle::check_image(const ImageReader& image,
                                                   const std::vector<Line>& changed) {
  return find_set(image, changed);
}

std::optional<Oracle::Finding> Oracle::check_alternative(const ImageReader& image,
                                                         const std::vector<Line>& changed) {
  const std::vector<UnitId> not_guaranteed = not_guaranteed_;
  const std::vector<Line> suspect = suspect_;
  tentative_ = true;
  const std::optional<Finding> finding = find_set(image, changed);
  tentative_ = false;
  while (!changes_.empty()) {
    const Change change = changes_.back();
    changes_.pop_back();
    if (change.of_unit) {
      set_held(change.number, change.before != 0);
    } else {
      set_version(change.number, change.before);
    }
  }
  not_guaranteed_ = not_guaranteed;
  suspect_ = suspect;
  return finding;
}

std::optional<Oracle::Finding> Oracle::find_set(const ImageReader& image,
                                                const std::vector<Line>& changed) {
  to_check_ = changed;
  to_check_.insert(to_check_.end(), suspect_.begin(), suspect_.end());
  suspect_ = to_check_;
  std::optional<Finding> finding = grow(image);
  if (finding && !not_guaranteed_.empty()) {
    to_check_ = suspect_;
    shrink_to_guaranteed();
    suspect_ = to_check_;
    finding = grow(image);
  }
  if (finding) {
    std::sort(suspect_.begin(), suspect_.end());
    suspect_.erase(std::unique(suspect_.begin(), suspect_.end()), suspect_.end());
  } else {
    suspect_.clear();
  }
  to_check_.clear();
  return finding;
}

std::optional<Oracle::Finding> Oracle::grow(const ImageReader& image) {
  while (!to_check_.empty()) {
    const Line line = to_check_.back();
    to_check_.pop_back();
    if (std::optional<Finding> finding = check(image, line)) return finding;
  }
  return {};
}

std::optional<Oracle::Finding> Oracle::check(const ImageReader& image, Line line) {
  const ProgramHistory::LineWords* words = history_.line(line);
  if (words == nullptr) return {};
  const LineData data = image.read(line);
  for (std::uint32_t i = 0; i < words->size(); ++i) {
    const std::uint32_t word = (*words)[i];
    if (word == kNone) continue;
    std::uint64_t value = 0;
    std::memcpy(&value, data.data() + i * sizeof value, sizeof value);
    if (words_[word].value == value || words_[word].free) continue;
    const auto& versions = history_.word(word).versions;
    const auto next =
        std::find_if(versions.begin() + words_[word].version + 1, versions.end(),
                     [&](const auto& version) { return version.value == value || version.free; });
    if (next == versions.end()) return explain(word, value);
    hold(next->unit, word);
  }
  return {};
}

// Adds the unit and all units that it follows to the set.
void Oracle::hold(UnitId unit, std::uint32_t seen) {
  units_[unit].seen = seen;
  stack_.push_back({unit, unit});
  while (!stack_.empty()) {
    const auto [next, because] = stack_.back();
    stack_.pop_back();
    if (units_[next].held) continue;
    hold_one(next, because);
    not_guaranteed_.push_back(next);
    for (const UnitId earlier : history_.follows(next)) stack_.push_back({earlier, next});
  }
}

void Oracle::hold_one(UnitId unit, UnitId reason) {
  set_held(unit, true);
  units_[unit].reason = reason;
  for (const ProgramHistory::Write& write : history_.writes(unit)) {
    if (write.version <= words_[write.word].version) continue;
    set_version(write.word, write.version);
    to_check_.push_back(Line::of(history_.word(write.word).address));
  }
}

void Oracle::shrink_to_guaranteed() {
  for (const UnitId unit : not_guaranteed_) set_held(unit, false);
  for (const UnitId unit : not_guaranteed_) {
    for (const ProgramHistory::Write& write : history_.writes(unit)) {
      if (write.version > words_[write.word].version) continue;
      set_version(write.word, last_held(write.word, write.version));
      to_check_.push_back(Line::of(history_.word(write.word).address));
    }
  }
  not_guaranteed_.clear();
}

// Returns the last version before `version` whose unit is in the set. A region may be in the set
// without the store outside regions that it has overwritten.
std::uint32_t Oracle::last_held(std::uint32_t word, std::uint32_t version) const {
  const auto& versions = history_.word(word).versions;
  do {
    --version;
  } while (version > 0 && !units_[versions[version].unit].held);
  return version;
}

void Oracle::set_held(UnitId unit, bool held) {
  if (tentative_) changes_.push_back({true, unit, units_[unit].held});
  units_[unit].held = held;
}

void Oracle::set_version(std::uint32_t word, std::uint32_t version) {
  if (tentative_) changes_.push_back({false, word, words_[word].version});
  const ProgramHistory::Version& now = history_.word(word).versions[version];
  words_[word] = {version, now.free, now.value};
}

// Explains a word that holds neither the set's value nor the value of a later writer.
Oracle::Finding Oracle::explain(std::uint32_t word, std::uint64_t value) const {
  const ProgramHistory::Word& found = history_.word(word);
  const ProgramHistory::Version& expected = found.versions[words_[word].version];
  Finding finding{Fault::kForeignValue, found.address, value, expected.value,
                  expected.unit,        kNone,         {}};
  const bool known = std::any_of(found.versions.begin(), found.versions.end(),
                                 [&](const auto& version) { return version.value == value; });
  if (expected.unit == kNone) return finding;
  UnitId root = expected.unit;
  while (units_[root].reason != root) root = units_[root].reason;
  finding.because_of = root;
  if (!units_[root].guaranteed) finding.seen_at = history_.word(units_[root].seen).address;
  if (known) finding.fault = units_[expected.unit].guaranteed ? Fault::kLost : Fault::kTorn;
  return finding;
}

}  // namespace pmemsim
