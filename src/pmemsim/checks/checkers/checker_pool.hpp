// Several checkers that judge images at once. What they say comes in the order of the images,
// however many there are.
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

// Does the checker say so?
inline bool is_consistent(const CheckerAnswer& answer, bool library) {
  using Ending = CheckerAnswer::Ending;
  return answer.status == 0 && answer.ending == (library ? Ending::kReturned : Ending::kExited);
}

class CheckerPool {
 public:
  // Is told each answer, and what a reader has printed, in no particular order.
  using Heard =
      std::function<void(std::uint64_t, const CheckerAnswer&, const std::string& printed)>;

  CheckerPool(CheckerCommand command, std::vector<trace::PmRegion> regions, std::size_t most,
              Heard heard = {});

  // Shows the next image to a checker, as soon as one is free. `changed`: the lines in which it may
  // differ from the one shown before. `watched`: what is read of it is to be told. Throws Error,
  // and what `keep_going` throws; there is nothing more to be had then.
  void show(const Image& image, std::span<const Line> changed,
            const CheckerProcess::KeepGoing& keep_going, bool watched = false);
  // The same where nobody knows what has changed.
  void show(const Image& image, const CheckerProcess::KeepGoing& keep_going);
  // Until all that were shown are judged.
  void finish(const CheckerProcess::KeepGoing& keep_going);

  std::uint64_t shown() const { return shown_; }
  std::uint64_t judged() const { return judged_; }
  // Images that were rejected, by their number from 0 in the order in which they were shown.
  const std::map<std::uint64_t, CheckerAnswer>& rejected() const { return rejected_; }
  // By the same numbers, of accepted ones that were watched, where it was told: pages by their
  // recorded addresses. Each is told once.
  using PagesRead = std::map<std::uint64_t, std::vector<std::uint64_t>>;
  PagesRead take_pages_read() { return std::exchange(pages_read_, {}); }
  // The answer to the last one, which is judged alone.
  CheckerAnswer judge(const Image& image, std::span<const Line> changed,
                      const CheckerProcess::KeepGoing& keep_going);
  CheckerAnswer judge(const Image& image, const CheckerProcess::KeepGoing& keep_going);

 private:
  struct Worker {
    std::unique_ptr<CheckerProcess> checker;
    std::optional<std::uint64_t> busy;        // with this image
    std::unordered_set<std::uint64_t> stale;  // lines that aren't as in the image shown last
  };

  Worker& free_worker(const Image& image, const CheckerProcess::KeepGoing& keep_going);
  void await_one(const CheckerProcess::KeepGoing& keep_going);
  void begin(Worker& worker, bool watched = false);

  const CheckerCommand command_;
  const std::vector<trace::PmRegion> regions_;
  const std::size_t most_;
  const Heard heard_;
  std::vector<Worker> workers_;
  std::uint64_t shown_ = 0, judged_ = 0;
  std::map<std::uint64_t, CheckerAnswer> rejected_;
  PagesRead pages_read_;
  CheckerAnswer last_;
};

}  // namespace pmemsim
