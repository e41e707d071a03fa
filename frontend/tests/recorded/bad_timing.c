// Preloaded into a recorded program, makes rare timing frequent: the watchdog looks at the threads
// all the time, and now and then a thread wakes the next one late.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>

// The watchdog's pause; the program's own sleeps don't come here.
int nanosleep(const struct timespec* pause, struct timespec* left) {
  (void)pause, (void)left;
  return 0;
}

static long (*system_call)(long, ...);

static void wake_late(void) {
  static int wakes;
  const struct timespec late = {0, 2000000};
  if (__atomic_add_fetch(&wakes, 1, __ATOMIC_RELAXED) % 20 == 0) {
    system_call(SYS_nanosleep, &late, NULL);
  }
}

long syscall(long number, ...) {
  va_list list;
  va_start(list, number);
  long a[6];
  for (int i = 0; i < 6; ++i) a[i] = va_arg(list, long);
  va_end(list);
  if (system_call == NULL) system_call = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
  if (number == SYS_futex && a[1] == FUTEX_WAKE_PRIVATE) wake_late();
  return system_call(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
