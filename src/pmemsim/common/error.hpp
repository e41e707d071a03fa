// Errors that a person can act on: one sentence with the place, the reason and the cure.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace pmemsim {

// Bad input of any kind (trace, configuration, combination of designs). The command line prints
// what() and exits with 2.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Everything that is wrong with a configuration, found in one pass.
class ConfigError : public Error {
 public:
  explicit ConfigError(std::vector<std::string> problems)
      : Error(join(problems)), problems_(std::move(problems)) {}
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  static std::string join(const std::vector<std::string>& problems) {
    std::string text;
    for (const auto& problem : problems) text += (text.empty() ? "" : "\n") + problem;
    return text;
  }
  std::vector<std::string> problems_;
};

// The simulation can't go on: nothing is scheduled although work is pending. Says who waits for
// whom. A defect of pmemsim or of the trace, or of the configuration; then it names the cure.
class StuckError : public Error {
 public:
  using Error::Error;
};

// A defect of pmemsim that it has found itself. The message asks to report it.
class InternalError : public Error {
 public:
  using Error::Error;
};

// Whoever had this done wants no more of it.
class Interrupted : public Error {
 public:
  using Error::Error;
};

}  // namespace pmemsim
