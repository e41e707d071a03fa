/* A server thread answers by a call of the C library: `replies RECEIVER CALL DATA early|late POOL`.
 * `early`: what the reply depends on is persistent before it; `late`: only afterwards. */
#define _GNU_SOURCE
#include <emmintrin.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { POOL_BYTES = 1 << 16 };

struct pool {
  _Alignas(64) uint64_t value;
  _Alignas(64) uint64_t flag;
};
struct message {
  uint64_t kind, value;
};

static struct pool* pool;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *receiver, *call, *data;
static int early, client, descriptor;
static FILE* stream;

static int is(const char* word, const char* other) { return strcmp(word, other) == 0; }

static void must(int holds) {
  if (!holds) abort();
}

__attribute__((target("clwb"))) static void persist(void* line) {
  __builtin_ia32_clwb(line);
  _mm_sfence();
}

static int receiver_of_replies(const char* path) {
  int ends[2] = {1, 1};
  if (is(receiver, "socket")) {
    must(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  } else if (is(receiver, "pipe")) {
    must(pipe(ends) == 0);
  } else if (is(receiver, "device")) {
    ends[1] = open("/dev/null", O_WRONLY);
  } else if (is(receiver, "file")) {
    ends[1] = open(path, O_WRONLY | O_CREAT, 0600);
  } else if (is(receiver, "terminal")) {
    ends[0] = posix_openpt(O_RDWR | O_NOCTTY);
    must(grantpt(ends[0]) == 0 && unlockpt(ends[0]) == 0);
    ends[1] = open(ptsname(ends[0]), O_WRONLY | O_NOCTTY);
  }
  must(ends[1] >= 0);
  client = ends[0];
  return ends[1];
}

static int is_stream(void) {
  return is(call, "fprintf") || is(call, "fputs") || is(call, "fwrite");
}

static void reply_by_stream(const void* bytes, size_t count) {
  must(fileno(stream) == descriptor);
  const struct message* message = count == sizeof *message ? bytes : NULL;
  if (is(call, "fprintf")) {
    must(fprintf(stream, message ? "%lu\n" : "stored\n", message ? message->value : 0) > 0);
  }
  if (is(call, "fputs")) must(fputs((const char*)bytes, stream) >= 0);
  if (is(call, "fwrite")) must(fwrite(bytes, count, 1, stream) == 1);
  must(fflush(stream) == 0);
}

static void reply(void* bytes, size_t count) {
  if (is_stream()) return reply_by_stream(bytes, count);
  struct iovec parts[2] = {{"> ", 2}, {bytes, count}};
  struct msghdr whole = {.msg_iov = parts, .msg_iovlen = 2};
  struct mmsghdr several = {.msg_hdr = whole};
  if (is(call, "write")) must(write(descriptor, bytes, count) > 0);
  if (is(call, "pwrite")) must(pwrite(descriptor, bytes, count, 0) > 0);
  if (is(call, "writev")) must(writev(descriptor, parts, 2) > 0);
  if (is(call, "syscall")) must(syscall(SYS_write, descriptor, bytes, count) > 0);
  if (is(call, "send")) must(send(descriptor, bytes, count, 0) > 0);
  if (is(call, "sendto")) must(sendto(descriptor, bytes, count, 0, NULL, 0) > 0);
  if (is(call, "sendmsg")) must(sendmsg(descriptor, &whole, 0) > 0);
  if (is(call, "sendmmsg")) must(sendmmsg(descriptor, &several, 1, 0) > 0);
  if (is(call, "dprintf")) must(dprintf(descriptor, "%s\n", "stored") > 0);
}

/* The store is the server's own. */
static void acknowledge(void) {
  char text[] = "stored";
  pool->value = 7; /* own store */
  if (early) persist(&pool->value);
  if (is(data, "memory")) {
    reply(&pool->value, sizeof pool->value);
  } else {
    reply(text, sizeof text);
  }
  if (is(data, "put off")) { /* until the client has ended */
    must(shutdown(client, SHUT_WR) == 0 && read(descriptor, text, 1) == 0);
  }
  if (!early) persist(&pool->value);
}

__attribute__((noinline)) static uint64_t current(void) {
  pthread_mutex_lock(&lock);
  const uint64_t value = pool->value;
  pthread_mutex_unlock(&lock);
  return value;
}

static void* serve(void* unused) {
  struct message message = {.kind = 1};
  do {
    message.value = current();
  } while (message.value == 0);
  if (is(data, "text")) {
    char text[32];
    reply(text, snprintf(text, sizeof text, "value %lu\n", message.value));
    return unused;
  }
  struct message copy;
  memcpy(&copy, &message, sizeof copy);
  reply(&copy, sizeof copy);
  return unused;
}

static void store(void) {
  pthread_mutex_lock(&lock);
  pool->value = 7; /* other thread's store */
  if (early) persist(&pool->value);
  pthread_mutex_unlock(&lock);
  if (!early) persist(&pool->value);
}

int main(int count, char** words) {
  must(count == 6);
  receiver = words[1];
  call = words[2];
  data = words[3];
  early = is(words[4], "early");
  const int file = open(words[5], O_RDWR | O_CREAT, 0600);
  must(ftruncate(file, POOL_BYTES) == 0);
  pool = mmap(NULL, POOL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  must(pool != MAP_FAILED);
  descriptor = receiver_of_replies("replies.log");
  if (is_stream()) must((stream = fdopen(descriptor, "w")) != NULL);
  if (is(data, "value") || is(data, "text")) {
    pthread_t thread;
    must(pthread_create(&thread, NULL, serve, NULL) == 0);
    store();
    pthread_join(thread, NULL);
  } else {
    acknowledge();
  }
  return 0;
}
