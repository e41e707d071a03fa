// The processors that the program may run on.
#pragma once

namespace pmemsim::rt {

int usable_processors();
// From now on, runs the calling thread and the threads that it creates on one processor.
void share_processor();
void stop_sharing_processor();

}  // namespace pmemsim::rt
