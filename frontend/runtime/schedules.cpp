#include "schedules.hpp"

#include "status.hpp"

#include <cerrno>
#include <cstdlib>
#include <iterator>

namespace pmemsim::rt {

Schedule schedule;

namespace {

constexpr std::uint64_t kOneIn[] = {2, 8, 32, 128};  // rule 2

std::uint64_t state = 0;

// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators. OOPSLA 2014).
std::uint64_t mix(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}
std::uint64_t next_number() { return mix(state += 0x9e3779b97f4a7c15); }

}  // namespace

bool take_number(const char*& text, std::uint64_t& number) {
  if (*text < '0' || *text > '9') return false;
  char* end = nullptr;
  errno = 0;
  number = std::strtoull(text, &end, 10);
  text = end;
  return errno == 0;
}

void configure_schedule() {
  const char* const given = std::getenv("PMEMSIM_SCHEDULE");
  if (given == nullptr) return;
  const char* text = given;
  if (!take_number(text, schedule.number) || *text++ != ':' || !take_number(text, schedule.seed) ||
      *text != '\0') {
    fail("PMEMSIM_SCHEDULE is \"%s\"; it must be a schedule's number and a seed, as in 3:1", given);
  }
  state = mix(schedule.seed) + schedule.number;
}

std::uint64_t draw(std::uint64_t count) { return next_number() % count; }

bool ends_turn_here() { return draw(kOneIn[(schedule.number - 1) % std::size(kOneIn)]) == 0; }

}  // namespace pmemsim::rt
