// Runs one child process after the other, and ends all processes that a child has started with the
// child. Reports the cause of the child's end and its last output. A child that a check leaves
// unchanged may give several answers.
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
  // Results that a child reports.
  struct Report {
    bool returned;
    int status;  // Value that the check has returned
    int error;   // Error number if the program could not be started
    bool reads;  // The pages read of the image are reported
  };

  // Handles the events that a child waits for.
  class Companion {
   public:
    virtual ~Companion() = default;
    // Returns false if the child is to be ended.
    virtual bool started(pid_t child) = 0;
    // Called in any case, when the child has ended with all processes that it has started.
    virtual void ended() = 0;
    // file() is readable when there is an event; attend() handles it. Returns false if the child is
    // to be ended.
    virtual int file() const = 0;
    virtual bool attend() = 0;
  };

  // When the other end of `socket` is closed, the running child is ended. `apart`: standard output
  // is captured completely, apart from the other output.
  Watch(int socket, std::chrono::milliseconds timeout, bool apart);
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // Runs `work` in a child. Returns nothing if the answer is no longer wanted.
  std::optional<CheckerAnswer> run(const std::function<void(Report&)>& work,
                                   Companion* companion = nullptr);
  // Runs `work` in a child like run(), but if a child waits in await_next(), that child continues
  // instead.
  std::optional<CheckerAnswer> run_on(const std::function<void(Report&)>& work);
  // Sends the child's results as its answer, in the child, and waits until run_on() is called
  // again.
  void await_next() const;
  bool child_waits() const { return waiting_ != 0; }
  // Ends a waiting child, if there is one.
  void end_waiting();
  // Returns the standard output for the last answer, if it is captured apart.
  const std::string& printed() const { return printed_; }

 private:
  using Clock = std::chrono::steady_clock;

  enum class Event : std::uint8_t { kAnswered, kEnded, kTooLong, kTooMuch, kUnwanted, kAbandoned };
  // A pipe to which children write.
  struct Pipe {
    int output, input;
  };
  static Pipe make_pipe();
  void begin();
  pid_t start(const std::function<void(Report&)>& work);
  [[noreturn]] void be_child(const std::function<void(Report&)>& work);
  void end(pid_t child);
  std::optional<CheckerAnswer> attend(pid_t child, Companion* companion);
  Event wait_for(pid_t child, Clock::time_point until, Companion* companion);
  bool listen();
  bool receive_answer();
  bool receive_printed();
  CheckerAnswer answer(pid_t child, Event event) const;

  const int socket_;
  const std::chrono::milliseconds timeout_;
  int signals_;
  const Pipe said_by_;
  const std::optional<Pipe> printed_by_;
  const int answered_, wanted_;  // Events that wake this process, or a waiting child
  Report* const report_;         // Shared with children
  Clock::time_point begun_;
  pid_t waiting_ = 0;
  std::string said_, printed_;
};

}  // namespace pmemsim
