/* undo_update: updates random records of 128 bytes in 8 MiB of persistent memory. The old record
 * goes to a log first, with a fence, then the new one in place, with another. An operation is one
 * update. */
#include "measured.h"

enum { WORDS = 16, RECORDS = 65536, LOG_RECORDS = 1024 };

static uint64_t (*records)[WORDS];
static uint64_t (*undo_log)[WORDS];
static uint64_t updated;

static void set_up(void) {
  records = persistent_memory((RECORDS + LOG_RECORDS) * sizeof *records);
  undo_log = records + RECORDS;
}

static void flush_record(const uint64_t* record) {
  flush(record);
  flush(&record[WORDS / 2]);
}

static void repeat(void) {
  for (uint64_t i = 0; i < options.operations; ++i) {
    uint64_t* record = records[random_number() % RECORDS];
    uint64_t* old = undo_log[updated++ % LOG_RECORDS];
    for (int k = 0; k < WORDS; ++k) old[k] = record[k];
    flush_record(old);
    sfence();
    for (int k = 0; k < WORDS; ++k) record[k] += updated;
    flush_record(record);
    sfence();
  }
}

int main(int count, char** arguments) { return measure(count - 1, arguments + 1); }
