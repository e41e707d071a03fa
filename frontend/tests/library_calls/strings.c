// String functions on words and on lines, most of them short as in most programs.
#include <pmemsim/pm.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static char text[64][1024], copy[2048];

int main(void) {
  unsigned x = 7;
  volatile long sum = 0;
  for (int i = 0; i < 64; ++i) {
    const int length = i < 40 ? i : i < 60 ? 2 * i : 900;
    for (int k = 0; k < length; ++k) text[i][k] = "etaoin shrdlu"[k % 13];
  }
  pm_roi_begin();
  for (int round = 0; round < 3000; ++round) {
    x = x * 1103515245u + 12345u;
    const char *a = text[x >> 26], *b = text[(x >> 20) % 64];
    const size_t length = strlen(a);
    sum += (long)length + strcmp(a, b) + strncmp(a, b, 20) + memcmp(a, b, length / 2);
    sum += strchr(a, 's') != NULL;
    sum += strrchr(a, 'x') != NULL;
    sum += memchr(a, 'z', length) != NULL;
    sum += strstr(a, "shrdle") != NULL;
    sum += strcasecmp(a, b);
    sum += (long)(strspn(a, "etaoin") + strcspn(a, "u"));
    strcpy(copy, a);
    strcat(copy, " and ");
    strncat(copy, b, 30);
    char* again = strdup(copy);
    char* rest = NULL;
    for (char* word = strtok_r(again, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest))
      sum += *word;
    free(again);
  }
  pm_roi_end();
  return sum == 42;
}
