// Arithmetic with floating-point numbers: bodies that attract each other, polynomials, Newton's
// method, the Mandelbrot set.
#include <math.h>
#include <stdio.h>

typedef struct {
  double x[3], v[3], mass;
} Body;

static void advance(Body* bodies, int count, double step) {
  for (int i = 0; i < count; ++i) {
    for (int j = i + 1; j < count; ++j) {
      double d[3], square = 0.01;
      for (int k = 0; k < 3; ++k) {
        d[k] = bodies[i].x[k] - bodies[j].x[k];
        square += d[k] * d[k];
      }
      const double factor = step / (square * sqrt(square));
      for (int k = 0; k < 3; ++k) {
        bodies[i].v[k] -= d[k] * bodies[j].mass * factor;
        bodies[j].v[k] += d[k] * bodies[i].mass * factor;
      }
    }
  }
  for (int i = 0; i < count; ++i) {
    for (int k = 0; k < 3; ++k) bodies[i].x[k] += step * bodies[i].v[k];
  }
}

static double polynomial(const double* factors, int count, double x) {
  double y = 0;
  for (int i = 0; i < count; ++i) y = y * x + factors[i];
  return y;
}

static double cube_root(double x) {
  double y = x > 1 ? x : 1;
  for (int i = 0; i < 50; ++i) {
    const double next = (2 * y + x / (y * y)) / 3;
    if (fabs(next - y) < 1e-12) return next;
    y = next;
  }
  return y;
}

static int mandelbrot(float real, float imaginary) {
  float x = 0, y = 0;
  int rounds = 0;
  while (x * x + y * y < 4.0f && rounds < 60) {
    const float next = x * x - y * y + real;
    y = 2 * x * y + imaginary;
    x = next;
    ++rounds;
  }
  return rounds;
}

int main(void) {
  Body bodies[5];
  for (int i = 0; i < 5; ++i) {
    bodies[i] = (Body){{i, i * i % 3, 1.0 / (i + 1)}, {0.1 * i, -0.05 * i, 0}, 1.0 + i};
  }
  for (int i = 0; i < 150; ++i) advance(bodies, 5, 0.001);
  const double factors[] = {0.3, -1.2, 2.5, 0.7, -0.1, 4};
  double sum = bodies[2].x[1];
  for (int i = 0; i < 500; ++i) sum += polynomial(factors, 6, i * 0.001) + cube_root(i);
  int rounds = 0;
  for (int i = 0; i < 20; ++i) {
    for (int j = 0; j < 20; ++j) rounds += mandelbrot(i * 0.12f - 1.6f, j * 0.1f - 1.0f);
  }
  printf("%.9f %d\n", sum, rounds);
  return 0;
}
