/* Switches of all shapes that the code generator distinguishes. */
#include <stdint.h>
#include <stdio.h>

static volatile unsigned sink;
#define FUNCTION __attribute__((noinline)) static void
/* The text keeps the optimizer from merging the cases, or from making a table of their values. */
#define DO(number)                        \
  sink += (number);                       \
  __asm__ volatile("# case " #number ::); \
  break

FUNCTION three_ways(int x) {
  switch (x) {
    case 0:
      DO(1);
    case 1:
      DO(2);
    default:
      DO(3);
  }
}
FUNCTION table(int x) {
  switch (x) {
    case 3:
      DO(1);
    case 4:
      DO(2);
    case 5:
      DO(3);
    case 6:
      DO(4);
    case 7:
      DO(5);
    case 8:
      DO(6);
    default:
      DO(7);
  }
}
FUNCTION table_with_holes(long x) {
  switch (x) {
    case -7:
      DO(1);
    case -5:
      DO(2);
    case -2:
      DO(3);
    case 1:
      DO(4);
    case 6:
      DO(5);
    case 9:
      DO(6);
    case 14:
      DO(7);
    case 15:
      DO(8);
    default:
      DO(9);
  }
}
FUNCTION table_without_default(unsigned x) {
  switch (x % 8) {
    case 0:
      DO(1);
    case 1:
      DO(2);
    case 2:
      DO(3);
    case 3:
      DO(4);
    case 4:
      DO(5);
    case 5:
      DO(6);
    case 6:
      DO(7);
    case 7:
      DO(8);
    default:
      __builtin_unreachable();
  }
}
FUNCTION sparse(int x) {
  switch (x) {
    case 2:
      DO(1);
    case 50:
      DO(2);
    case 101:
      DO(3);
    case 1000:
      DO(4);
    case 5000:
      DO(5);
    case 70000:
      DO(6);
    case 200:
      DO(7);
    case 151:
      DO(8);
    case 99999:
      DO(9);
    case -1:
      DO(10);
    default:
      DO(11);
  }
}
FUNCTION tables_and_others(unsigned long x) {
  switch (x) {
    case 0:
      DO(1);
    case 1:
      DO(2);
    case 2:
      DO(3);
    case 3:
      DO(4);
    case 4:
      DO(5);
    case 1000:
      DO(6);
    case 1001:
      DO(7);
    case 1002:
      DO(8);
    case 1003:
      DO(9);
    case 1004:
      DO(10);
    case 1006:
      DO(11);
    case 123456789012:
      DO(12);
    default:
      DO(13);
  }
}
FUNCTION ranges(int x) {
  switch (x) {
    case -2147483647 - 1 ... - 100:
      DO(1);
    case 10 ... 20:
      DO(2);
    case 100 ... 199:
      DO(3);
    case 200 ... 250:
      DO(4);
    default:
      DO(5);
  }
}
FUNCTION bits(char x) {
  switch (x) {
    case 'a':
    case 'e':
    case 'i':
    case 'o':
    case 'u':
    case 'y':
      DO(1);
    default:
      DO(2);
  }
}
FUNCTION bits_of_two_targets(int x) {
  switch (x) {
    case 1:
    case 4:
    case 9:
    case 16:
    case 25:
      DO(1);
    case 2:
    case 3:
    case 5:
    case 23:
    case 29:
      DO(2);
    default:
      DO(3);
  }
}
FUNCTION wide_bits(unsigned long x) {
  switch (x) {
    case 0:
    case 33:
    case 40:
    case 63:
      DO(1);
    default:
      DO(2);
  }
}
FUNCTION all_but_one(int x) {
  switch (x) {
    case 0:
    case 1:
    case 2:
    case 4:
    case 5:
    case 6:
      DO(1);
    default:
      DO(2);
  }
}
FUNCTION two_values(int x) {
  switch (x) {
    case 4:
    case 6:
      DO(1);
    default:
      DO(2);
  }
}
FUNCTION likely(int x) {
  switch (__builtin_expect(x, 17)) {
    case 1:
      DO(1);
    case 17:
      DO(2);
    case 40:
      DO(3);
    case 90:
      DO(4);
    case 200:
      DO(5);
    case 250:
      DO(6);
    default:
      DO(7);
  }
}
FUNCTION small_type(uint8_t x) {
  switch (x) {
    case 250:
      DO(1);
    case 251:
      DO(2);
    case 252:
      DO(3);
    case 253:
      DO(4);
    case 128:
      DO(5);
    default:
      DO(6);
  }
}
FUNCTION with_phis(int x) {
  unsigned y = 3;
  switch (x) {
    case 0:
      y = sink;
      DO(1);
    case 7:
      y = sink + 1;
      DO(2);
    case 15:
      y = sink * 3;
      DO(3);
    case 31:
      y = 9;
      DO(4);
    case 40:
    case 41:
      y = sink ^ 5;
      DO(5);
  }
  sink = y;
}

int main(void) {
  static void (*const small[])(int) = {three_ways,  sparse,     ranges, bits_of_two_targets,
                                       all_but_one, two_values, likely, with_phis,
                                       table};
  for (int x = -150; x < 300; ++x) {
    for (unsigned i = 0; i < sizeof small / sizeof *small; ++i) small[i](x);
    table_with_holes(x);
    table_without_default((unsigned)x);
    tables_and_others((unsigned long)x);
    tables_and_others((unsigned long)(x + 1000));
    bits((char)x);
    wide_bits((unsigned long)x);
    small_type((uint8_t)x);
  }
  sparse(70000), sparse(99999), sparse(5000), sparse(1000);
  tables_and_others(123456789012);
  printf("%u\n", sink);
  return 0;
}
