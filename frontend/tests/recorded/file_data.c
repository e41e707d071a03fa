// Uses of a mapped file by system calls, by name: a log of records, and the count of them, which is
// in the file's first bytes. The ones whose names begin with `no_` lack a step. `check` rejects a
// file with fewer records than its count.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { RECORD = 100, RECORDS = 4, FILE_BYTES = 1 << 16, BIG = 20000 };

static const char* path;
static int file;
static uint64_t* mapped;  // the count, and the records from the second page on

static off_t place(uint64_t i) { return 4096 + (off_t)(RECORD * i); }
static const char* record(uint64_t i) {
  static char bytes[RECORD];
  memset(bytes, 'a' + (int)i, RECORD);
  return bytes;
}

static void map(int access) { mapped = mmap(NULL, FILE_BYTES, access, MAP_SHARED, file, 0); }
static int put(uint64_t i) { return pwrite(file, record(i), RECORD, place(i)) != RECORD; }
static void put_count(uint64_t count) { (void)!pwrite(file, &count, sizeof count, 0); }

// ---- In LMDB's manner: the mapping is read-only, and the file is written
// -------------------------

static void written(void) {
  map(PROT_READ);
  for (uint64_t i = 0; i < RECORDS && mapped[0] == i; ++i) {
    put(i);
    fdatasync(file);
    put_count(i + 1);
    fdatasync(file);
  }
}
static void written_by_fsync(void) {
  map(PROT_READ);
  put(0);
  fsync(file);
  put_count(1);
  syscall(SYS_fdatasync, file);
}
static void through_another_descriptor(void) {
  map(PROT_READ);
  const int synced = open(path, O_RDWR | O_DSYNC);
  put(0);
  fdatasync(file);
  const uint64_t count = 1;
  (void)!pwrite(synced, &count, sizeof count, 0);  // LMDB writes its meta page like this
}
static void by_position(void) {
  map(PROT_READ);
  lseek(file, place(0), SEEK_SET);
  (void)!write(file, record(0), RECORD);
  fdatasync(file);
  lseek(file, 0, SEEK_SET);
  const uint64_t count = 1;
  struct iovec parts[] = {{(void*)&count, 4}, {(char*)&count + 4, 4}};
  (void)!writev(file, parts, 2);
  sync();
}
static void in_parts(void) {
  map(PROT_READ);
  struct iovec parts[] = {{(char*)record(0), 33}, {(char*)record(0) + 33, RECORD - 33}};
  (void)!pwritev(file, parts, 2, place(0));
  syncfs(file);
  const uint64_t count = 1;
  struct iovec whole = {(void*)&count, 8};
  (void)!pwritev2(file, &whole, 1, 0, RWF_DSYNC);
}
static void appended(void) {
  (void)!ftruncate(file, place(0));
  map(PROT_READ);
  const int appends = open(path, O_RDWR | O_APPEND);
  (void)!pwrite(appends, record(0), RECORD, 0);  // Linux appends, whatever the offset
  fdatasync(file);
  put_count(1);
  fdatasync(file);
}
static void unsynced_record(void) {
  map(PROT_READ);
  for (uint64_t i = 0; i < RECORDS; ++i) {
    put(i);
    put_count(i + 1);
    fdatasync(file);
  }
}
static void no_sync_at_the_end(void) {
  map(PROT_READ);
  put(0);
  fdatasync(file);
  put_count(1);  // never-flushed
}
static void no_sync_but_started(void) {
  map(PROT_READ);
  put_count(0);  // never-flushed
  sync_file_range(file, 0, 0, SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
}

// ---- Stores to the mapping, which a system call makes persistent
// ---------------------------------

static void store(uint64_t i) { memcpy((char*)mapped + place(i), record(i), RECORD); }

static void stored(void) {
  map(PROT_READ | PROT_WRITE);
  for (uint64_t i = 0; i < RECORDS; ++i) {
    store(i);
    msync((char*)mapped + 4096, 4096, MS_SYNC);
    mapped[0] = i + 1;
    msync(mapped, 4096, MS_SYNC);
  }
}
static void stored_same_value(void) {
  map(PROT_READ | PROT_WRITE);
  mapped[0] = 0;
  msync(mapped, 4096, MS_SYNC);
  mapped[8] = 1;
  mapped[8] = 0;
  fsync(file);
}
static void stored_by_fsync(void) {
  map(PROT_READ | PROT_WRITE);
  volatile uint64_t* rounds = &mapped[600];
  for (int round = 0; round < BIG; ++round) *rounds = (uint64_t)round;  // several frames
  store(0);
  fsync(file);
  mapped[0] = 1;
  fdatasync(file);
}
static void* store_one(void* number) {
  store((uint64_t)number);
  return NULL;
}
static void stored_by_threads(void) {
  map(PROT_READ | PROT_WRITE);
  pthread_t threads[RECORDS];
  for (uint64_t i = 0; i < RECORDS; ++i) pthread_create(&threads[i], 0, store_one, (void*)i);
  for (uint64_t i = 0; i < RECORDS; ++i) pthread_join(threads[i], NULL);
  fdatasync(file);
  mapped[0] = RECORDS;
  fdatasync(file);
}
static void stored_and_flushed(void) {
  map(PROT_READ | PROT_WRITE);
  mapped[0] = 0;
  __asm__ volatile("clflush %0\n sfence" ::"m"(mapped[0]) : "memory");
  fsync(file);
}
static void no_sync(void) {
  map(PROT_READ | PROT_WRITE);
  mapped[1] = 1;  // never-flushed
  msync(mapped, 4096, MS_ASYNC);
}
static void no_sync_of_page(void) {
  map(PROT_READ | PROT_WRITE);
  store(0);  // never-flushed
  mapped[0] = 1;
  msync(mapped, 4096, MS_SYNC);
}

// ---- Parts that become zero ---------------------------------------------------------------------

static void fill(void) {
  map(PROT_READ | PROT_WRITE);
  memset((char*)mapped + 8192, 9, 8192);
  fsync(file);
}
static void cut(void) {
  fill();
  (void)!ftruncate(file, 8200);
  fsync(file);
  (void)!ftruncate(file, FILE_BYTES);
}
static void cut_by_path(void) {
  fill();
  (void)!truncate(path, 8200);
  fsync(file);
  (void)!truncate(path, FILE_BYTES);
}
static void punched(void) {
  fill();
  fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 8200, 5000);
  fdatasync(file);
}
static void no_sync_of_cut(void) {
  fill();
  (void)!ftruncate(file, 8200);  // never-flushed
  (void)!ftruncate(file, FILE_BYTES);
}
static void no_sync_of_cut_by_path(void) {
  fill();
  (void)!truncate(path, 8200);  // never-flushed
  (void)!truncate(path, FILE_BYTES);
}
static void no_sync_of_hole(void) {
  fill();
  fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 8192, 4096);  // never-flushed
}

static int check(void) {
  static char bytes[FILE_BYTES];
  if (pread(file, bytes, FILE_BYTES, 0) < 0) return 2;
  uint64_t count;
  memcpy(&count, bytes, sizeof count);
  for (uint64_t i = 0; i < count; ++i) {
    if (memcmp(bytes + place(i), record(i), RECORD)) return fprintf(stderr, "record\n"), 1;
  }
  return 0;
}

#define USE(name) {#name, name}
static const struct use {
  const char* name;
  void (*function)(void);
} uses[] = {
    USE(written),
    USE(written_by_fsync),
    USE(through_another_descriptor),
    USE(by_position),
    USE(in_parts),
    USE(appended),
    USE(unsynced_record),
    USE(no_sync_at_the_end),
    USE(no_sync_but_started),
    USE(stored),
    USE(stored_same_value),
    USE(stored_by_fsync),
    USE(stored_by_threads),
    USE(stored_and_flushed),
    USE(no_sync),
    USE(no_sync_of_page),
    USE(cut),
    USE(cut_by_path),
    USE(punched),
    USE(no_sync_of_cut),
    USE(no_sync_of_cut_by_path),
    USE(no_sync_of_hole),
};

int main(int count, char** words) {
  path = words[count - 1];
  file = open(path, O_RDWR | O_CREAT, 0600);
  if (file < 0) return 3;
  if (!strcmp(words[1], "check")) return check();
  if (ftruncate(file, FILE_BYTES)) return 3;
  for (unsigned i = 0; i < sizeof uses / sizeof uses[0]; ++i) {
    if (!strcmp(uses[i].name, words[1])) uses[i].function();
  }
  return 0;
}
