// Clocks and sleeping. The program sees virtual time, so that it measures and waits the same in
// every recording. The clock advances one nanosecond with each instruction of any thread, and by
// sleeping.
#include "virtual_clock.hpp"

#include "exported.hpp"
#include "objects.hpp"
#include "real.hpp"
#include "reserved_memory.hpp"
#include "scheduler.hpp"
#include "status.hpp"

#include <cerrno>

#include <sys/time.h>
#include <unistd.h>

namespace pmemsim::rt {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
// The clocks' values when the program starts: 1 January 2026, and an hour after booting.
constexpr std::uint64_t kRealTimeStart = 1'767'225'600 * kSecond;
constexpr std::uint64_t kMonotonicStart = 3'600 * kSecond;
constexpr std::int64_t kReadInstructions = 30;  // charged to the turn for reading a clock

Map<clockid_t> condition_clocks;  // clock plus one; only clocks other than the real-time clock

bool is_virtual(clockid_t clock) {
  switch (clock) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
    case CLOCK_TAI:
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_RAW:
    case CLOCK_MONOTONIC_COARSE:
    case CLOCK_BOOTTIME:
    case CLOCK_PROCESS_CPUTIME_ID:
    case CLOCK_THREAD_CPUTIME_ID:
      return true;
    default:
      return false;
  }
}

std::uint64_t start_of(clockid_t clock) {
  switch (clock) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
    case CLOCK_TAI:
      return kRealTimeStart;
    case CLOCK_PROCESS_CPUTIME_ID:
    case CLOCK_THREAD_CPUTIME_ID:
      return 0;
    default:
      return kMonotonicStart;
  }
}

std::uint64_t read_clock(clockid_t clock) {
  charge(kReadInstructions);
  return start_of(clock) + now();
}

void sleep_until(std::uint64_t deadline) {
  pthread_testcancel();
  block("the end of its sleep", nullptr, deadline);
  pthread_testcancel();
}

}  // namespace

std::uint64_t nanoseconds(const timespec& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * kSecond +
         static_cast<std::uint64_t>(time.tv_nsec);
}

std::uint64_t deadline_of(clockid_t clock, const timespec& time) {
  const std::uint64_t shown = time.tv_sec < 0 ? 0 : nanoseconds(time);
  const std::uint64_t start = start_of(clock);
  return shown > start ? shown - start : 1;
}

void note_clock(pthread_cond_t* condition, const pthread_condattr_t* attributes) {
  clockid_t clock = CLOCK_REALTIME;
  if (attributes != nullptr) pthread_condattr_getclock(attributes, &clock);
  const std::uint64_t key = reinterpret_cast<std::uintptr_t>(condition);
  if (clock != CLOCK_REALTIME || condition_clocks.find(key) != nullptr) {
    condition_clocks[key] = clock + 1;
  }
}

clockid_t clock_of(pthread_cond_t* condition) {
  const clockid_t* found = condition_clocks.find(reinterpret_cast<std::uintptr_t>(condition));
  return found != nullptr && *found != 0 ? *found - 1 : CLOCK_REALTIME;
}

}  // namespace pmemsim::rt

using namespace pmemsim::rt;

PMEMSIM_EXPORT int clock_gettime(clockid_t clock, timespec* time) noexcept {
  if (!active() || !is_virtual(clock)) return real.clock_gettime(clock, time);
  const std::uint64_t shown = read_clock(clock);
  time->tv_sec = static_cast<time_t>(shown / kSecond);
  time->tv_nsec = static_cast<long>(shown % kSecond);
  return 0;
}
PMEMSIM_EXPORT int gettimeofday(timeval* time, void* zone) noexcept {
  if (!active()) return real.gettimeofday(time, zone);
  const std::uint64_t shown = read_clock(CLOCK_REALTIME);
  time->tv_sec = static_cast<time_t>(shown / kSecond);
  time->tv_usec = static_cast<suseconds_t>(shown % kSecond / 1000);
  return 0;
}
PMEMSIM_EXPORT time_t time(time_t* result) noexcept {
  if (!active()) return real.time(result);
  const auto shown = static_cast<time_t>(read_clock(CLOCK_REALTIME) / kSecond);
  if (result != nullptr) *result = shown;
  return shown;
}
PMEMSIM_EXPORT unsigned sleep(unsigned seconds) {
  if (!active()) return real.sleep(seconds);
  sleep_until(now() + seconds * kSecond);
  return 0;
}
PMEMSIM_EXPORT int usleep(useconds_t microseconds) {
  if (!active()) return real.usleep(microseconds);
  sleep_until(now() + microseconds * std::uint64_t{1000});
  return 0;
}
PMEMSIM_EXPORT int nanosleep(const timespec* time, timespec* left) {
  if (!active()) return real.nanosleep(time, left);
  sleep_until(now() + nanoseconds(*time));
  return 0;
}
PMEMSIM_EXPORT int clock_nanosleep(clockid_t clock, int flags, const timespec* time,
                                   timespec* left) {
  if (!active() || !is_virtual(clock)) return real.clock_nanosleep(clock, flags, time, left);
  sleep_until((flags & TIMER_ABSTIME) != 0 ? deadline_of(clock, *time)
                                           : now() + nanoseconds(*time));
  return 0;
}
