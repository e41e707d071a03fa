// All images of an instant that no instant before it had.
//
//   1  Open pieces only become more, or sure: a set of pieces that two instants allow is one that
//      those between them allow, too. So an instant's new sets are those that hold a piece which
//      became visible since the instant before.
//   2  Of each line, sets of pieces that leave the same contents count as one: as an old one, if an
//      instant before had it.
//   3  The images are the products over the lines. They are gone through by the first line whose
//      contents are new: the lines before have old ones, those behind any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "pmemsim/checks/images/line_states.hpp"
#include "pmemsim/checks/images/persistency_model.hpp"

namespace pmemsim {

class AllImages {
 public:
  // At the model's current instant; at the first one, `old_too`: also the image without any piece.
  AllImages(const PersistencyModel& model, bool old_too);

  // Goes to the next image. False: there are no more.
  bool next();

  std::size_t lines() const { return lines_.size(); }
  Line line(std::size_t index) const { return lines_[index].line; }
  const LineData& contents(std::size_t index) const { return state(index).contents; }
  // The first of the sets of pieces that leave them.
  const Presence& present(std::size_t index) const { return state(index).present; }

 private:
  struct State {
    LineData contents;
    Presence present;
    bool old;
  };
  struct Choices {
    Line line;
    std::vector<State> states;  // the old ones first
    std::size_t old = 0;
    std::size_t at = 0, first = 0, last = 0;  // now, and the range to go through
  };

  static Choices choices_of(Line line, const PersistencyModel& model,
                            const PersistencyModel::Pieces& pieces);
  const State& state(std::size_t index) const { return lines_[index].states[lines_[index].at]; }
  bool begin(std::size_t first_new);
  bool advance();

  std::vector<Choices> lines_;
  std::size_t first_new_ = 0;
  bool begun_ = false, old_too_;
};

}  // namespace pmemsim
