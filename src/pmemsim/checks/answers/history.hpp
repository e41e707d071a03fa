// What a recorded program has stored to persistent memory, in the order in which it became visible,
// and when it became sure to persist (checks/images/persistency_model.hpp).
//
// With eADR an ordinary store is sure as soon as it is visible, a copy when all of it is. (To the
// model that makes no difference before the next store: no image shows it.)
//
// A step is a visible operation, from 1 on; the moment of a step is right behind it, before the
// next one; moment 0 is before all. A store's pieces have numbers from 1 on (their order).
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "pmemsim/checks/images/persistency_model.hpp"
#include "pmemsim/common/image.hpp"

namespace pmemsim::answers {

class History {
 public:
  static constexpr std::uint64_t kNever = UINT64_MAX;

  struct Piece {
    std::uint64_t address, value;
    std::uint64_t before;  // what was there
    std::uint64_t step;    // the one that makes it visible
    std::uint64_t sure;    // the one that makes it sure
    std::uint64_t number;  // of the thread's operation
    std::uint64_t copy;    // that it belongs to; 0: none
    std::uint32_t thread, site;
    std::uint8_t size;
    bool non_temporal;
  };

  // Throws trace::TraceError.
  History(const trace::TraceFile& trace, PersistencyRules rules);

  std::uint64_t steps() const { return steps_; }
  std::uint64_t pieces() const { return pieces_.size(); }
  const Piece& piece(std::uint64_t order) const { return pieces_[order - 1]; }
  // How many pieces are visible at a moment.
  std::uint64_t order_at(std::uint64_t moment) const;
  // The step that makes the first of the pieces beyond this one sure.
  std::uint64_t next_sure(std::uint64_t order) const { return next_sure_[order]; }
  // As the recording begins.
  const Image& initial() const { return initial_; }

 private:
  void take_new(const PersistencyModel& model);
  void note_sure(const PersistencyModel& model);
  void note_before();
  void note_survivors();

  std::vector<Piece> pieces_;             // by order
  std::vector<std::uint64_t> next_sure_;  // by order, from 0
  std::uint64_t steps_ = 0;
  Image initial_;
};

// Persistent memory as it is when nothing is lost, with so many pieces.
class NothingLost {
 public:
  explicit NothingLost(const History& history);

  // Goes there, forwards or back.
  const Image& go_to(std::uint64_t order);
  // The image where it has come to, with these pieces, too, until the next call.
  const Image& with(const std::vector<std::uint64_t>& orders);
  // Lines in which the image may differ from what it was at the last call.
  std::vector<Line> changed();

 private:
  void write(const History::Piece& piece, std::uint64_t value);
  void forget_additions();

  const History& history_;
  Image image_;
  std::uint64_t order_ = 0;
  std::vector<std::pair<std::uint64_t, LineData>> replaced_;  // by with(): what was there
  std::set<std::uint64_t> changed_;
};

}  // namespace pmemsim::answers
