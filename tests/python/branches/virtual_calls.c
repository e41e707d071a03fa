/* Virtual calls of C++ objects (virtual_calls.cpp). "shuffled": their classes are in random order.
 */
#include "measured.h"
enum { OBJECTS = 65536 };
void set_up_object(uint64_t object, uint64_t class_number);
uint64_t call_all(uint64_t objects, uint64_t calls);

static void set_up(void) {
  for (uint64_t i = 0; i < OBJECTS; ++i) {
    set_up_object(i, options.shuffled ? random_number() >> 62 : i * 4 / OBJECTS);
  }
}

static void repeat(void) { use(call_all(OBJECTS, options.operations)); }

int main(int count, char** arguments) { return measure(count - 1, arguments + 1); }
