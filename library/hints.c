/* Janus's pre-execution interface (its table 2): nothing but marks. */
#include "internal.h"

static void hint(enum hint kind, const pm_pre* object, const void* address, size_t bytes) {
  mark(MARK_HINT, (uintptr_t)address,
       (uint64_t)(uint32_t)bytes | (uint64_t)kind << 32 | (uint64_t)object->id << 40);
}

/* Numbers are unique within a thread; the recorder knows the thread. The mark has 24 bits. */
void pm_pre_init(pm_pre* object) { object->id = ++this_thread.hints & 0xffffff; }

void pm_pre_both(const pm_pre* object, const void* address, const void* data, size_t bytes) {
  (void)data;
  hint(HINT_BOTH, object, address, bytes);
}
void pm_pre_addr(const pm_pre* object, const void* address, size_t bytes) {
  hint(HINT_ADDRESS, object, address, bytes);
}
void pm_pre_data(const pm_pre* object, const void* data, size_t bytes) {
  hint(HINT_DATA, object, data, bytes);
}
void pm_pre_both_val(const pm_pre* object, const void* address, uint64_t value) {
  (void)value;
  hint(HINT_VALUE, object, address, sizeof value);
}
void pm_pre_both_buf(const pm_pre* object, const void* address, const void* data, size_t bytes) {
  (void)data;
  hint(HINT_BOTH_BUFFERED, object, address, bytes);
}
void pm_pre_addr_buf(const pm_pre* object, const void* address, size_t bytes) {
  hint(HINT_ADDRESS_BUFFERED, object, address, bytes);
}
void pm_pre_data_buf(const pm_pre* object, const void* data, size_t bytes) {
  hint(HINT_DATA_BUFFERED, object, data, bytes);
}
void pm_pre_start_buf(const pm_pre* object) { hint(HINT_START_BUFFERED, object, 0, 0); }
