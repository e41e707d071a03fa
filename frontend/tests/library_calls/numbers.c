// Numbers from texts, random numbers and classes of characters.
#include <ctype.h>
#include <pmemsim/pm.h>
#include <stdlib.h>

int main(void) {
  static const char* const texts[] = {"7", "1234", "99999", "-12", "123456789", "42", "65536"};
  static const char* const reals[] = {"1.5", "3.14159", "1e10", "0.001", "2718.28"};
  volatile double sum = 0;
  pm_roi_begin();
  for (int i = 0; i < 3000; ++i) {
    char* end = NULL;
    sum = sum + atoi(texts[i % 7]) + (double)strtol(texts[(i + 3) % 7], &end, 10);
    sum = sum + (double)strtoul(texts[(i + 1) % 3], &end, 10) + strtod(reals[i % 5], &end);
    sum = sum + rand() + (double)random() + drand48();
    sum = sum + toupper(i % 100) + isalpha(i % 100);
  }
  pm_roi_end();
  return sum == 42;
}
