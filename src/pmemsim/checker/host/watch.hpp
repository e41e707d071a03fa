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

  // Nobody listens at the other end of the socket any more: what runs is ended.
  Watch(int socket, std::chrono::milliseconds timeout);
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // `work` is what the child does. No answer: nobody wants it any more.
  std::optional<CheckerAnswer> run(const std::function<void(Told&)>& work);

 private:
  using Clock = std::chrono::steady_clock;

  [[noreturn]] void be_child(const std::function<void(Told&)>& work);
  enum class Event : std::uint8_t { kEnded, kTooLong, kUnwanted };
  Event wait_for(pid_t child, Clock::time_point until);
  bool listen();
  CheckerAnswer answer(pid_t child, bool too_long) const;

  const int socket_;
  const std::chrono::milliseconds timeout_;
  int signals_, output_, input_;  // of the pipe that children write to: its ends
  Told* const told_;              // shared with children
  std::string said_;
};

}  // namespace pmemsim
