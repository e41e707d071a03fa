/* Calls four functions through pointers. "shuffled": in random order. */
#include "measured.h"
enum { OBJECTS = 65536 };
typedef uint64_t function(uint64_t);
__attribute__((noinline)) static uint64_t add(uint64_t x) { return x + 1; }
__attribute__((noinline)) static uint64_t flip(uint64_t x) { return x ^ 5; }
__attribute__((noinline)) static uint64_t triple(uint64_t x) { return x * 3; }
__attribute__((noinline)) static uint64_t halve(uint64_t x) { return x >> 1; }
static function* objects[OBJECTS];

static void set_up(void) {
  function* const all[] = {add, flip, triple, halve};
  for (int i = 0; i < OBJECTS; ++i) {
    objects[i] = all[options.shuffled ? random_number() >> 62 : (uint64_t)i * 4 / OBJECTS];
  }
}

static void repeat(void) {
  uint64_t x = 1;
  for (uint64_t i = 0; i < options.operations; ++i) x = objects[i % OBJECTS](x);
  use(x);
}

int main(int count, char** arguments) { return measure(count - 1, arguments + 1); }
