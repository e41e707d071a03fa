/* An interpreter whose instructions jump to the next one's code. "shuffled": its program's
 * instructions are in random order. */
#include "measured.h"
enum { LENGTH = 65536 };
static uint8_t program[LENGTH];
static uint64_t memory[64];

static void set_up(void) {
  for (int i = 0; i < LENGTH; ++i) {
    program[i] = (uint8_t)(options.shuffled ? random_number() % 6 : (uint64_t)i * 6 / LENGTH);
  }
}

static void repeat(void) {
  static const void* const codes[] = {&&add, &&xor, &&store, &&load, &&shift, &&invert};
  uint64_t x = 1, y = 2, i = 0;
#define NEXT                              \
  if (++i > options.operations) goto end; \
  goto* codes[program[i % LENGTH]]
  NEXT;
add:
  x += y;
  NEXT;
  xor : y ^= x >> 3;
  NEXT;
store:
  memory[i & 63] = x;
  NEXT;
load:
  y += memory[i & 31];
  NEXT;
shift:
  x = x << 1 | y >> 63;
  NEXT;
invert:
  y = ~y;
  NEXT;
end:
  use(x + y);
}

int main(int count, char** arguments) { return measure(count - 1, arguments + 1); }
