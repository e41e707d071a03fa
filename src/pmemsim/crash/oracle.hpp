// The oracle: decides whether a recovered image is one that a crash may leave, for any design.
//
// An image is correct if some set of units (program_history.hpp), each of them whole, leaves
// exactly its contents. The set must contain every unit that is guaranteed persistent, and all
// units that a unit of the set follows.
//
// The oracle finds such a set, if one exists, by growing the smallest possible one: the guaranteed
// units and all units that they follow. The writers of a word follow one another, so a set contains
// the first n of them. If the set leaves another value than the image has, the set must also
// contain the word's next writers, up to the next one that wrote the image's value. Each addition
// is forced, so either the final set matches the image, or no set does.
//
// The oracle checks the crashes of a run in the order of their times. It gets only the lines that
// may have changed since the previous crash. It starts from the set found last. If that set cannot
// match, it starts again from the guaranteed units.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "pmemsim/crash/advancing_history.hpp"
#include "pmemsim/crash/program_history.hpp"

namespace pmemsim {

class Oracle {
 public:
  using UnitId = ProgramHistory::UnitId;

  // Reads a line of the image to be checked.
  class ImageReader {
   public:
    virtual ~ImageReader() = default;
    virtual LineData read(Line line) const = 0;
  };

  enum class Fault : std::uint8_t {
    kForeignValue,  // No store ever wrote the value to the word
    kLost,          // A unit that is guaranteed persistent is missing
    kTorn,          // A region is in part in the image, or without a unit that it follows
  };
  struct Finding {
    Fault fault;
    std::uint64_t address;            // Address of a word
    std::uint64_t held, should_hold;  // The word's value, and the correct one
    UnitId unit;  // Unit that wrote `should_hold`; kNone: the value before the program
    // Reason: this unit, which follows `unit` or is `unit`, must be in the image. It is guaranteed
    // persistent, or the word at `seen_at` holds a value that it stored.
    UnitId because_of;
    std::optional<std::uint64_t> seen_at;
  };

  explicit Oracle(const ProgramHistory& history);
  // Drops each unit of the history as soon as it is guaranteed persistent.
  explicit Oracle(AdvancingHistory& history);

  // Requires every image from now on to contain the unit, and the units that it follows. Returns
  // false if that was required before.
  bool guarantee(UnitId unit);

  // Checks the image after the latest crash; `changed` are the lines that may differ from the
  // previous image.
  std::optional<Finding> check_image(const ImageReader& image, const std::vector<Line>& changed);

  // Starts again from the guaranteed units, so that later results do not depend on earlier images.
  void restart();

  // True if the unit is in the set that matches the latest image.
  bool held(UnitId unit) const { return history_.released(unit) || state(unit).held; }

  // Checks another image that a crash at this time could have left, which differs in the lines
  // `changed`. Restores the set of the latest image afterwards.
  std::optional<Finding> check_alternative(const ImageReader& image,
                                           const std::vector<Line>& changed);

 private:
  struct UnitState {
    bool held = false;
    bool guaranteed = false;
    UnitId reason = ProgramHistory::kNone;       // Unit that required this one, perhaps itself
    std::uint32_t seen = ProgramHistory::kNone;  // Word that showed the unit, if `reason` is itself
  };
  using States = std::array<UnitState, ProgramHistory::kChunkUnits>;
  // The value that the set leaves in a word.
  struct WordState {
    std::uint32_t version = 0;
    std::uint64_t value = 0;
  };
  // The state before a change, to restore it.
  struct Change {
    bool of_unit;
    std::uint32_t number, before;
  };

  std::optional<Finding> find_set(const ImageReader& image, const std::vector<Line>& changed);
  std::optional<Finding> grow(const ImageReader& image);
  std::optional<Finding> check(const ImageReader& image, Line line);
  // The state of a unit that is not released.
  UnitState& state(UnitId unit);
  const UnitState& state(UnitId unit) const { return const_cast<Oracle*>(this)->state(unit); }
  bool guaranteed(UnitId unit) const { return history_.released(unit) || state(unit).guaranteed; }
  void retire_guaranteed();
  // Returns the unit of the next version that has this value, or in which the word is free.
  std::optional<UnitId> next_writer(std::uint32_t word, std::uint64_t value);
  // True if any value of the word is correct in this version. Reads an advancing history on if that
  // depends on the word's next version.
  bool is_free(std::uint32_t word, std::uint32_t version);
  void hold(UnitId unit, std::uint32_t seen);
  void hold_one(UnitId unit, UnitId reason);
  void shrink_to_guaranteed();
  std::uint32_t last_held(std::uint32_t word, std::uint32_t version) const;
  void set_held(UnitId unit, bool held);
  void set_version(std::uint32_t word, std::uint32_t version);
  Finding explain(std::uint32_t word, std::uint64_t value) const;

  const ProgramHistory& history_;
  AdvancingHistory* const advancing_ = nullptr;  // The same history, if it drops units
  std::vector<std::unique_ptr<States>> states_;  // By chunk of units
  std::vector<WordState> words_;
  std::vector<UnitId> not_guaranteed_;  // Units in the set that are not guaranteed
  std::vector<UnitId> newly_guaranteed_;
  std::vector<Line> to_check_;
  std::vector<Line> suspect_;  // Lines that were wrong, or belong to units guaranteed since
  std::vector<std::pair<UnitId, UnitId>> stack_;
  bool tentative_ = false;
  std::vector<Change> changes_;  // Changes made while tentative_
};

}  // namespace pmemsim
