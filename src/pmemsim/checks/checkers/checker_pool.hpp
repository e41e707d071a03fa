// A pool of checkers that check several images at once. The results are in the order of the images
// and do not depend on the number of checkers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "pmemsim/checks/checkers/checker_process.hpp"

namespace pmemsim {

// True if the checker accepts the image.
inline bool is_consistent(const CheckerAnswer& answer, bool library) {
  using Ending = CheckerAnswer::Ending;
  return answer.status == 0 && answer.ending == (library ? Ending::kReturned : Ending::kExited);
}

class CheckerPool {
 public:
  // Receives each answer and a reader's output, in no particular order.
  using AnswerCallback =
      std::function<void(std::uint64_t, const CheckerAnswer&, const std::string& printed)>;

  CheckerPool(CheckerCommand command, std::vector<trace::PmRegion> regions, std::size_t most,
              AnswerCallback on_answer = {});

  // Shows the next image to a checker, as soon as one is free. `changed`: the lines in which it may
  // differ from the image shown before. `watched`: the pages read are to be reported. Throws Error,
  // and any exception of `keep_going`; the pool is unusable then.
  void show(const Image& image, std::span<const Line> changed,
            const CheckerProcess::KeepGoing& keep_going, bool watched = false);
  // Shows the next image if the changed lines are unknown.
  void show(const Image& image, const CheckerProcess::KeepGoing& keep_going);
  // Waits until all shown images are checked.
  void finish(const CheckerProcess::KeepGoing& keep_going);

  std::uint64_t shown() const { return shown_; }
  std::uint64_t checked() const { return checked_; }
  // Returns the rejected images, by their number from 0 in the order of show().
  const std::map<std::uint64_t, CheckerAnswer>& rejected() const { return rejected_; }
  // Pages that checkers have read of watched, accepted images, by the images' numbers as in
  // rejected(). Images without a report are missing. Pages have their recorded addresses.
  // take_pages_read() returns each entry once.
  using PagesRead = std::map<std::uint64_t, std::vector<std::uint64_t>>;
  PagesRead take_pages_read() { return std::exchange(pages_read_, {}); }
  // Checks an image while no other is checked, and returns the answer.
  CheckerAnswer check_image(const Image& image, std::span<const Line> changed,
                            const CheckerProcess::KeepGoing& keep_going);
  CheckerAnswer check_image(const Image& image, const CheckerProcess::KeepGoing& keep_going);

 private:
  struct Worker {
    std::unique_ptr<CheckerProcess> checker;
    std::optional<std::uint64_t> busy;        // Number of the image that is being checked
    std::unordered_set<std::uint64_t> stale;  // Lines that differ from the image shown last
  };

  Worker& free_worker(const Image& image, const CheckerProcess::KeepGoing& keep_going);
  void await_one(const CheckerProcess::KeepGoing& keep_going);
  void begin(Worker& worker, bool watched = false);

  const CheckerCommand command_;
  const std::vector<trace::PmRegion> regions_;
  const std::size_t most_;
  const AnswerCallback on_answer_;
  std::vector<Worker> workers_;
  std::uint64_t shown_ = 0, checked_ = 0;
  std::map<std::uint64_t, CheckerAnswer> rejected_;
  PagesRead pages_read_;
  CheckerAnswer last_;
};

}  // namespace pmemsim
