/* Distinguishes three kinds of data by equality; the compiler makes a switch of it. "shuffled": the
 * kinds are in random order. */
#include "measured.h"
enum { KINDS = 65536 };
static uint8_t kinds[KINDS];
static uint64_t sums[3][64];

static void set_up(void) {
  for (int i = 0; i < KINDS; ++i) {
    kinds[i] = (uint8_t)(options.shuffled ? random_number() % 3 : (uint64_t)i * 3 / KINDS);
  }
}

static void repeat(void) {
  uint64_t sum = 0;
  for (uint64_t i = 0; i < options.operations; ++i) {
    const int kind = kinds[i % KINDS];
    if (kind == 0) {
      sums[0][i & 63] += i;
    } else if (kind == 1) {
      sums[1][(i >> 3) & 63] ^= sum;
      sum += 3;
    } else {
      sum ^= sums[2][sum & 63];
    }
  }
  use(sum);
}

int main(int count, char** arguments) { return measure(count - 1, arguments + 1); }
