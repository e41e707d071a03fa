// Calls pthread_once() with a routine that may throw. This file is C, compiled with exceptions,
// because the rest of the runtime is compiled without.
#pragma once

#include <pthread.h>

#ifdef __cplusplus
extern "C" {
#endif

// Calls once(control, routine), then, even if the routine throws, pmemsim_rt_once_over(&control).
int pmemsim_rt_call_once(int (*once)(pthread_once_t*, void (*)(void)), pthread_once_t* control,
                         void (*routine)(void));
void pmemsim_rt_once_over(pthread_once_t* const* control);

#ifdef __cplusplus
}
#endif
