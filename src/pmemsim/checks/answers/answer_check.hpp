// Checks whether a program's reader gives a correct answer for each image that a crash may leave.
// The user gives no correct answers. An answer is correct if the reader also gives it for an image
// without losses, of a suitable point in time (intervals.hpp).
//
//   1  An image belongs to all points in time at which a crash may leave it: from the visibility of
//      its last segment until a segment that it lacks becomes guaranteed. Its answer must be
//      correct at each of these points.
//   2  An answer is the reader's standard output. If the reader's exit status is not 0, the answer
//      is only its exit status or signal.
//   3  An answer is not checked if it would have to be compared with the answers of more than
//      kMostStates images.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "pmemsim/checks/answers/history.hpp"
#include "pmemsim/checks/answers/intervals.hpp"
#include "pmemsim/checks/checkers/checker_pool.hpp"
#include "pmemsim/checks/images/whole_images.hpp"

namespace pmemsim::answers {

// The parts of an answer that distinguish it from others.
struct Digest {
  CheckerAnswer::Ending ending = CheckerAnswer::Ending::kExited;
  std::int32_t status = 0;
  std::uint64_t hash = 0, bytes = 0;

  bool fails() const { return ending != CheckerAnswer::Ending::kExited || status != 0; }
  bool operator==(const Digest&) const = default;
};

struct Said {
  CheckerAnswer answer;
  std::string printed;
};

// The crash times at which a crash may leave an image.
struct CrashTimes {
  std::uint64_t first, last;
  // True if there is no such time: the crash is inside step `first`.
  bool in_step() const { return last < first; }
};

class AnswerCheck {
 public:
  using KeepGoing = CheckerProcess::KeepGoing;
  static constexpr std::uint64_t kMostStates = 500;
  static constexpr std::uint64_t kZeros = UINT64_MAX;  // Instead of an order: a file of zeros

  // Reads the recording. Throws trace::TraceError.
  AnswerCheck(const trace::TraceFile& trace, PersistencyRules rules, std::uint64_t seed,
              std::uint64_t most, const CheckerCommand& reader, std::size_t jobs,
              const std::vector<CallOrRegion>& operations);

  // Shows the next image to the reader. Returns false if there are no more.
  bool show_next(const KeepGoing& keep_going);
  std::uint64_t answered() const { return crashed_.checked() + whole_.checked(); }
  // Returns the numbers of all shown images whose answers are wrong.
  std::vector<std::uint64_t> find_wrong(const KeepGoing& keep_going);
  std::uint64_t unchecked() const { return unchecked_; }
  // True if images without losses have had different answers.
  bool answers_differ() const;

  // Explanation why the current image of `images` is wrong.
  struct Wrong {
    Said got;
    Interval interval;
    std::uint64_t crash_time;  // The first crash time at which the answer is wrong
    // The correct answers, as orders of images without losses; at most two.
    std::vector<std::uint64_t> allowed;
  };
  std::optional<Wrong> check_image(const KeepGoing& keep_going);
  // Returns the answer for the image with all segments up to `order`, or for a file of zeros
  // (kZeros).
  Said whole(std::uint64_t order, const KeepGoing& keep_going);

  // Returns the segments that the image has lost, by line and order. These are segments visible at
  // the image's instant, and segments that became visible later, until `crash_time`. A crash at
  // `crash_time` must be able to leave the image.
  std::vector<std::vector<std::uint64_t>> lost(std::uint64_t crash_time) const;
  // Returns the newest segment in the image; 0: there is none.
  std::uint64_t newest() const;

  WholeImages& images() { return images_; }
  const WholeImages& images() const { return images_; }
  const History& history() const { return history_; }
  const Intervals& intervals() const { return intervals_; }

 private:
  struct Verdict {
    bool right = true, known = true;
    Interval interval;
    std::uint64_t crash_time = 0;
  };

  CrashTimes crash_times() const;
  Verdict check_image(const Digest& digest, CrashTimes crash_times, const KeepGoing& keep_going);
  bool is_right(const Digest& digest, const Interval& interval, std::uint64_t crash_time,
                bool& known, const KeepGoing& keep_going);
  bool is_among(const Digest& digest, std::uint64_t first, std::uint64_t last, bool& known,
                const KeepGoing& keep_going);
  bool executes_alone(const Interval& interval) const;
  bool is_some_subset(const Digest& digest, const Interval& interval, std::uint64_t crash_time,
                      const KeepGoing& keep_going);
  Interval in_step(std::uint64_t step) const;
  std::pair<std::uint64_t, std::uint64_t> span(const Interval& interval) const;
  std::uint64_t since(const Interval& interval) const { return history_.order_at(interval.first); }
  std::size_t of_segment(std::uint64_t order) const;
  void ask_first(const KeepGoing& keep_going);
  Digest digest_of(std::uint64_t order, const KeepGoing& keep_going);

  const History history_;
  const Intervals intervals_;
  WholeImages images_;
  LosslessImage lossless_image_;
  std::vector<std::pair<Digest, CrashTimes>> answers_;       // By image
  std::unordered_map<std::uint64_t, Digest> whole_answers_;  // By order
  std::map<std::vector<std::uint64_t>, Digest> subset_answers_;
  std::vector<std::size_t> segment_operations_;  // By order, from 1: index of the operation
  std::vector<std::uint64_t> queried_;           // Orders, by their numbers in whole_
  std::uint64_t unchecked_ = 0;
  Said last_crashed_, last_whole_;
  // Declared after the members that their callbacks use.
  CheckerPool crashed_, whole_, zeros_;
};

}  // namespace pmemsim::answers
