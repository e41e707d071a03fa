// Changes a file in persistent memory, its second argument, in the way that its first one names.
// Each way stores either at kPlace, unrecorded, or all that it stores is recorded. With
// AFTER_REGION, it does so behind the region of interest.
#define _GNU_SOURCE
#include <emmintrin.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef AFTER_REGION
#include <pmemsim/pm.h>
#endif

typedef unsigned long word;
enum { kBytes = 1 << 20, kPlace = 0x10040, kPage = 4096, kRounds = 2000 };
static const word kValue = 0x0807060504030201;  // no byte of it is zero

void put(word* at, word value);  // defined in a library
static int file;
static char* pm;
static word* place(void) { return (word*)(pm + kPlace); }

static void* map(size_t bytes) {
  void* at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (at == MAP_FAILED) abort();
  return at;
}

// ---- Unrecorded ---------------------------------------------------------------------------------

static void encoded_assembly(void) {
  __asm__ volatile(".byte 0x48, 0x89, 0x37" ::"D"(place()), "S"(kValue) : "memory");  // mov
}
static void register_bit(void) {
  for (word bit = 0; bit < 64; ++bit) {
    if (kValue >> bit & 1) {
      __asm__ volatile("lock btsq %1, (%0)" ::"r"(place()), "r"(bit) : "cc", "memory");
    }
  }
}
static void handle(int signal) {
  (void)signal;
  *place() = kValue;
}
static void handler(void) {
  signal(SIGUSR1, &handle);
  raise(SIGUSR1);
}
static void child(void) {
  const pid_t process = fork();
  if (process == 0) {
    *place() = kValue;
    _exit(0);
  }
  waitpid(process, NULL, 0);
}
static void library(void) { put(place(), kValue); }
static void library_unmapped(void) {
  put(place(), kValue);
  munmap(pm, kBytes);
}
static void library_replaced(void) {
  put(place(), kValue);
  mmap(pm, kBytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}
static void library_shrunk(void) {
  put(place(), kValue);
  if (mremap(pm, kBytes, kPage, 0) == MAP_FAILED) abort();
}
static void library_exit(void) {
  put(place(), kValue);
  _exit(0);
}
// Beside what is recorded, of which there are several threads' stores.
static void* store_beside(void* at) {
  for (int i = 0; i < kRounds; ++i) ((volatile word*)at)[i % 4] = kValue;
  return NULL;
}
static void library_threads(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, &store_beside, place() + 8);
  store_beside(place() + 8);
  put(place(), kValue);
  pthread_join(thread, NULL);
}
static void covered(void) {  // by a store that was recorded before
  *place() = ~kValue;
  put(place(), kValue);
}
static void same_again(void) {  // what the image says, but not what was stored
  const word before = *place();
  *place() = kValue;
  put(place(), before);
}
static void vector_read(void) {
  int ends[2];
  struct iovec to = {place(), sizeof kValue};
  if (pipe(ends) != 0 || write(ends[1], &kValue, sizeof kValue) != sizeof kValue) abort();
  if (readv(ends[0], &to, 1) != sizeof kValue) abort();
}

// ---- Recorded -----------------------------------------------------------------------------------

static void store(void) { *place() = kValue; }
static void assembly(void) {
  __asm__ volatile("movq %1, %0" : "=m"(*place()) : "r"(kValue));
  __asm__ volatile("lock btsq $5, %0" : "+m"(*place())::"cc");
}
static void non_temporal(void) { _mm_stream_si64((long long*)place(), (long long)kValue); }
static void copies(void) {
  const char text[] = "what is copied";
  void* to = place();
  const void* from = text;
  size_t bytes = sizeof text;
  __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes)::"memory");
  memset(pm + kPlace + 256, 7, 3 * kPage);
  memmove(pm + kPlace + 300, pm + kPlace + 256, kPage);
}
static void updates(void) {
  _Atomic word* at = (_Atomic word*)place();
  word expected = 1;
  atomic_compare_exchange_strong(at, &expected, 2);  // in vain
  expected = 0;
  atomic_compare_exchange_strong(at, &expected, kValue);
  atomic_fetch_add(at, 1);
  atomic_exchange(at + 1, kValue);
}
static void* race(void* argument) {
  const word number = (word)argument;
  for (int i = 0; i < kRounds; ++i) {
    ((volatile word*)place())[i % 16] = number;
    ((volatile char*)place())[i % 128] = (char)i;
  }
  return NULL;
}
static void races(void) {
  pthread_t threads[3];
  for (word i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, &race, (void*)(i + 1));
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
}
static void* store_on(void* unused) {
  for (;;) store_beside(place());
  return unused;
}
static void thread_left(void) {  // the thread still stores at the program's end
  pthread_t thread;
  pthread_create(&thread, NULL, &store_on, NULL);
  store_beside(place() + 1);
}
static void mapped_again(void) {
  *place() = kValue;
  munmap(pm, kBytes);
  char* other = map(kPage);  // moves nothing
  other[3] = 4;
  pm = map(kBytes);
  *place() = kValue + 1;
}
static void mapped_twice(void) {
  char* other = map(kBytes);
  other[kPlace + 8] = 1;
  *place() = kValue;
  munmap(other, kBytes);
  place()[1] = 3;
}
static void grown(void) {
  if (ftruncate(file, 2 * kBytes) != 0) abort();
  char* longer = mremap(pm, kBytes, 2 * kBytes, MREMAP_MAYMOVE);
  if (longer == MAP_FAILED) abort();
  longer[kBytes + kPage] = 5;
}
static void plain_read(void) {
  int ends[2];
  if (pipe(ends) != 0 || write(ends[1], &kValue, sizeof kValue) != sizeof kValue) abort();
  if (read(ends[0], place(), sizeof kValue) != sizeof kValue) abort();
}
static void recorded_exit(void) {
  *place() = kValue;
  _exit(0);
}
static void childs_own(void) {  // the mapping is the child's alone
  const pid_t process = fork();
  if (process == 0) {
    char* mine = mmap(NULL, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    mine[0] = 1;
    _exit(munmap(pm, kBytes));
  }
  waitpid(process, NULL, 0);
  *place() = kValue;
}

static void synced(void) {
  *place() = kValue;
  if (msync(pm + (kPlace & -kPage), kPage, MS_SYNC) != 0) abort();
  if (syscall(SYS_msync, pm, kBytes, MS_SYNC) != 0) abort();
  char* volatile_page =
      mmap(NULL, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (msync(volatile_page, kPage, MS_SYNC) != 0 || msync(pm + 1, kPage, MS_SYNC) == 0) abort();
}

// So that something is recorded, whatever the way.
static void store_durably(void) {
  *pm = 1;
  _mm_clflush(pm);
  _mm_sfence();
}

static const struct {
  const char* name;
  void (*function)(void);
} ways[] = {
#define WAY(name) {#name, &name}
    WAY(encoded_assembly),
    WAY(register_bit),
    WAY(handler),
    WAY(child),
    WAY(library),
    WAY(library_unmapped),
    WAY(library_replaced),
    WAY(library_shrunk),
    WAY(library_exit),
    WAY(library_threads),
    WAY(covered),
    WAY(same_again),
    WAY(vector_read),
    WAY(store),
    WAY(assembly),
    WAY(non_temporal),
    WAY(copies),
    WAY(updates),
    WAY(races),
    WAY(thread_left),
    WAY(mapped_again),
    WAY(mapped_twice),
    WAY(grown),
    WAY(plain_read),
    WAY(recorded_exit),
    WAY(childs_own),
    WAY(synced),
};

int main(int count, char** arguments) {
  if (count != 3) return 2;
  file = open(arguments[2], O_RDWR);
  pm = map(kBytes);
  for (size_t i = 0; i < sizeof ways / sizeof *ways; ++i) {
    if (strcmp(arguments[1], ways[i].name) != 0) continue;
#ifdef AFTER_REGION
    pm_roi_begin();
    store_durably();
    pm_roi_end();
#else
    store_durably();
#endif
    ways[i].function();
    return 0;
  }
  return 2;
}
