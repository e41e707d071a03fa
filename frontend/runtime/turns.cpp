// Records which thread ran when, so that the recording also orders accesses that no lock or atomic
// variable orders.
#include "turns.hpp"

#include "output.hpp"
#include "record.hpp"
#include "scheduler.hpp"
#include "thread.hpp"

namespace pmemsim::rt {
namespace {

constexpr std::uint32_t kMaxTurns = kBufferBytes / sizeof(trace::Turn);

void submit_turns(Thread& thread) {
  if (thread.turn_count > 0) {
    thread.turns_end = thread.turns[thread.turn_count - 1].end;
    submit(trace::FrameKind::kTurns, thread.index, reinterpret_cast<std::uint8_t*>(thread.turns),
           thread.turn_count * sizeof(trace::Turn), 0);
    thread.turns = nullptr;
  }
  thread.turn_count = 0;
  make_records_final(thread);
}

// Returns the position at which a turn of the thread began: turn `count` of those that aren't in a
// frame yet.
std::uint64_t begin_of(const Thread& thread, std::uint32_t count) {
  return count == 0 ? thread.turns_end : thread.turns[count - 1].end;
}

}  // namespace

void note_turn(Thread& thread, std::uint64_t number) {
  const std::uint64_t end = recorded_operations(thread);
  if (end <= begin_of(thread, thread.turn_count)) return;
  if (thread.turn_count == kMaxTurns) submit_turns(thread);
  if (thread.turns == nullptr) thread.turns = reinterpret_cast<trace::Turn*>(take_buffer());
  thread.turns[thread.turn_count++] = {number, end};
}

void shorten_turns() {
  const std::uint64_t end = recorded_operations(*self);
  while (self->turn_count > 0 && begin_of(*self, self->turn_count - 1) >= end) --self->turn_count;
  if (self->turn_count == 0) return;
  trace::Turn& last = self->turns[self->turn_count - 1];
  if (last.end > end) last.end = end;
}

void forget_turns() {
  self->turns = nullptr;
  self->turn_count = 0;
  self->turns_end = recorded_operations(*self);
}

void write_turns() {
  if (threads.size() == 1) return;
  note_turn(*self, turn_number());
  for (Thread* thread : threads) submit_turns(*thread);
}

}  // namespace pmemsim::rt
