// The processors that the program may run on.
#pragma once

namespace pmemsim::rt {

int usable_processors();
// Runs the calling thread, and those that it creates, on one processor from now on.
void share_processor();
void stop_sharing_processor();

}  // namespace pmemsim::rt
