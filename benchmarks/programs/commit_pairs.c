/* commit_pairs: writes records of two lines and then a commit word, with a fence before and behind
 * the commit word, into 4 MiB of persistent memory. An operation is one record. */
#include "measured.h"

typedef struct {
  uint64_t payload[15], commit;
} record;

static record* records;
static uint64_t capacity, written;

static void set_up(void) {
  const uint64_t bytes = 4u << 20;
  records = persistent_memory(bytes);
  capacity = bytes / sizeof(record);
}

static void repeat(void) {
  for (uint64_t i = 0; i < options.operations; ++i) {
    record* at = &records[written++ * 7 % capacity];
    for (int k = 0; k < 15; ++k) at->payload[k] = written + (uint64_t)k;
    flush(at);
    flush(&at->payload[8]);
    sfence();
    at->commit = written;
    flush(&at->commit);
    sfence();
  }
}

int main(int count, char** arguments) { return measure(count - 1, arguments + 1); }
