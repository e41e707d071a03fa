#include "pmemsim/checks/checkers/checker_pool.hpp"

#include <algorithm>
#include <utility>

namespace pmemsim {

CheckerPool::CheckerPool(CheckerCommand command, std::vector<trace::PmRegion> regions,
                         std::size_t most, AnswerCallback on_answer)
    : command_(std::move(command)),
      regions_(std::move(regions)),
      most_(most),
      on_answer_(std::move(on_answer)) {
  workers_.reserve(most);
}

void CheckerPool::show(const Image& image, std::span<const Line> changed,
                       const CheckerProcess::KeepGoing& keep_going, bool watched) {
  for (Worker& worker : workers_) {
    for (const Line line : changed) worker.stale.insert(line.number);
  }
  Worker& worker = free_worker(image, keep_going);
  for (const std::uint64_t number : worker.stale) {
    worker.checker->write(Line{number}, image.read(Line{number}));
  }
  begin(worker, watched);
}

void CheckerPool::show(const Image& image, const CheckerProcess::KeepGoing& keep_going) {
  Worker& worker = free_worker(image, keep_going);
  worker.checker->write(image);
  begin(worker);
}

// Returns a free worker. A new one already has the image.
CheckerPool::Worker& CheckerPool::free_worker(const Image& image,
                                              const CheckerProcess::KeepGoing& keep_going) {
  for (;;) {
    const auto found = std::ranges::find_if(workers_, [](const Worker& w) { return !w.busy; });
    if (found != workers_.end()) return *found;
    if (workers_.size() < most_) {
      workers_.push_back({.checker = std::make_unique<CheckerProcess>(command_, regions_,
                                                                      workers_.size(), keep_going),
                          .busy = {},
                          .stale = {}});
      workers_.back().checker->write(image);
      return workers_.back();
    }
    await_one(keep_going);
  }
}

void CheckerPool::begin(Worker& worker, bool watched) {
  worker.stale.clear();
  worker.busy = shown_++;
  worker.checker->begin(watched);
}

void CheckerPool::await_one(const CheckerProcess::KeepGoing& keep_going) {
  std::vector<Worker*> busy;
  std::vector<int> sockets;
  for (Worker& worker : workers_) {
    if (!worker.busy) continue;
    busy.push_back(&worker);
    sockets.push_back(worker.checker->socket());
  }
  Worker& worker = *busy[await_readable(sockets, keep_going)];
  last_ = worker.checker->answer();
  if (on_answer_) on_answer_(*worker.busy, last_, worker.checker->printed());
  if (!is_consistent(last_, command_.library)) {
    rejected_.emplace(*worker.busy, last_);
  } else if (last_.reads_reported) {
    pages_read_.emplace(*worker.busy, worker.checker->pages_read());
  }
  worker.busy.reset();
  ++checked_;
}

void CheckerPool::finish(const CheckerProcess::KeepGoing& keep_going) {
  while (checked_ < shown_) await_one(keep_going);
}

CheckerAnswer CheckerPool::check_image(const Image& image, std::span<const Line> changed,
                                       const CheckerProcess::KeepGoing& keep_going) {
  finish(keep_going);
  show(image, changed, keep_going);
  finish(keep_going);
  return last_;
}

CheckerAnswer CheckerPool::check_image(const Image& image,
                                       const CheckerProcess::KeepGoing& keep_going) {
  finish(keep_going);
  show(image, keep_going);
  finish(keep_going);
  return last_;
}

}  // namespace pmemsim
