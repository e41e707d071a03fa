// Elementary functions, of double and of float.
#include <math.h>
#include <pmemsim/pm.h>

int main(void) {
  volatile double sum = 0, step = 0.37;
  volatile float sums = 0;
  pm_roi_begin();
  for (int i = 1; i < 2000; ++i) {
    const double x = i * step;
    sum = sum + sin(x) + cos(x) + tan(x / 100) + atan2(x, 3);
    sum = sum + exp(x / 200) + log(x) + pow(x, 1.5) + log10(x) + cbrt(x) + tanh(x / 400);
    sum = sum + fmod(x, 3) + hypot(x, 2) + erf(x / 500) + asin(x / 800);
    sums = sums + sinf((float)x) + expf((float)x / 100) + powf((float)x, 0.7f) + logf((float)x);
  }
  pm_roi_end();
  return sum == 42;
}
