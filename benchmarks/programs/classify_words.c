/* classify_words: counts words, numbers and signs of a random text of 1 MiB, byte by byte. An
 * operation is one byte. */
#include "measured.h"

enum { BYTES = 1 << 20 };

static char* text;
static uint64_t next, words, numbers, signs;

static void set_up(void) {
  static const char letters[] = "etaoin  shrdlu 0123456789 +-*/ ETAOIN .,;";
  text = volatile_memory(BYTES);
  for (int i = 0; i < BYTES; ++i) text[i] = letters[random_number() % (sizeof letters - 1)];
}

static void repeat(void) {
  int in_word = 0, in_number = 0;
  for (uint64_t i = 0; i < options.operations; ++i) {
    const char at = text[next++ % BYTES];
    if (at >= '0' && at <= '9') {
      if (!in_number && !in_word) ++numbers;
      in_number = 1;
    } else if ((at >= 'a' && at <= 'z') || (at >= 'A' && at <= 'Z')) {
      if (!in_word) ++words;
      in_word = 1;
    } else {
      if (at != ' ') ++signs;
      in_word = in_number = 0;
    }
  }
  use(words + numbers + signs);
}

int main(int count, char** arguments) { return measure(count - 1, arguments + 1); }
