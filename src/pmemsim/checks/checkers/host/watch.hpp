// Runs one child process after the other, each with all that it starts until its end, and says how
// it has ended and what it has said last. A child that is still as it was may give several answers.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "pmemsim/checks/checkers/answer.hpp"

namespace pmemsim {

class Watch {
 public:
  // What a child tells of itself.
  struct Told {
    bool returned;
    int status;  // that it has returned
    int error;   // why no program could be started
    bool reads;  // what it has read of the image was told
  };

  // Somebody who attends to what a child waits for.
  class Companion {
   public:
    virtual ~Companion() = default;
    // False: the child is to be ended.
    virtual bool started(pid_t child) = 0;
    // Whatever was said before. The child has ended with all that it has started.
    virtual void ended() = 0;
    // Readable when there is something to do; false: the child is to be ended.
    virtual int file() const = 0;
    virtual bool attend() = 0;
  };

  // Nobody listens at the other end of the socket any more: what runs is ended.
  // `apart`: standard output is kept as a whole, apart from what is said.
  Watch(int socket, std::chrono::milliseconds timeout, bool apart);
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // `work` is what the child does. No answer: nobody wants it any more.
  std::optional<CheckerAnswer> run(const std::function<void(Told&)>& work,
                                   Companion* companion = nullptr);
  // The same, but if a child waits for it (await_next()), that one goes on instead.
  std::optional<CheckerAnswer> run_on(const std::function<void(Told&)>& work);
  // In the child: what it tells is its answer. Until run_on() is called again.
  void await_next() const;
  bool child_waits() const { return waiting_ != 0; }
  // Does nothing if none waits.
  void end_waiting();
  // To the last answer, if it is kept apart.
  const std::string& printed() const { return printed_; }

 private:
  using Clock = std::chrono::steady_clock;

  enum class Event : std::uint8_t { kAnswered, kEnded, kTooLong, kTooMuch, kUnwanted, kAbandoned };
  // What children write to.
  struct Pipe {
    int output, input;
  };
  static Pipe make_pipe();
  void begin();
  pid_t start(const std::function<void(Told&)>& work);
  [[noreturn]] void be_child(const std::function<void(Told&)>& work);
  void end(pid_t child);
  std::optional<CheckerAnswer> attend(pid_t child, Companion* companion);
  Event wait_for(pid_t child, Clock::time_point until, Companion* companion);
  bool listen();
  bool hear_said();
  bool hear_printed();
  CheckerAnswer answer(pid_t child, Event event) const;

  const int socket_;
  const std::chrono::milliseconds timeout_;
  int signals_;
  const Pipe said_by_;
  const std::optional<Pipe> printed_by_;
  const int answered_, wanted_;  // how a child that waits and this process wake each other
  Told* const told_;             // shared with children
  Clock::time_point begun_;
  pid_t waiting_ = 0;
  std::string said_, printed_;
};

}  // namespace pmemsim
