// Files in persistent memory that are mapped twice, in parts, again, elsewhere: mappings WAY FILE
// OTHER. It flushes each store; at the end memory must have the same contents as the files.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE 4096ul
#define BYTES (4 * PAGE)
#define ASKED ((char*)0x10000000000)

// The runtime's interface, as pmemsim/pm.h uses it.
void pmemsim_rt_mark(uint32_t mark, uint64_t first, uint64_t second);
void pmemsim_rt_pm_region(void* begin, uint64_t bytes, const char* source);
enum { LOG_RANGE = 4 };

static int file, other;

static int open_file(const char* path, off_t bytes) {
  int opened = open(path, O_RDWR | O_CREAT, 0600);
  if (opened < 0 || ftruncate(opened, bytes) != 0) exit(1);
  return opened;
}

static char* checked(void* memory) {
  if (memory == MAP_FAILED) exit(1);
  return memory;
}
static char* map_at(char* wanted, int descriptor, size_t bytes, off_t offset, int flags) {
  return checked(mmap(wanted, bytes, PROT_READ | PROT_WRITE, flags, descriptor, offset));
}
static char* map(size_t bytes, off_t offset) {
  return map_at(NULL, file, bytes, offset, MAP_SHARED);
}
// One byte in each of some lines of a page.
static void fill(char* page, char value) {
  for (int i = 0; i < 8; ++i) {
    page[64 * i + value] = value;
    __builtin_ia32_clflush(page + 64 * i);
  }
  __builtin_ia32_sfence();
}

static char* map_volatile(char* wanted) {
  char* memory = map_at(wanted, -1, BYTES, 0, MAP_PRIVATE | MAP_ANONYMOUS);
  for (int i = 0; i < 4; ++i) fill(memory + i * PAGE, 60);
  return memory;
}

static void* map_and_fill(void* argument) {
  char* memory = map(BYTES, 0);
  __atomic_fetch_add((int*)(memory + 1024), 1, __ATOMIC_SEQ_CST);
  __builtin_ia32_clflush(memory + 1024);
  for (int i = 0; i < 100; ++i) fill(memory + (i % 4) * PAGE, (char)(uintptr_t)argument);
  return NULL;
}

// The header again, elsewhere, as PMDK does.
static void header_last(void) {
  char* whole = map(BYTES, 0);
  char* header = map(PAGE, 0);
  fill(header, 1);
  fill(whole, 2);
  munmap(header, PAGE);
  fill(whole + PAGE, 3);
}
static void header_first(void) {
  char* header = map(PAGE, 0);
  fill(header, 1);
  char* whole = map(BYTES, 0);
  fill(whole, 2);
  fill(whole + PAGE, 3);
  fill(header, 4);
}
static void windows(void) {
  for (int i = 3; i >= 0; --i) fill(map(PAGE, i * (off_t)PAGE), (char)(i + 1));
  fill(map(2 * PAGE, PAGE), 5);
}
// At an address of the program's choice, then at another, with other memory at the first.
static void again(void) {
  fill(map_at(ASKED, file, BYTES, 0, MAP_SHARED), 1);
  munmap(ASKED, BYTES);
  map_volatile(ASKED);
  char* elsewhere = map(BYTES, 0);
  fill(elsewhere, 2);
  fill(map_volatile(ASKED), 6);
  fill(elsewhere + PAGE, 3);
}
static void another_file_at_its_place(void) {
  fill(map_at(ASKED, file, BYTES, 0, MAP_SHARED), 1);
  fill(map_at(ASKED, other, BYTES, 0, MAP_SHARED | MAP_FIXED), 2);
  fill(map_at(ASKED, file, BYTES, 0, MAP_SHARED | MAP_FIXED), 3);
  fill(map_at(ASKED + PAGE, other, PAGE, PAGE, MAP_SHARED | MAP_FIXED), 4);
  fill(ASKED + 2 * PAGE, 5);
  fill(ASKED + PAGE, 6);
}
static void threads(void) {
  pthread_t thread[2];
  for (uintptr_t i = 0; i < 2; ++i) pthread_create(&thread[i], NULL, map_and_fill, (void*)(i + 1));
  for (int i = 0; i < 2; ++i) pthread_join(thread[i], NULL);
}
static void partly_unmapped(void) {
  char* whole = map(BYTES, 0);
  char* second = map(BYTES, 0);
  munmap(second + PAGE, PAGE);
  if (map_at(second + PAGE, -1, PAGE, 0, MAP_PRIVATE | MAP_ANONYMOUS) != second + PAGE) exit(1);
  fill(second + PAGE, 7);
  fill(second, 1);
  fill(second + 2 * PAGE, 2);
  munmap(whole, PAGE);
  fill(whole + PAGE, 3);
  fill(second, 4);
}
static void moved(void) {
  char* whole = map(BYTES, 0);
  fill(whole, 1);
  char* room = map_volatile(NULL);
  char* parts = checked(mremap(whole + PAGE, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, room));
  fill(parts, 2);
  char* twice = checked(mremap(whole, 0, BYTES, MREMAP_MAYMOVE));
  fill(twice + PAGE, 3);
  fill(whole + 2 * PAGE, 4);
  fill(twice + 2 * PAGE, 5);
}
static void grown(void) {
  char* whole = map(BYTES, 0);
  char* second = map(BYTES, 0);
  fill(second, 1);
  if (ftruncate(file, 4 * BYTES) != 0) exit(1);
  whole = checked(mremap(whole, BYTES, 2 * BYTES, MREMAP_MAYMOVE));
  fill(whole + BYTES, 2);
  fill(map(4 * BYTES, 0) + 3 * BYTES, 3);
  fill(second, 4);
}
static void grown_where_asked(void) {
  fill(map_at(ASKED, file, BYTES, 0, MAP_SHARED), 1);
  if (ftruncate(file, 2 * BYTES) != 0) exit(1);
  char* longer = map_at(ASKED + (1ul << 40), file, 2 * BYTES, 0, MAP_SHARED);
  fill(longer, 2);
  fill(longer + BYTES, 3);
}
static void privately(void) {
  char* whole = map(BYTES, 0);
  char* copy = map_at(NULL, file, BYTES, 0, MAP_PRIVATE);
  fill(copy, 1);
  fill(whole, 2);
  fill(map_at(whole, file, PAGE, 0, MAP_PRIVATE | MAP_FIXED), 3);
  fill(whole + PAGE, 4);
}
// By number, too. Arguments on the stack must be as long as the kernel's.
static void system_calls(void) {
  long flags = PROT_READ | PROT_WRITE;
  char* whole = (char*)syscall(SYS_mmap, NULL, BYTES, flags, MAP_SHARED, file, 0L);
  fill(whole, 1);
  whole = (char*)syscall(SYS_mremap, whole, BYTES, BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, ASKED);
  fill(whole + PAGE, 2);
  syscall(SYS_munmap, whole, BYTES);
  fill(map(BYTES, 0) + PAGE, 3);
}
// A mark at an address applies to the location in the file that is mapped there.
static void marks(void) {
  fill(map(BYTES, 0), 1);
  char* second = map(BYTES, 0);
  pmemsim_rt_mark(LOG_RANGE, (uintptr_t)(second + PAGE), 8);
  fill(second + PAGE, 2);
}
// Declared by the program, which has mapped it twice by then.
static void declared(void) {
  char* second = map(BYTES, 0);
  char* whole = map(BYTES, 0);
  pmemsim_rt_pm_region(whole, BYTES, "pm_open");
  fill(second, 1);
  fill(whole, 2);
  munmap(whole, BYTES);
  fill(map(BYTES, 0) + PAGE, 3);
}
// Memory without a file is new each time; the files get what it held.
static void anonymously(void) {
  for (int i = 0; i < 2; ++i) {
    char* memory = map_at(ASKED, -1, BYTES, 0, MAP_PRIVATE | MAP_ANONYMOUS);
    pmemsim_rt_pm_region(memory, BYTES, "pm_open");
    fill(memory + i * PAGE, (char)(i + 1));
    if (write(i == 0 ? file : other, memory, BYTES) != BYTES) exit(1);
    munmap(memory, BYTES);
  }
}
static void recreated(const char* path) {
  for (int i = 0; i < 3; ++i) {
    char* whole = map(BYTES, 0);
    fill(whole, (char)i);
    munmap(whole, BYTES);
    close(file);
    unlink(path);
    file = open_file(path, BYTES);
  }
}
// While one thread maps, another waits in a loop, of which only the last round is to be recorded.
static _Atomic int flag;
static char* second;
static void* await_and_fill(void* argument) {
  volatile int many[4] = {0};
  while (flag == 0) many[0], many[1], many[2], many[3];
  for (int i = 0; i < 8; ++i) second[64 * i]++;
  for (int i = 0; i < 8; ++i) __builtin_ia32_clflush(second + 64 * i);
  return argument;
}
static void spinning(void) {
  map(BYTES, 0);
  for (int i = 0; i < 16; ++i) {
    pthread_t thread;
    flag = 0;
    pthread_create(&thread, NULL, await_and_fill, NULL);
    for (volatile int delay = 0; delay < i; ++delay) continue;
    second = map(BYTES, 0);
    flag = 1;
    pthread_join(thread, NULL);
  }
}
// There is no room for what a file has grown by: other memory is behind it, or it is too much.
static void cramped(void) {
  map_at(ASKED, file, BYTES, 0, MAP_SHARED);
  map_volatile(ASKED + BYTES);
  if (ftruncate(file, 2 * BYTES) != 0) exit(1);
  map(2 * BYTES, 0);
}
static void outgrown(void) {
  map(BYTES, 0);
  if (ftruncate(file, 1l << 34) != 0) exit(1);
  map(1ul << 34, 0);
}
// Without other mappings, a whole file at its place: nothing is moved.
static void plainly(void) { fill(map(BYTES, 0), 1); }

int main(int count, char** arguments) {
  static const struct {
    const char* name;
    void (*function)(void);
  } ways[] = {
#define WAY(name) {#name, &name}
      WAY(header_last),
      WAY(header_first),
      WAY(windows),
      WAY(again),
      WAY(another_file_at_its_place),
      WAY(threads),
      WAY(partly_unmapped),
      WAY(moved),
      WAY(grown),
      WAY(grown_where_asked),
      WAY(privately),
      WAY(system_calls),
      WAY(marks),
      WAY(declared),
      WAY(anonymously),

      WAY(spinning),
      WAY(cramped),
      WAY(outgrown),
      WAY(plainly),
  };
  if (count < 4) return 1;
  file = open_file(arguments[2], BYTES);
  other = open_file(arguments[3], BYTES);
  if (strcmp(arguments[1], "recreated") == 0) {
    recreated(arguments[2]);
    return 0;
  }
  for (size_t i = 0; i < sizeof ways / sizeof *ways; ++i)
    if (strcmp(arguments[1], ways[i].name) == 0) {
      ways[i].function();
      return 0;
    }
  return 1;
}
