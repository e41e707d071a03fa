// Errors that a user can act on. A message is one sentence with the location, the reason and the
// remedy.
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

// All problems of a configuration, found in one pass.
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

// The simulation cannot continue: nothing is scheduled although work is pending. The message names
// what each component waits for. The cause is a defect of pmemsim, of the trace or of the
// configuration; in the last case the message names the remedy.
class StuckError : public Error {
 public:
  using Error::Error;
};

// A defect of pmemsim that pmemsim detected itself. The message asks the user to report it.
class InternalError : public Error {
 public:
  using Error::Error;
};

// The caller has cancelled the operation.
class Interrupted : public Error {
 public:
  using Error::Error;
};

}  // namespace pmemsim
