// Code that is not instrumented.
#pragma once

#include <cstdint>

namespace pmemsim::rt {

void configure_stepping();
void stop_stepping();
// While an instance exists, the runtime's own instructions don't count as instructions of the
// external code that called it.
class NotStepping {
 public:
  NotStepping();
  ~NotStepping();
  NotStepping(const NotStepping&) = delete;
  NotStepping& operator=(const NotStepping&) = delete;

 private:
  bool was_stepping_;
};
const char* external_method();  // name of the counting method, for the metadata
void put_external(std::uint64_t instructions);

}  // namespace pmemsim::rt
