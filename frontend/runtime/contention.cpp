#include "contention.hpp"

#include "scheduler.hpp"
#include "schedules.hpp"
#include "thread.hpp"

namespace pmemsim::rt {
namespace {

// Periods of 1024 instructions, so that times take 32 bits; there may be millions of atomic
// variables.
constexpr unsigned kPeriodShift = 10;
// About a million instructions, of all threads. If threads use an object less often than this, only
// one use in hundreds is within the length of another thread's turn (thousands of instructions).
constexpr std::uint32_t kCountedPeriods = 1000;

std::uint32_t period() { return static_cast<std::uint32_t>(now() >> kPeriodShift); }

bool used_by_others(const Users& users) {
  const bool own = users.last == self->index + 1;
  return period() < (own ? users.others_count_until : users.last_counts_until);
}

}  // namespace

void end_turn_if_contended(const Users& users) {
  if (walks_at_random()) {
    if (ends_turn_here()) let_others_catch_up();
    return;
  }
  if (used_by_others(users) && is_ahead()) let_others_catch_up();
}

void note_use(Users& users) {
  if (users.last != self->index + 1) users.others_count_until = users.last_counts_until;
  users.last = self->index + 1;
  users.last_counts_until = period() + kCountedPeriods;
}

}  // namespace pmemsim::rt
