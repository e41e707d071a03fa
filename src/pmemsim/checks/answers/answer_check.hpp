// Does a program's reader give a right answer of each image that a crash may leave? Without knowing
// what is right: right are the answers of images in which nothing is lost, of the right moments
// (stretches.hpp).
//
//   1  An image is one of all moments at which a crash may leave it: from when the last of its
//      pieces has become visible, until a piece that it doesn't have becomes sure. Its answer must
//      be right at each.
//   2  Answers are what the reader writes to its standard output; if it doesn't end with 0, how it
//      ends, and nothing else.
//   3  An answer that would have to be compared with those of more than kMostStates images is left
//      unjudged.
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
#include "pmemsim/checks/answers/stretches.hpp"
#include "pmemsim/checks/checkers/checker_pool.hpp"
#include "pmemsim/checks/images/whole_images.hpp"

namespace pmemsim::answers {

// Of an answer as much as tells it from others.
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

// The moments at which a crash may leave an image.
struct Moments {
  std::uint64_t first, last;
  // None: it is in the midst of step `first`.
  bool in_step() const { return last < first; }
};

class AnswerCheck {
 public:
  using KeepGoing = CheckerProcess::KeepGoing;
  static constexpr std::uint64_t kMostStates = 500;
  static constexpr std::uint64_t kZeros = UINT64_MAX;  // in place of an order: a file of zeros

  // Throws trace::TraceError.
  AnswerCheck(const trace::TraceFile& trace, PersistencyRules rules, std::uint64_t seed,
              std::uint64_t most, const CheckerCommand& reader, std::size_t jobs,
              const std::vector<ProgramOperation>& operations);

  // Shows the next image to the reader. False: there are no more.
  bool show_next(const KeepGoing& keep_going);
  std::uint64_t answered() const { return crashed_.judged() + whole_.judged(); }
  // Of all that were shown: the numbers of those whose answers are wrong.
  std::vector<std::uint64_t> find_wrong(const KeepGoing& keep_going);
  std::uint64_t unjudged() const { return unjudged_; }
  // Have images in which nothing is lost had different answers?
  bool answers_differ() const;

  // Why the image that `images` has come to is wrong.
  struct Wrong {
    Said got;
    Stretch stretch;
    std::uint64_t moment;  // the first one at which it is
    // By how much of the program is there: what the answer might have been, two at most.
    std::vector<std::uint64_t> allowed;
  };
  std::optional<Wrong> judge(const KeepGoing& keep_going);
  // With nothing lost but what comes behind `order`; or of a file of zeros.
  Said whole(std::uint64_t order, const KeepGoing& keep_going);

  // The pieces that the image has lost, of each line by order: those that were visible at its
  // instant, and those that have become so until a later moment at which a crash may leave it.
  std::vector<std::vector<std::uint64_t>> lost(std::uint64_t moment) const;
  // The newest piece that the image has; 0: none.
  std::uint64_t newest() const;

  WholeImages& images() { return images_; }
  const WholeImages& images() const { return images_; }
  const History& history() const { return history_; }
  const Stretches& stretches() const { return stretches_; }

 private:
  struct Judged {
    bool right = true, known = true;
    Stretch stretch;
    std::uint64_t moment = 0;
  };

  Moments moments() const;
  Judged judge(const Digest& digest, Moments moments, const KeepGoing& keep_going);
  bool is_right(const Digest& digest, const Stretch& stretch, std::uint64_t moment, bool& known,
                const KeepGoing& keep_going);
  bool is_among(const Digest& digest, std::uint64_t first, std::uint64_t last, bool& known,
                const KeepGoing& keep_going);
  bool stands_alone(const Stretch& stretch) const;
  bool is_some_subset(const Digest& digest, const Stretch& stretch, std::uint64_t moment,
                      const KeepGoing& keep_going);
  Stretch in_step(std::uint64_t step) const;
  std::pair<std::uint64_t, std::uint64_t> span(const Stretch& stretch) const;
  std::uint64_t since(const Stretch& stretch) const { return history_.order_at(stretch.first); }
  std::size_t of_piece(std::uint64_t order) const;
  void ask_first(const KeepGoing& keep_going);
  Digest digest_of(std::uint64_t order, const KeepGoing& keep_going);

  const History history_;
  const Stretches stretches_;
  WholeImages images_;
  NothingLost nothing_lost_;
  std::vector<std::pair<Digest, Moments>> answers_;          // by image
  std::unordered_map<std::uint64_t, Digest> whole_answers_;  // by order
  std::map<std::vector<std::uint64_t>, Digest> subset_answers_;
  std::vector<std::size_t> piece_operations_;  // by order, from 1: stretches' operations
  std::vector<std::uint64_t> asked_;           // orders, by their numbers in whole_
  std::uint64_t unjudged_ = 0;
  Said last_crashed_, last_whole_;
  // Behind what they tell.
  CheckerPool crashed_, whole_, zeros_;
};

}  // namespace pmemsim::answers
