// Other processes: children, and the recorder.
#pragma once

#include <cstddef>

#include <alloca.h>

namespace pmemsim::rt {

// If not, it has been noted for the user, as what children of a recorded process do is.
bool is_to_be_recorded();
void find_recorder();
// `pmemsim record`, if it is known which process that is.
bool recorder_lives();
void note_fork();  // in the child
void note_exec();  // of a child that becomes another program
// The environment for what a recorded process starts, in which instrumented programs find where to
// note that they ran. `room` has the bytes that the first function says.
std::size_t bytes_of_childs_environment(char* const* environment);
char** childs_environment(char* const* environment, void* room);
#define PMEMSIM_CHILDS_ENVIRONMENT(environment) \
  childs_environment(environment, alloca(bytes_of_childs_environment(environment)))

}  // namespace pmemsim::rt
