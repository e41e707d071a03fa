#include "pmemsim/analysis/verify.hpp"

#include <algorithm>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "pmemsim/analysis/races.hpp"
#include "pmemsim/analysis/turns.hpp"
#include "pmemsim/trace/initial_state.hpp"
#include "pmemsim/trace/names.hpp"
#include "pmemsim/trace/sync_operations.hpp"

namespace pmemsim::trace {
namespace {

struct Object {
  ReachedVersion version;
  std::uint32_t releases = 0;
};

class ThreadReplay {
 public:
  ThreadReplay(const TraceFile& file, std::uint32_t thread, std::vector<Object>& objects)
      : file_(file), thread_(thread), objects_(objects), stream_(file, thread) {
    more_ = stream_.next(operation_);
  }

  // Replays until the thread has to wait, has executed `end` operations, or has ended. True if it
  // executed any operation.
  bool advance(std::uint64_t end = UINT64_MAX) {
    bool moved = false;
    while (more_ && number() < end && can_execute()) {
      execute();
      more_ = stream_.next(operation_);
      moved = true;
    }
    return moved;
  }

  bool ended() const { return !more_; }
  // Returns the number of the next operation.
  std::uint64_t number() const { return stream_.position() - 1; }
  std::uint64_t operations() const { return stream_.position(); }

  std::string waits_for() const {
    return fmt::format(
        "thread {} at operation {} waits for version {} of object {}, which is at {}", thread_,
        number(), awaited_version(operation_), operation_.object,
        objects_[operation_.object].version.number());
  }

  void note_end(std::vector<std::string>& notes) const {
    if (depth_ > 0) notes.push_back(fmt::format("thread {} ends inside a region", thread_));
    if (purpose_ != Purpose::kProgram) {
      notes.push_back(
          fmt::format("thread {} ends with the purpose \"{}\"", thread_, name_of(purpose_)));
    }
  }

 private:
  bool is_wrongly_annotated() const {
    return operation_.kind == SiteKind::kSync && operation_.flag &&
           operation_.detail > static_cast<std::uint8_t>(SyncKind::kMutexUnlock);
  }
  bool can_execute() const {
    return !synchronises(operation_) ||
           objects_[operation_.object].version.number() >= awaited_version(operation_);
  }

  void execute() {
    if (is_wrongly_annotated()) fail("is annotated, but neither acquires nor releases a mutex");
    if (synchronises(operation_) && releases(operation_)) {
      Object& object = objects_[operation_.object];
      if (operation_.version == 0)
        fail("releases version 0, which is the initial version of every object");
      object.version.release(operation_.version);
      ++object.releases;
    }
    if (operation_.kind == SiteKind::kMark) mark();
  }

  void mark() {
    switch (static_cast<MarkKind>(operation_.detail)) {
      case MarkKind::kRegionBegin:
        if (operation_.address != depth_ + 1) fail("begins a region with a wrong depth");
        ++depth_;
        break;
      case MarkKind::kRegionEnd:
        if (depth_ == 0 || operation_.address != depth_) fail("ends a region that has not begun");
        --depth_;
        break;
      case MarkKind::kPurpose:
        purpose_ = static_cast<Purpose>(operation_.address);
        break;
      default:
        break;
    }
  }

  [[noreturn]] void fail(const char* what) const {
    throw TraceError(fmt::format("{}: thread {}, operation {}: {}; record it again", file_.path(),
                                 thread_, number(), what));
  }

  const TraceFile& file_;
  std::uint32_t thread_;
  std::vector<Object>& objects_;
  OperationStream stream_;
  Operation operation_{};
  bool more_ = false;
  std::uint64_t depth_ = 0;
  Purpose purpose_ = Purpose::kProgram;
};

using Threads = std::vector<std::unique_ptr<ThreadReplay>>;

void replay(const TraceFile& file, const Threads& threads) {
  const auto ended = [](const auto& thread) { return thread->ended(); };
  while (!std::ranges::all_of(threads, ended)) {
    bool moved = false;
    for (const auto& thread : threads) moved = thread->advance() || moved;
    if (moved) continue;
    std::string waits;
    for (const auto& thread : threads) {
      if (!thread->ended()) waits += "; " + thread->waits_for();
    }
    throw TraceError(
        fmt::format("{}: the threads are deadlocked{}; record it again", file.path(), waits));
  }
}

void replay_in_turns(const TraceFile& file, Turns& turns, const Threads& threads) {
  const auto pending = [&](std::uint32_t thread) -> std::optional<std::uint64_t> {
    if (threads[thread]->ended()) return {};
    return threads[thread]->number();
  };
  while (const auto next = turns.next(pending)) {
    ThreadReplay& thread = *threads[next->thread];
    thread.advance(next->turn.end);
    if (thread.ended() || thread.number() >= next->turn.end) continue;
    throw TraceError(fmt::format("{}: turn {} is too early: {}; record it again", file.path(),
                                 next->turn.number, thread.waits_for()));
  }
}

}  // namespace

Verification verify(const TraceFile& file) {
  for_each_image_page(file, [](std::uint64_t, std::span<const std::byte>) {});
  for_each_warm_line(file, [](const WarmLine&) {});

  std::vector<Object> objects(file.metadata().sync_objects);
  Threads threads;
  for (std::uint32_t thread = 0; thread < file.metadata().threads; ++thread) {
    threads.push_back(std::make_unique<ThreadReplay>(file, thread, objects));
  }
  Turns turns(file);
  if (turns.recorded()) {
    replay_in_turns(file, turns, threads);
  } else {
    replay(file, threads);
  }

  verify_races(file);

  Verification verification;
  for (std::size_t number = 0; number < objects.size(); ++number) {
    const Object& object = objects[number];
    if (object.releases == object.version.number()) continue;
    throw TraceError(fmt::format(
        "{}: object {} is released {} times, but its last version is {}; record it again",
        file.path(), number, object.releases, object.version.number()));
  }
  for (const auto& thread : threads) {
    verification.operations += thread->operations();
    thread->note_end(verification.notes);
  }
  return verification;
}

}  // namespace pmemsim::trace
