/* Janus's pre-execution interface (its table 2): these functions only write marks.
 *
 * Hints aren't part of the program that designs without pre-execution run. So these functions are
 * not instrumented, and the compiler pass doesn't count the instructions of their calls. */
#include <string.h>

#include "internal.h"

#ifdef __clang__
#define NOT_RECORDED __attribute__((disable_sanitizer_instrumentation))
#else
#define NOT_RECORDED
#endif

NOT_RECORDED static void hint(enum hint kind, const pm_pre* object, const void* address,
                              const void* data, size_t bytes) {
  if (!pmemsim_rt_mark) return;
  for (size_t at = 0; data && at < bytes; at += 2 * sizeof(uint64_t)) {
    uint64_t words[2] = {0, 0};
    const size_t rest = bytes - at;
    memcpy(words, (const char*)data + at, rest < sizeof words ? rest : sizeof words);
    pmemsim_rt_mark(MARK_HINT_DATA, words[0], words[1]);
  }
  pmemsim_rt_mark(MARK_HINT, (uintptr_t)address,
                  (uint64_t)(uint32_t)bytes | (uint64_t)kind << 32 | (uint64_t)object->id << 40);
}

/* Numbers are unique within a thread; the recorder knows the thread. The mark has 24 bits. */
NOT_RECORDED void pm_pre_init(pm_pre* object) { object->id = ++this_thread.hints & 0xffffff; }

NOT_RECORDED void pm_pre_both(const pm_pre* object, const void* address, const void* data,
                              size_t bytes) {
  hint(HINT_BOTH, object, address, data, bytes);
}
NOT_RECORDED void pm_pre_addr(const pm_pre* object, const void* address, size_t bytes) {
  hint(HINT_ADDRESS, object, address, NULL, bytes);
}
NOT_RECORDED void pm_pre_data(const pm_pre* object, const void* data, size_t bytes) {
  hint(HINT_DATA, object, NULL, data, bytes);
}
NOT_RECORDED void pm_pre_both_val(const pm_pre* object, const void* address, uint64_t value) {
  hint(HINT_VALUE, object, address, &value, sizeof value);
}
/* A hint for less than 8 bytes, which the compiler inserts (pmemsim-cc --janus-auto). */
NOT_RECORDED void pm_pre_both_part(const pm_pre* object, const void* address, uint64_t value,
                                   size_t bytes) {
  hint(HINT_VALUE, object, address, &value, bytes);
}
NOT_RECORDED void pm_pre_both_buf(const pm_pre* object, const void* address, const void* data,
                                  size_t bytes) {
  hint(HINT_BOTH_BUFFERED, object, address, data, bytes);
}
NOT_RECORDED void pm_pre_addr_buf(const pm_pre* object, const void* address, size_t bytes) {
  hint(HINT_ADDRESS_BUFFERED, object, address, NULL, bytes);
}
NOT_RECORDED void pm_pre_data_buf(const pm_pre* object, const void* data, size_t bytes) {
  hint(HINT_DATA_BUFFERED, object, NULL, data, bytes);
}
NOT_RECORDED void pm_pre_start_buf(const pm_pre* object) {
  hint(HINT_START_BUFFERED, object, NULL, NULL, 0);
}
