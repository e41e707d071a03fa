/* An interpreter whose switch is a jump through a table. "shuffled": its program's instructions are
 * in random order. */
#include "measured.h"
enum { LENGTH = 65536 };
static uint8_t program[LENGTH];
static uint64_t memory[64];

static void set_up(void) {
  for (int i = 0; i < LENGTH; ++i) {
    program[i] = (uint8_t)(options.shuffled ? random_number() % 8 : (uint64_t)i * 8 / LENGTH);
  }
}

static void repeat(void) {
  uint64_t x = 1, y = 2;
  for (uint64_t i = 0; i < options.operations; ++i) {
    switch (program[i % LENGTH]) {
      case 0:
        x += y;
        break;
      case 1:
        y ^= x >> 3;
        break;
      case 2:
        memory[i & 63] = x;
        break;
      case 3:
        y += memory[i & 31];
        break;
      case 4:
        x = x << 1 | y >> 63;
        break;
      case 5:
        x -= 3 * y;
        break;
      case 6:
        memory[y & 63] ^= i;
        break;
      case 7:
        y = ~y;
        break;
    }
  }
  use(x + y);
}

int main(int count, char** arguments) { return measure(count - 1, arguments + 1); }
