// Formatted output of integers, strings and floating-point numbers, to memory and to a file.
#include <pmemsim/pm.h>
#include <stdio.h>

int main(void) {
  char line[256];
  long sum = 0;
  int number = 0;
  pm_roi_begin();
  for (int i = 0; i < 300; ++i) {
    sum += snprintf(line, sizeof line, "%d %s %f", i, "abc", i * 0.5);
    sum += snprintf(line, sizeof line, "key%08d", i);
    sum += sprintf(line, "{\"name\": \"%s\", \"value\": %.3f, \"at\": %p}", "a longer name",
                   i / 7.0, (void*)line);
    sum += printf("%-20s%10ld %5.1f%% 0x%x\n", "another name", sum, i / 3.0, i);
    sum += fprintf(stdout, "line %d of %d: a text without more\n", i, 300);
    sum += sscanf("17 by 23", "%d", &number);
    puts("a line of text");
    fputs("more text\n", stdout);
    putchar('\n');
  }
  pm_roi_end();
  return sum == 42;
}
