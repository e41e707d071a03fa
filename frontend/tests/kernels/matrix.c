// Matrices: products, a transposition, an elimination, a stencil.
#include <stdio.h>

enum { SIZE = 24 };
static double a[SIZE][SIZE], b[SIZE][SIZE], c[SIZE][SIZE];
static int x[SIZE][SIZE], y[SIZE][SIZE];

__attribute__((noinline)) static void multiply(void) {
  for (int i = 0; i < SIZE; ++i) {
    for (int j = 0; j < SIZE; ++j) {
      double sum = 0;
      for (int k = 0; k < SIZE; ++k) sum += a[i][k] * b[k][j];
      c[i][j] = sum;
    }
  }
}

__attribute__((noinline)) static void transpose(void) {
  for (int i = 0; i < SIZE; ++i) {
    for (int j = 0; j < i; ++j) {
      const double other = a[i][j];
      a[i][j] = a[j][i];
      a[j][i] = other;
    }
  }
}

__attribute__((noinline)) static double eliminate(void) {
  double determinant = 1;
  for (int i = 0; i < SIZE; ++i) {
    determinant *= c[i][i];
    for (int j = i + 1; j < SIZE; ++j) {
      const double factor = c[j][i] / c[i][i];
      for (int k = i; k < SIZE; ++k) c[j][k] -= factor * c[i][k];
    }
  }
  return determinant;
}

__attribute__((noinline)) static void blur(void) {
  for (int i = 1; i < SIZE - 1; ++i) {
    for (int j = 1; j < SIZE - 1; ++j) {
      y[i][j] = (4 * x[i][j] + x[i - 1][j] + x[i + 1][j] + x[i][j - 1] + x[i][j + 1]) >> 3;
    }
  }
  for (int i = 0; i < SIZE; ++i) {
    for (int j = 0; j < SIZE; ++j) x[i][j] += y[i][j];
  }
}

int main(void) {
  for (int i = 0; i < SIZE; ++i) {
    for (int j = 0; j < SIZE; ++j) {
      a[i][j] = (i * 7 + j * 3) % 11 + (i == j ? 20 : 0);
      b[i][j] = (i + 2 * j) % 5 + (i == j ? 10 : 0);
      x[i][j] = i * j % 100;
    }
  }
  multiply();
  transpose();
  multiply();
  const double determinant = eliminate();
  int sum = 0;
  for (int i = 0; i < 20; ++i) blur();
  for (int i = 0; i < SIZE; ++i) sum += x[i][SIZE - 1 - i];
  printf("%g %d\n", determinant, sum);
  return 0;
}
