/* matrix_rows: multiplies matrices of 64 x 64 integers modulo a prime. An operation is one element
 * of the product. */
#include "measured.h"

enum { SIDE = 64, PRIME = 1000003 };

static uint32_t a[SIDE][SIDE], b[SIDE][SIDE], product[SIDE][SIDE];

static void set_up(void) {
  for (int i = 0; i < SIDE; ++i) {
    for (int k = 0; k < SIDE; ++k) {
      a[i][k] = (uint32_t)(random_number() % PRIME);
      b[i][k] = (uint32_t)(random_number() % PRIME);
    }
  }
}

static void repeat(void) {
  for (uint64_t i = 0; i < options.operations; ++i) {
    const uint64_t row = i / SIDE % SIDE, column = i % SIDE;
    uint64_t sum = 0;
    for (int k = 0; k < SIDE; ++k) sum += (uint64_t)a[row][k] * b[k][column] % PRIME;
    product[row][column] = (uint32_t)(sum % PRIME);
  }
  use(product[SIDE - 1][SIDE - 1]);
}

int main(int count, char** arguments) { return measure(count - 1, arguments + 1); }
