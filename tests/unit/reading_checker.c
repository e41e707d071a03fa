/* reading_checker WAY PAGE... FILE: a checker that reads a word of each of these pages of an image,
 * one way or another, and rejects the image if one of them is kBad. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kPage = 4096, kPages = 64, kBytes = kPages * kPage, kBad = 9 };

extern char** environ;
static char* self;
static char* path;
static int count;
static int pages[kPages];

static int fail(const char* what) {
  perror(what);
  exit(2);
}
static int opened(int flags) {
  const int file = open(path, flags);
  return file >= 0 ? file : fail("open");
}
static char* mapped(int file, int flags) {
  const int access = flags == MAP_SHARED && (fcntl(file, F_GETFL) & O_ACCMODE) == O_RDONLY
                         ? PROT_READ
                         : PROT_READ | PROT_WRITE;
  char* bytes = mmap(NULL, kBytes, access, flags, file, 0);
  return bytes != MAP_FAILED ? bytes : (fail("mmap"), NULL);
}
static int is_bad(const void* at) {
  uint64_t word;
  memcpy(&word, at, sizeof(word));
  return word == kBad;
}
static int look(const char* bytes) {
  int bad = 0;
  for (int i = 0; i < count; ++i) bad |= is_bad(bytes + pages[i] * kPage);
  return bad;
}
static int look_private(void) { return look(mapped(opened(O_RDONLY), MAP_PRIVATE)); }
static int status_of(pid_t child) {
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) fail("wait");
  return WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}
static char** words(char* way) {
  static char* all[kPages + 4];
  static char numbers[kPages][8];
  char** end = all;
  *end++ = self;
  *end++ = way;
  for (int i = 0; i < count; ++i) {
    snprintf(numbers[i], sizeof(numbers[i]), "%d", pages[i]);
    *end++ = numbers[i];
  }
  *end++ = path;
  *end = NULL;
  return all;
}

/* Memory that is mapped. */
static int shared(void) { return look(mapped(opened(O_RDWR | O_CREAT), MAP_SHARED)); }
static int shared_read_only(void) { return look(mapped(opened(O_RDONLY), MAP_SHARED)); }
static int written(void) {
  char* bytes = mapped(opened(O_RDONLY), MAP_PRIVATE);
  for (int i = 0; i < count; ++i) bytes[pages[i] * kPage + 100] = 1;
  return 0;
}
static int in_parts(void) {
  const int file = opened(O_RDWR);
  int bad = 0;
  for (int i = 0; i < count; ++i) {
    bad |= is_bad(mmap(NULL, kPage, PROT_READ, MAP_SHARED, file, pages[i] * kPage));
  }
  return bad;
}
static int by_the_kernel(void) {
  char* bytes = mapped(opened(O_RDONLY), MAP_PRIVATE);
  uint64_t word;
  int ends[2], bad = 0;
  if (pipe(ends) != 0) fail("pipe");
  for (int i = 0; i < count; ++i) {
    if (write(ends[1], bytes + pages[i] * kPage, sizeof(word)) != sizeof(word)) fail("write");
    if (read(ends[0], &word, sizeof(word)) != sizeof(word)) fail("read");
    bad |= word == kBad;
  }
  return bad;
}
static int closed(void) {
  char* bytes = mapped(opened(O_RDONLY), MAP_PRIVATE);
  syscall(SYS_close_range, 3, ~0u, 0);
  return look(bytes);
}

/* Memory that goes. */
static int unmapped(void) {
  char* bytes = mapped(opened(O_RDWR), MAP_SHARED);
  const int bad = look(bytes);
  munmap(bytes, kBytes);
  return bad;
}
static int unmapped_in_part(void) {
  char* bytes = mapped(opened(O_RDWR), MAP_SHARED);
  const int bad = look(bytes);
  for (int i = 0; i < count; ++i) munmap(bytes + pages[i] * kPage, kPage);
  return bad;
}
static int replaced(void) {
  char* bytes = mapped(opened(O_RDWR), MAP_SHARED);
  const int bad = look(bytes);
  mmap(bytes, kBytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  return bad;
}
static int dropped(void) {
  char* bytes = mapped(opened(O_RDONLY), MAP_PRIVATE);
  const int bad = look(bytes);
  madvise(bytes, kBytes, MADV_DONTNEED);
  return bad;
}
static int moved(void) {
  char* bytes = mapped(opened(O_RDWR), MAP_SHARED);
  const int bad = look(bytes);
  bytes = mremap(bytes, kBytes, kPage, 0);
  return bad | (mremap(bytes, kPage, 2 * kPage, MREMAP_MAYMOVE) == MAP_FAILED);
}
static int moved_over(void) {
  char* bytes = mapped(opened(O_RDWR), MAP_SHARED);
  const int bad = look(bytes);
  char* other = mmap(NULL, kBytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return bad | (mremap(other, kBytes, kBytes, MREMAP_MAYMOVE | MREMAP_FIXED, bytes) != bytes);
}

/* Files that are read. */
static int by_read(void) {
  const int file = opened(O_RDONLY);
  uint64_t word;
  int bad = 0;
  for (int i = 0; i < count; ++i) {
    lseek(file, pages[i] * kPage + kPage - 8, SEEK_SET);
    /* The next one begins where this one has ended. */
    if (read(file, &word, 8) != 8 || lseek(file, 0, SEEK_CUR) % kPage != 0) fail("read");
    lseek(file, pages[i] * kPage, SEEK_SET);
    if (read(file, &word, sizeof(word)) != sizeof(word)) fail("read");
    bad |= word == kBad;
  }
  return bad;
}
static int by_pread(void) {
  const int file = opened(O_RDONLY);
  uint64_t word;
  int bad = 0;
  for (int i = 0; i < count; ++i) {
    if (pread(file, &word, sizeof(word), pages[i] * kPage) != sizeof(word)) fail("pread");
    bad |= word == kBad;
  }
  return bad;
}
/* All is read, to the end and beyond. */
static int whole(void) {
  const int file = opened(O_RDONLY);
  static char bytes[kBytes + kPage];
  ssize_t size = 0, got;
  while ((got = read(file, bytes + size, sizeof(bytes) - size)) > 0) size += got;
  return size != kBytes || look(bytes);
}
static int by_stdio(void) {
  FILE* file = fopen(path, "r");
  uint64_t word;
  int bad = 0;
  for (int i = 0; i < count; ++i) {
    fseek(file, pages[i] * kPage, SEEK_SET);
    if (fread(&word, sizeof(word), 1, file) != 1) fail("fread");
    bad |= word == kBad;
  }
  return bad;
}
static int by_readv(void) {
  const int file = opened(O_RDONLY);
  uint64_t word;
  const struct iovec into = {&word, sizeof(word)};
  return preadv(file, &into, 1, 0) != sizeof(word) || word == kBad;
}
/* What can't be read fails as ever. */
static int without_right(void) {
  char* bytes = mapped(opened(O_RDONLY), MAP_PRIVATE);
  const int file = opened(O_WRONLY);
  uint64_t word;
  if (read(file, &word, sizeof(word)) >= 0 || errno != EBADF) return 1;
  if (ftruncate(opened(O_RDONLY), kBytes) == 0) return 1;
  if (fcntl(file, F_GETFD) != 0 || fcntl(opened(O_RDONLY | O_CLOEXEC), F_GETFD) != FD_CLOEXEC) {
    return 1;
  }
  return look(bytes);
}
static int of_the_same_size(void) {
  const int file = opened(O_RDWR);
  if (ftruncate(file, kBytes) != 0 || posix_fallocate(file, 0, kBytes) != 0) fail("truncate");
  return look(mapped(file, MAP_SHARED));
}

/* Processes. */
static int by_a_child(void) {
  const pid_t child = fork();
  if (child == 0) _exit(look_private());
  return status_of(child);
}
static int mapped_before_fork(void) {
  char* bytes = mapped(opened(O_RDWR), MAP_SHARED);
  const pid_t child = fork();
  if (child == 0) _exit(look(bytes));
  return status_of(child);
}
static int spawned(void) {
  pid_t child;
  if (posix_spawn(&child, self, NULL, NULL, words("shared"), environ) != 0) fail("spawn");
  return status_of(child);
}
static int by_the_shell(void) {
  char line[4096] = "";
  for (char** word = words("by_pread"); *word != NULL; ++word) {
    strcat(strcat(line, *word), " ");
  }
  return WEXITSTATUS(system(line));
}
static int executed(void) {
  if (look_private()) return 1;
  count = 0;
  execv(self, words("shared"));
  return fail("exec");
}
static int executed_in_vain(void) {
  const int bad = look_private();
  execv("/no/such/program", words("shared"));
  return bad;
}
static void* look_in_thread(void* bad) {
  *(int*)bad = look_private();
  return NULL;
}
static int in_a_thread(void) {
  pthread_t thread;
  int bad = 0;
  pthread_create(&thread, NULL, look_in_thread, &bad);
  pthread_join(thread, NULL);
  return bad;
}
static void* look_at_last(void* unused) {
  (void)unused;
  usleep(2000);
  const int bad = look_private();
  if (bad) exit(bad);
  return NULL;
}
static int after_main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, look_at_last, NULL);
  pthread_exit(NULL);
}
static int at_once(void) { _exit(look_private()); }
static void look_at_exit(void) {
  if (look_private()) _exit(1);
}
static int at_exit(void) {
  atexit(look_at_exit);
  return 0;
}
/* The first page says which other one is read. */
static int led(void) {
  const unsigned char* bytes = (unsigned char*)mapped(opened(O_RDONLY), MAP_PRIVATE);
  return bytes[(bytes[0] - 100) * kPage] == kBad;
}
/* Without the C library. */
static int raw(void) {
  const long file = syscall(SYS_open, path, O_RDWR);
  char* bytes = (char*)syscall(SYS_mmap, NULL, kBytes, PROT_READ, MAP_SHARED, file, 0L);
  const int bad = look(bytes);
  syscall(SYS_munmap, bytes, kBytes);
  syscall(SYS_exit, bad);
  return 2;
}

/* Reads that can't be traced. */
static int by_a_killed_child(void) {
  const pid_t child = fork();
  if (child == 0) {
    look_private();
    kill(getpid(), SIGKILL);
  }
  return status_of(child);
}
static int by_who_goes_on(void) {
  int ends[2];
  char has_read;
  if (pipe(ends) != 0) fail("pipe");
  if (fork() == 0) {
    look_private();
    if (write(ends[1], "", 1) != 1) fail("write");
    sleep(100);
  }
  if (read(ends[0], &has_read, 1) != 1) fail("read");
  return 0;
}
static int truncated(void) {
  const int file = opened(O_RDWR);
  const int bad = look(mapped(file, MAP_SHARED));
  return bad | ftruncate(file, 0);
}
static int by_another_name(void) {
  char name[32];
  snprintf(name, sizeof(name), "/proc/self/fd/%d", opened(O_RDONLY));
  path = name;
  return look_private();
}
static int from_standard_input(void) {
  dup2(opened(O_RDONLY), 0);
  uint64_t word;
  return read(0, &word, sizeof(word)) != sizeof(word) || word == kBad;
}
static int by_splice(void) {
  int ends[2];
  if (pipe(ends) != 0) fail("pipe");
  uint64_t word;
  if (splice(opened(O_RDONLY), NULL, ends[1], NULL, sizeof(word), 0) != sizeof(word))
    fail("splice");
  return read(ends[0], &word, sizeof(word)) != sizeof(word) || word == kBad;
}
static int by_residence(void) {
  unsigned char there[kPages];
  return mincore(mapped(opened(O_RDWR), MAP_SHARED), kBytes, there);
}
static int by_holes(void) { return lseek(opened(O_RDONLY), 0, SEEK_HOLE) < 0; }
static int sent(void) {
  const int file = opened(O_RDONLY);
  struct msghdr message;
  memset(&message, 0, sizeof(message));
  return sendmsg(file, &message, 0) >= 0;
}
static int by_other_calls(void) {
  look_private();
  syscall(0x40000000 + SYS_getpid);
  return 0;
}
/* As programs of 32 bits do it: link(NULL, NULL), which has mmap's number. */
static int by_old_calls(void) {
  look_private();
  const pid_t child = fork();
  if (child == 0) {
    long result = 9;
    __asm__ volatile("int $0x80" : "+a"(result) : "b"(0), "c"(0) : "memory");
    _exit(0);
  }
  status_of(child);
  return 0;
}
static void* wait_for_long(void* unused) {
  sleep(100);
  return unused;
}
static int dropped_beside_a_thread(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, wait_for_long, NULL);
  return dropped();
}
static int onto_the_heap(void) {
  char* end = sbrk(2 * kBytes);
  char* at = (char*)(((uintptr_t)end + kPage - 1) & -(uintptr_t)kPage);
  mmap(at, kBytes, PROT_READ, MAP_SHARED | MAP_FIXED, opened(O_RDWR), 0);
  const int bad = look(at);
  sbrk(-2 * kBytes);
  return bad;
}
static int collapsed(void) {
  char* bytes = mapped(opened(O_RDWR), MAP_SHARED);
  const int bad = look(bytes);
  madvise(bytes, kBytes, 25 /* MADV_COLLAPSE */);
  return bad;
}

/* What goes otherwise while it is watched. */
static int many_calls(void) {
  for (int i = 0; i < 30000; ++i) syscall(SYS_munmap, 1, 1);
  return look_private();
}
static int unwatched(void) {
  struct sock_filter all = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  struct sock_fprog program = {1, &all};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  const long listener =
      syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
  return listener < 0;
}
/* Signals come all the time, and none may get lost. */
enum { kSignals = 3000 };
static volatile int came;
static void on_signal(int number) { came += number == SIGRTMIN; }
static int interrupted(void) {
  struct sigaction action;
  memset(&action, 0, sizeof(action));
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigaction(SIGRTMIN, &action, NULL);
  const pid_t parent = getpid(), child = fork();
  const union sigval nothing = {0};
  for (int i = 0; child == 0 && i < kSignals; ++i) {
    while (sigqueue(parent, SIGRTMIN, nothing) != 0) usleep(10);
    if (i % 10 == 0) usleep(10);
  }
  if (child == 0) _exit(0);
  int bad = 0;
  for (int i = 0; i < 300 && came < kSignals / 2; ++i) bad |= unmapped() | by_read();
  for (int left = 15000; came < kSignals && left > 0; --left) usleep(1000);
  return bad || came != kSignals;
}
/* Tells somebody else the image's name, by a file, and waits until that is gone. */
static int by_somebody_else(void) {
  const char* asked = getenv("ASKED");
  FILE* file = fopen(asked, "w");
  fprintf(file, "%s\n", path);
  fclose(file);
  while (access(asked, F_OK) == 0) usleep(100);
  return 0;
}

static const struct {
  const char* name;
  int (*check)(void);
} kWays[] = {
#define WAY(name) {#name, name}
    WAY(shared),
    WAY(shared_read_only),
    {"private", look_private},
    WAY(written),
    WAY(in_parts),
    WAY(by_the_kernel),
    WAY(closed),
    WAY(unmapped),
    WAY(unmapped_in_part),
    WAY(replaced),
    WAY(dropped),
    WAY(moved),
    WAY(moved_over),
    WAY(by_read),
    WAY(by_pread),
    WAY(whole),
    WAY(by_stdio),
    WAY(by_readv),
    WAY(without_right),
    WAY(of_the_same_size),
    WAY(by_a_child),
    WAY(mapped_before_fork),
    WAY(spawned),
    WAY(by_the_shell),
    WAY(executed),
    WAY(executed_in_vain),
    WAY(in_a_thread),
    WAY(after_main),
    WAY(at_once),
    WAY(at_exit),
    WAY(raw),
    WAY(by_a_killed_child),
    WAY(by_who_goes_on),
    WAY(truncated),
    WAY(by_another_name),
    WAY(from_standard_input),
    WAY(by_splice),
    WAY(by_residence),
    WAY(by_holes),
    WAY(sent),
    WAY(by_other_calls),
    WAY(by_old_calls),
    WAY(dropped_beside_a_thread),
    WAY(led),
    WAY(onto_the_heap),
    WAY(collapsed),
    WAY(many_calls),
    WAY(unwatched),
    WAY(interrupted),
    WAY(by_somebody_else),
};

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  self = argv[0];
  path = argv[argc - 1];
  for (int i = 2; i < argc - 1; ++i) pages[count++] = atoi(argv[i]);
  for (size_t i = 0; i < sizeof(kWays) / sizeof(kWays[0]); ++i) {
    if (strcmp(argv[1], kWays[i].name) == 0) return kWays[i].check();
  }
  fprintf(stderr, "%s: no such way\n", argv[1]);
  return 2;
}
