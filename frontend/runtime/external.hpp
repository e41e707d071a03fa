// Code that is not instrumented.
#pragma once

#include <cstdint>

namespace pmemsim::rt {

void configure_stepping();
void stop_stepping();
// While an instance exists, instructions that the runtime executes inside external code don't count
// as that code's.
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
