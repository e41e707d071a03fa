// Functions that call themselves and each other.
#include <stdio.h>

__attribute__((noinline)) static unsigned fibonacci(unsigned n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

static unsigned ackermann(unsigned m, unsigned n) {
  if (m == 0) return n + 1;
  if (n == 0) return ackermann(m - 1, 1);
  return ackermann(m - 1, ackermann(m, n - 1));
}

static unsigned moves;
static void hanoi(int discs, int from, int to, int by) {
  if (discs == 0) return;
  hanoi(discs - 1, from, by, to);
  ++moves;
  hanoi(discs - 1, by, to, from);
}

static unsigned queens(unsigned row, unsigned columns, unsigned left, unsigned right,
                       unsigned size) {
  if (row == size) return 1;
  unsigned solutions = 0;
  for (unsigned column = 0; column < size; ++column) {
    const unsigned bit = 1u << column;
    if ((columns | left | right) & bit) continue;
    solutions += queens(row + 1, columns | bit, (left | bit) << 1, (right | bit) >> 1, size);
  }
  return solutions;
}

static int is_odd(unsigned n);
__attribute__((noinline)) static int is_even(unsigned n) { return n == 0 ? 1 : is_odd(n - 1); }
__attribute__((noinline)) static int is_odd(unsigned n) { return n == 0 ? 0 : is_even(n - 1); }

int main(void) {
  hanoi(10, 0, 1, 2);
  printf("%u %u %u %u %d\n", fibonacci(17), ackermann(2, 20), moves, queens(0, 0, 0, 0, 6),
         is_even(501));
  return 0;
}
