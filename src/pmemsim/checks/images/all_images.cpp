#include "pmemsim/checks/images/all_images.hpp"

#include <algorithm>
#include <iterator>

namespace pmemsim {

AllImages::AllImages(const PersistencyModel& model, bool old_too) : old_too_(old_too) {
  for (const auto& [number, segments] : model.open()) {
    lines_.push_back(choices_of({number}, model, segments));
  }
}

// Implements rule 2 (all_images.hpp).
AllImages::Choices AllImages::choices_of(Line line, const PersistencyModel& model,
                                         const PersistencyModel::Segments& segments) {
  Choices choices{.line = line, .states = {}};
  const LineData base = model.base().read(line);
  for_each_state(segments, [&](const Presence& present) {
    bool old = true;
    for (std::size_t i = 0; i < segments.size(); ++i) {
      if (present[i] && segments[i].order > model.last_order()) old = false;
    }
    const LineData contents =
        contents_of(base, segments, [&](std::size_t i) { return present[i]; });
    const auto same = std::ranges::find(choices.states, contents, &State::contents);
    if (same == choices.states.end()) {
      choices.states.push_back({contents, present, old});
    } else if (old && !same->old) {
      *same = {contents, present, true};
    }
  });
  std::vector<State> fresh;
  const auto is_fresh = [](const State& state) { return !state.old; };
  std::ranges::copy_if(choices.states, std::back_inserter(fresh), is_fresh);
  std::erase_if(choices.states, is_fresh);
  choices.old = choices.states.size();
  choices.states.insert(choices.states.end(), fresh.begin(), fresh.end());
  return choices;
}

bool AllImages::next() {
  if (begun_ && advance()) return true;
  if (!begun_ && old_too_) {
    begun_ = true;
    return begin(lines_.size());
  }
  if (begun_ && !old_too_) ++first_new_;
  begun_ = true;
  old_too_ = false;
  for (; first_new_ < lines_.size(); ++first_new_) {
    if (begin(first_new_)) return true;
  }
  return false;
}

// Rule 3. Returns false if the line has no new contents.
bool AllImages::begin(std::size_t first_new) {
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    Choices& line = lines_[i];
    line.first = i == first_new ? line.old : 0;
    line.last = i < first_new ? line.old : line.states.size();
    line.at = line.first;
    if (line.first == line.last) return false;
  }
  return true;
}

bool AllImages::advance() {
  for (Choices& line : lines_) {
    if (++line.at < line.last) return true;
    line.at = line.first;
  }
  return false;
}

}  // namespace pmemsim
