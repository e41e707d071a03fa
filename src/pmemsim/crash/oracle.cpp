#include "pmemsim/crash/oracle.hpp"

#include <algorithm>
#include <cstring>

namespace pmemsim {

using UnitId = ProgramHistory::UnitId;
constexpr UnitId kNone = ProgramHistory::kNone;

Oracle::Oracle(const ProgramHistory& history) : history_(history), words_(history.words()) {
  for (std::uint32_t word = 0; word < words_.size(); ++word) set_version(word, 0);
}

Oracle::Oracle(AdvancingHistory& history)
    : history_(history), advancing_(&history), words_(history.words()) {
  for (std::uint32_t word = 0; word < words_.size(); ++word) set_version(word, 0);
}

Oracle::UnitState& Oracle::state(UnitId unit) {
  const std::size_t chunk = unit / ProgramHistory::kChunkUnits;
  if (chunk >= states_.size()) states_.resize(chunk + 1);
  if (states_[chunk] == nullptr) states_[chunk] = std::make_unique<States>();
  return (*states_[chunk])[unit % ProgramHistory::kChunkUnits];
}

bool Oracle::guarantee(UnitId unit) {
  if (guaranteed(unit)) return false;
  std::vector<UnitId> left{unit};
  state(unit).guaranteed = true;
  while (!left.empty()) {
    const UnitId next = left.back();
    left.pop_back();
    if (!state(next).held) hold_one(next, unit);
    state(next).reason = unit;  // Replaces the reason, even if an image has shown the unit before
    for (const UnitId earlier : history_.follows(next)) {
      if (guaranteed(earlier)) continue;
      state(earlier).guaranteed = true;
      left.push_back(earlier);
    }
    newly_guaranteed_.push_back(next);
  }
  std::erase_if(not_guaranteed_, [&](UnitId held) { return state(held).guaranteed; });
  retire_guaranteed();
  suspect_.insert(suspect_.end(), to_check_.begin(), to_check_.end());
  to_check_.clear();
  return true;
}

void Oracle::retire_guaranteed() {
  for (const UnitId unit : newly_guaranteed_) {
    if (advancing_ != nullptr && advancing_->retire(unit)) {
      states_[unit / ProgramHistory::kChunkUnits].reset();
    }
  }
  newly_guaranteed_.clear();
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
    suspect_.push_back(Line::of(finding->address));
    suspect_.insert(suspect_.end(), to_check_.begin(), to_check_.end());
    std::sort(suspect_.begin(), suspect_.end());
    suspect_.erase(std::unique(suspect_.begin(), suspect_.end()), suspect_.end());
  } else {
    suspect_.clear();
  }
  to_check_.clear();
  return finding;
}

void Oracle::restart() {
  shrink_to_guaranteed();
  suspect_.insert(suspect_.end(), to_check_.begin(), to_check_.end());
  to_check_.clear();
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
    if (words_[word].value == value || is_free(word, words_[word].version)) continue;
    const std::optional<UnitId> next = next_writer(word, value);
    if (!next) return explain(word, value);
    hold(*next, word);
  }
  return {};
}

std::optional<UnitId> Oracle::next_writer(std::uint32_t word, std::uint64_t value) {
  const ProgramHistory::Word& found = history_.word(word);
  for (std::uint32_t next = words_[word].version + 1; next <= found.newest(); ++next) {
    if (found.version(next).value == value || is_free(word, next)) return found.version(next).unit;
  }
  return {};
}

bool Oracle::is_free(std::uint32_t word, std::uint32_t version) {
  const ProgramHistory::Word& found = history_.word(word);
  if (found.version(version).free) return true;
  if (advancing_ == nullptr || version < found.newest()) return false;
  return advancing_->read_next_version(word) && found.version(version).free;
}

// Adds the unit and all units that it follows to the set.
void Oracle::hold(UnitId unit, std::uint32_t seen) {
  state(unit).seen = seen;
  stack_.push_back({unit, unit});
  while (!stack_.empty()) {
    const auto [next, because] = stack_.back();
    stack_.pop_back();
    if (held(next)) continue;
    hold_one(next, because);
    not_guaranteed_.push_back(next);
    for (const UnitId earlier : history_.follows(next)) stack_.push_back({earlier, next});
  }
}

void Oracle::hold_one(UnitId unit, UnitId reason) {
  if (advancing_ != nullptr) advancing_->finish(unit);
  set_held(unit, true);
  state(unit).reason = reason;
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
      const std::uint32_t version = words_[write.word].version;
      if (write.version > version) continue;
      set_version(write.word, last_held(write.word, version + 1));
      to_check_.push_back(Line::of(history_.word(write.word).address));
    }
  }
  not_guaranteed_.clear();
}

// Returns the last version before `version` whose unit is in the set. A region may be in the set
// without the store outside regions that it has overwritten.
std::uint32_t Oracle::last_held(std::uint32_t word, std::uint32_t version) const {
  const ProgramHistory::Word& found = history_.word(word);
  do {
    --version;
  } while (version > found.first && !held(found.version(version).unit));
  return version;
}

void Oracle::set_held(UnitId unit, bool held) {
  if (tentative_) changes_.push_back({true, unit, state(unit).held});
  state(unit).held = held;
}

void Oracle::set_version(std::uint32_t word, std::uint32_t version) {
  if (tentative_) changes_.push_back({false, word, words_[word].version});
  words_[word] = {version, history_.word(word).version(version).value};
}

// Explains a word that holds neither the set's value nor the value of a later writer.
Oracle::Finding Oracle::explain(std::uint32_t word, std::uint64_t value) const {
  const ProgramHistory::Word& found = history_.word(word);
  const ProgramHistory::Version& expected = found.version(words_[word].version);
  Finding finding{Fault::kForeignValue, found.address, value, expected.value,
                  expected.unit,        kNone,         {}};
  const bool known = std::any_of(found.versions.begin(), found.versions.end(),
                                 [&](const auto& version) { return version.value == value; });
  if (expected.unit == kNone) return finding;
  UnitId root = expected.unit;
  while (!history_.released(root) && state(root).reason != root) root = state(root).reason;
  finding.because_of = root;
  if (!guaranteed(root)) finding.seen_at = history_.word(state(root).seen).address;
  if (known) finding.fault = guaranteed(expected.unit) ? Fault::kLost : Fault::kTorn;
  return finding;
}

}  // namespace pmemsim
