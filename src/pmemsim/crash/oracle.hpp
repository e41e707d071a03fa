// Says whether a recovered image is one that a crash may leave, whatever the design is.
//
// An image is right if it is what some set of units (program_history.hpp) leaves, each of them
// whole, that holds with a unit all that it follows, and holds every unit that was promised.
//
// Such a set is found, if there is one, by growing the smallest that there could be: the promised
// units and all they follow. The writers of a word follow one another, so a set holds the first so
// many of them, and the word's value tells which numbers are possible. Where the set leaves another
// value than the image has, it must hold more of the word's writers: up to the next one that wrote
// what the image has. Each addition is forced; so either the set fits in the end, or none does.
//
// It is asked after each crash of a run in the order of their times, and then told only the lines
// that may have changed since: it begins with the set found last, and goes back to the promised one
// if that leads nowhere.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "pmemsim/crash/program_history.hpp"

namespace pmemsim {

class Oracle {
 public:
  using UnitId = ProgramHistory::UnitId;

  // Reads a line of the image to be judged.
  class ImageReader {
   public:
    virtual ~ImageReader() = default;
    virtual LineData read(Line line) const = 0;
  };

  enum class Fault : std::uint8_t {
    kForeignValue,  // nobody ever wrote it there
    kLost,          // a promised unit is missing
    kTorn,          // a region is there in part, or without one that it follows
  };
  struct Finding {
    Fault fault;
    std::uint64_t address;            // of a word
    std::uint64_t held, should_hold;  // for kTorn and kLost
    UnitId unit;                      // whose value it should hold; kNone: none of the program's
    // Why: this unit, which follows it (or is it), must be there. It was promised, or the word at
    // `seen_at` holds what it stored.
    UnitId because_of;
    std::optional<std::uint64_t> seen_at;
  };

  explicit Oracle(const ProgramHistory& history);

  // From now on, every image must hold the unit, and what it follows. False if that was so.
  bool promise(UnitId unit);

  // The image after the latest crash; `changed` are the lines that may differ from the image
  // before.
  std::optional<Finding> judge(const ImageReader& image, const std::vector<Line>& changed);

  // Is the unit in the set that the latest image holds?
  bool held(UnitId unit) const { return units_[unit].held; }

  // Another image that a crash at this time could have left, if `changed` lines are different in
  // it. Doesn't count as one that there was.
  std::optional<Finding> judge_instead(const ImageReader& image, const std::vector<Line>& changed);

 private:
  struct UnitState {
    bool held = false;
    bool promised = false;
    UnitId reason = ProgramHistory::kNone;       // the unit that brought it in, perhaps itself
    std::uint32_t seen = ProgramHistory::kNone;  // the word that did, if it was itself
  };
  // What the set leaves in a word.
  struct WordState {
    std::uint32_t version = 0;
    bool free = false;  // any value will do
    std::uint64_t value = 0;
  };
  // How it was before a change, to go back.
  struct Change {
    bool of_unit;
    std::uint32_t number, before;
  };

  std::optional<Finding> find_set(const ImageReader& image, const std::vector<Line>& changed);
  std::optional<Finding> grow(const ImageReader& image);
  std::optional<Finding> check(const ImageReader& image, Line line);
  void hold(UnitId unit, std::uint32_t seen);
  void hold_one(UnitId unit, UnitId reason);
  void shrink_to_promised();
  std::uint32_t last_held(std::uint32_t word, std::uint32_t version) const;
  void set_held(UnitId unit, bool held);
  void set_version(std::uint32_t word, std::uint32_t version);
  Finding explain(std::uint32_t word, std::uint64_t value) const;

  const ProgramHistory& history_;
  std::vector<UnitState> units_;
  std::vector<WordState> words_;
  std::vector<UnitId> unpromised_;  // held, but not promised
  std::vector<Line> to_check_;
  std::vector<Line> suspect_;  // were wrong, or belong to units promised since
  std::vector<std::pair<UnitId, UnitId>> stack_;
  bool tentative_ = false;
  std::vector<Change> changes_;  // while tentative
};

}  // namespace pmemsim
