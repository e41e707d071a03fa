#include "once.h"

int pmemsim_rt_call_once(int (*once)(pthread_once_t*, void (*)(void)), pthread_once_t* control,
                         void (*routine)(void)) {
  __attribute__((cleanup(pmemsim_rt_once_over))) pthread_once_t* const running = control;
  return once(running, routine);
}
