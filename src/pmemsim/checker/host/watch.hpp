// Runs one child process after the other, each with all that it starts until its end, and says how
// it has ended and what it has said last.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "pmemsim/checker/answer.hpp"

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
  // To the last answer, if it is kept apart.
  const std::string& printed() const { return printed_; }

 private:
  using Clock = std::chrono::steady_clock;

  [[noreturn]] void be_child(const std::function<void(Told&)>& work);
  enum class Event : std::uint8_t { kEnded, kTooLong, kTooMuch, kUnwanted, kAbandoned };
  // What children write to.
  struct Pipe {
    int output, input;
  };
  static Pipe make_pipe();
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
  Told* const told_;  // shared with children
  std::string said_, printed_;
};

}  // namespace pmemsim
