// The checker host: the process that starts checkers, one for each image. It is small and does
// nothing else, so that fork() is fast.
//
//     pmemsim-checker-host program|reader|library TIMEOUT_MS READS REGIONS
//                          [IMAGE ADDRESS SIZE FILE]... WORD...
//
// pmemsim (checks/checkers/checker_process.hpp) starts it, with the socket of answer.hpp.
#include <sched.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "pmemsim/checks/checkers/host/library.hpp"
#include "pmemsim/checks/checkers/host/program.hpp"
#include "pmemsim/checks/checkers/host/watch.hpp"

namespace pmemsim {
namespace {

void say(const CheckerAnswer& answer) {
  send(kCheckerSocket, &answer, sizeof(answer), MSG_NOSIGNAL);
}

void say(const CheckerAnswer& answer, std::string_view printed) {
  say(answer);
  for (; !printed.empty(); printed.remove_prefix(std::min(kMostPrintedAtOnce, printed.size()))) {
    const std::size_t size = std::min(kMostPrintedAtOnce, printed.size());
    if (send(kCheckerSocket, printed.data(), size, MSG_NOSIGNAL) < 0) return;
  }
}

void say_not_ready(std::string_view why) {
  CheckerAnswer answer{.ending = CheckerAnswer::Ending::kNotReady};
  answer.size = static_cast<std::uint32_t>(std::min(why.size(), answer.said.size()));
  std::copy_n(why.begin(), answer.size, answer.said.begin());
  say(answer);
}

// Receives one message. Most messages arrive within microseconds: sleeping, and waking perhaps on
// another core, would take longer.
ssize_t receive(std::span<std::uint64_t> message) {
  constexpr int kLooks = 200;
  for (int i = 0; i < kLooks; ++i) {
    const ssize_t size = recv(kCheckerSocket, message.data(), message.size_bytes(), MSG_DONTWAIT);
    if (size >= 0 || errno != EAGAIN) return size;
    sched_yield();
  }
  return recv(kCheckerSocket, message.data(), message.size_bytes(), 0);
}

// Waits until the next image is in place and returns the byte that announces it. Returns nothing if
// there is none. `lines` is the buffer for messages.
template <class Checker>
std::optional<char> next_image(Checker& checker, std::span<std::uint64_t> lines) {
  for (;;) {
    const ssize_t size = receive(lines);
    if (size <= 0) return std::nullopt;
    if (size > 1) {
      checker.changed(lines.first(static_cast<std::size_t>(size) / sizeof(lines[0])));
      continue;
    }
    char byte;
    std::memcpy(&byte, lines.data(), 1);
    if (byte != kAllChanged) return byte;
    checker.all_changed();
  }
}

template <class Checker>
void serve(Checker& checker, Watch& watch) {
  // Allocated once: memory that this process writes to is copied for each child.
  std::vector<std::uint64_t> lines(kMostLines);
  say({.ending = CheckerAnswer::Ending::kReady});
  while (const std::optional<char> next = next_image(checker, lines)) {
    try {
      const std::optional<CheckerAnswer> answer = checker.check_image(watch, next == kNextWatched);
      if (!answer) return;
      say(*answer, watch.printed());
    } catch (const std::system_error& error) {
      say({.ending = CheckerAnswer::Ending::kFailed, .status = error.code().value()});
    }
  }
}

struct Arguments {
  bool library, reader;
  std::chrono::milliseconds timeout;
  std::string reads;
  std::vector<HostRegion> regions;
  std::span<char* const> words;
};

Arguments parse(std::span<char*> words) {
  Arguments found{.library = std::string_view(words[1]) == "library",
                  .reader = std::string_view(words[1]) == "reader",
                  .timeout = std::chrono::milliseconds(std::stoll(words[2])),
                  .reads = words[3],
                  .regions = {},
                  .words = {}};
  std::size_t at = 5;
  for (std::size_t left = std::stoull(words[4]); left > 0; --left, at += 4) {
    found.regions.push_back({.image = words[at],
                             .recorded_at = std::stoull(words[at + 1]),
                             .size = std::stoull(words[at + 2]),
                             .file = words[at + 3]});
  }
  found.words = words.subspan(at);
  return found;
}

// Rounds up to seconds, for alarm(): a library that hangs while it is loaded ends this process.
unsigned seconds_of(std::chrono::milliseconds time) {
  return static_cast<unsigned>(std::chrono::ceil<std::chrono::seconds>(time).count());
}

// Moves the environment off the stack, where a check's writes to it would not be noticed
// (side_effects.hpp).
void move_environment() {
  static std::vector<char*> moved;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    moved.push_back(strdup(*variable));
  }
  moved.push_back(nullptr);
  environ = moved.data();
}

void work(const Arguments& arguments) {
  Watch watch(kCheckerSocket, arguments.timeout, arguments.reader);
  if (!arguments.library) {
    Program program(arguments.regions, arguments.words, arguments.reads);
    return serve(program, watch);
  }
  move_environment();
  alarm(seconds_of(arguments.timeout));
  Library library(arguments.regions, arguments.words[0], arguments.reads);
  alarm(0);
  serve(library, watch);
}

// Restarts the program without address randomisation, so that results do not depend on chance and
// memory has the addresses of
// the recording.
void disable_address_randomisation(char** words) {
  const int before = personality(0xffffffff);
  if (before == -1 || (before & ADDR_NO_RANDOMIZE) != 0) return;
  if (personality(static_cast<unsigned long>(before) | ADDR_NO_RANDOMIZE) == -1) return;
  execv("/proc/self/exe", words);
}

// Disables core files: those of hundreds of rejected images would fill a disk.
void leave_no_core_files() {
  constexpr rlimit kNone{0, 0};
  setrlimit(RLIMIT_CORE, &kNone);
}

}  // namespace
}  // namespace pmemsim

int main(int count, char** words) {
  pmemsim::disable_address_randomisation(words);
  pmemsim::leave_no_core_files();
  try {
    pmemsim::work(pmemsim::parse({words, static_cast<std::size_t>(count)}));
  } catch (const std::exception& error) {
    pmemsim::say_not_ready(error.what());
  }
  // Not exit(): a library's destructors are not needed.
  _exit(0);
}
