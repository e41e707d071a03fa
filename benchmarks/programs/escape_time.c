/* escape_time: iterates z * z + c for points of the complex plane, in double precision, up to 64
 * times or until it leaves a circle. An operation is one point. */
#include "measured.h"

enum { SIDE = 128, LIMIT = 64 };

static uint64_t iterations;

static void set_up(void) {}

static void repeat(void) {
  for (uint64_t i = 0; i < options.operations; ++i) {
    const double real = -2.0 + 2.5 * (double)(i % SIDE) / SIDE;
    const double imaginary = -1.25 + 2.5 * (double)(i / SIDE % SIDE) / SIDE;
    double x = 0, y = 0;
    int steps = 0;
    for (; steps < LIMIT && x * x + y * y < 4; ++steps) {
      const double old = x;
      x = x * x - y * y + real;
      y = 2 * old * y + imaginary;
    }
    iterations += (uint64_t)steps;
  }
  use(iterations);
}

int main(int count, char** arguments) { return measure(count - 1, arguments + 1); }
