/* append_log: appends records of 64 bytes to a persistent log of 1 MiB, round and round; each is
 * written back and fenced before the next. An operation is one record. */
#include "measured.h"

typedef struct {
  uint64_t number, payload[6], sum;
} record;

static record* records;
static uint64_t capacity, appended;

static void set_up(void) {
  const uint64_t bytes = 1u << 20;
  records = persistent_memory(bytes);
  capacity = bytes / sizeof(record);
}

static void append(uint64_t payload) {
  record* at = &records[appended % capacity];
  at->number = ++appended;
  uint64_t sum = appended;
  for (int i = 0; i < 6; ++i) {
    at->payload[i] = payload + (uint64_t)i;
    sum += at->payload[i];
  }
  at->sum = sum;
  flush(at);
  sfence();
}

static void repeat(void) {
  for (uint64_t i = 0; i < options.operations; ++i) append(i);
}

int main(int count, char** arguments) { return measure(count - 1, arguments + 1); }
