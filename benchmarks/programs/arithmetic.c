/* arithmetic: multiplies and divides numbers that it reads from 16 KiB, and branches by what comes
 * out, which can't be predicted. An operation is one number. */
#include "measured.h"

enum { NUMBERS = 2048 };

static uint64_t numbers[NUMBERS];

static void set_up(void) {
  for (int i = 0; i < NUMBERS; ++i) numbers[i] = random_number();
}

static void repeat(void) {
  uint64_t state = random_number() | 1;
  uint64_t counted = 0;
  for (uint64_t i = 0; i < options.operations; ++i) {
    state = (state ^ numbers[i % NUMBERS]) * 0x2545f4914f6cdd1du;
    if (state >> 63) {
      const uint32_t divisor = (uint32_t)(state >> 40) | 1;
      counted += (uint32_t)state / divisor;
      use(counted); /* so that the branch stays one */
    } else {
      state ^= state >> 29;
    }
  }
  use(state + counted);
}

int main(int count, char** arguments) { return measure(count - 1, arguments + 1); }
