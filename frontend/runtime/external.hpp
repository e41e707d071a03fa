// Code that is not instrumented.
#pragma once

#include <cstdint>

namespace pmemsim::rt {

void configure_stepping();
void stop_stepping();
// While one of these exists, what the runtime does for itself in such code isn't counted as its.
class NotStepping {
 public:
  NotStepping();
  ~NotStepping();
  NotStepping(const NotStepping&) = delete;
  NotStepping& operator=(const NotStepping&) = delete;

 private:
  bool was_stepping_;
};
const char* external_method();  // for the metadata
void put_external(std::uint64_t instructions);

}  // namespace pmemsim::rt
