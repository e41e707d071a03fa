// Other processes: children, and the recorder.
#pragma once

#include <cstddef>

#include <alloca.h>

namespace pmemsim::rt {

// True if this process is recorded. If not, a note for the user has been written; children of a
// recorded process write such notes, too.
bool is_to_be_recorded();
void find_recorder();
// True if the process `pmemsim record` lives, or if its process number is unknown.
bool recorder_lives();
void note_fork();  // called in the child
void note_exec();  // called for a child that becomes another program
// Return the environment for programs that a recorded process starts; instrumented ones find in it
// where to note that they ran. `space` has the number of bytes that the first function returns.
std::size_t bytes_of_childs_environment(char* const* environment);
char** childs_environment(char* const* environment, void* space);
#define PMEMSIM_CHILDS_ENVIRONMENT(environment) \
  childs_environment(environment, alloca(bytes_of_childs_environment(environment)))

}  // namespace pmemsim::rt
