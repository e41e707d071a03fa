// Functions on strings: the program's own ones, and the C library's.
#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const char text[] =
    "It is a truth universally acknowledged, that a single man in possession of a good fortune, "
    "must be in want of a wife. However little known the feelings or views of such a man may be on "
    "his first entering a neighbourhood, this truth is so well fixed in the minds of the "
    "surrounding families, that he is considered as the rightful property of some one or other of "
    "their daughters.";

static int find(const char* where, const char* what) {
  for (int at = 0; where[at] != '\0'; ++at) {
    int i = 0;
    while (what[i] != '\0' && where[at + i] == what[i]) ++i;
    if (what[i] == '\0') return at;
  }
  return -1;
}

static int is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

static unsigned count_words(const char* at, unsigned* lengths) {
  unsigned words = 0;
  while (*at != '\0') {
    unsigned length = 0;
    while (is_letter(*at)) ++at, ++length;
    if (length > 0) {
      ++words;
      ++lengths[length < 15 ? length : 15];
    } else {
      ++at;
    }
  }
  return words;
}

static void reverse_words(char* at) {
  while (*at != '\0') {
    char* end = at;
    while (*end != '\0' && *end != ' ') ++end;
    for (char *left = at, *right = end - 1; left < right; ++left, --right) {
      const char c = *left;
      *left = *right;
      *right = c;
    }
    at = *end == ' ' ? end + 1 : end;
  }
}

static unsigned distance(const char* a, const char* b) {
  unsigned row[64];
  const unsigned columns = (unsigned)strlen(b);
  for (unsigned j = 0; j <= columns; ++j) row[j] = j;
  for (unsigned i = 1; a[i - 1] != '\0'; ++i) {
    unsigned diagonal = row[0];
    row[0] = i;
    for (unsigned j = 1; j <= columns; ++j) {
      const unsigned above = row[j];
      unsigned best = diagonal + (a[i - 1] != b[j - 1]);
      if (above + 1 < best) best = above + 1;
      if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
      row[j] = best;
      diagonal = above;
    }
  }
  return row[columns];
}

int main(void) {
  unsigned lengths[16] = {0}, sum = 0;
  char copy[sizeof text];
  for (int i = 0; i < 20; ++i) {
    sum += (unsigned)find(text, "daughters") + (unsigned)find(text, "nowhere");
    sum += count_words(text, lengths);
    strcpy(copy, text);
    reverse_words(copy);
    sum = sum * 31 + (unsigned char)copy[sum % sizeof text];
    for (char* c = copy; *c != '\0'; ++c) *c = (char)toupper((unsigned char)*c);
    sum += (unsigned)find(copy, "HTURT");
    sum += distance("universally acknowledged", "considered as the rightful");
  }
  for (int i = 0; i < 16; ++i) sum = sum * 7 + lengths[i];
  printf("%u\n", sum);
  return 0;
}
