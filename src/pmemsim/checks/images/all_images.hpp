// All images of an instant that no previous instant had.
//
//   1  From one instant to the next, open segments are added or become guaranteed. So a set of
//      segments that two instants allow is allowed at all instants between them, too. The new sets
//      of an instant are those with a segment that became visible since the previous instant.
//   2  Sets of a line's segments that leave the same contents count as one state. The state is old
//      if a previous instant had one of these sets.
//   3  The images are the products over the lines. They are ordered by the first line whose
//      contents are new: lines before it have old contents, lines after it any contents.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "pmemsim/checks/images/line_states.hpp"
#include "pmemsim/checks/images/persistency_model.hpp"

namespace pmemsim {

class AllImages {
 public:
  // Makes the images of the model's current instant. `old_too`: include the image without any
  // segment, at the first instant.
  AllImages(const PersistencyModel& model, bool old_too);

  // Moves to the next image. Returns false if there are no more.
  bool next();

  std::size_t lines() const { return lines_.size(); }
  Line line(std::size_t index) const { return lines_[index].line; }
  const LineData& contents(std::size_t index) const { return state(index).contents; }
  // Returns the first set of segments that leaves the line's contents.
  const Presence& present(std::size_t index) const { return state(index).present; }

 private:
  struct State {
    LineData contents;
    Presence present;
    bool old;
  };
  struct Choices {
    Line line;
    std::vector<State> states;  // The old ones first
    std::size_t old = 0;
    std::size_t at = 0, first = 0, last = 0;  // Current state, and the range to go through
  };

  static Choices choices_of(Line line, const PersistencyModel& model,
                            const PersistencyModel::Segments& segments);
  const State& state(std::size_t index) const { return lines_[index].states[lines_[index].at]; }
  bool begin(std::size_t first_new);
  bool advance();

  std::vector<Choices> lines_;
  std::size_t first_new_ = 0;
  bool begun_ = false, old_too_;
};

}  // namespace pmemsim
