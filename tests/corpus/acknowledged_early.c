/* A server acknowledges a value before the value is durable. */
#include <sys/socket.h>

#include "case.h"

enum { VALUES = 3 };

struct pool {
  IN_LINE uint64_t value;
};
static struct pool* shared;
static int client, server;

static void* serve(void* unused) {
  uint64_t value;
  while (read(server, &value, sizeof value) == sizeof value) {
    shared->value = value;
    IF_FIXED(persist(&shared->value, sizeof shared->value);)
    if (write(server, "stored", 6) != 6) abort();
    IF_BUG(persist(&shared->value, sizeof shared->value);)
  }
  return unused;
}

static void run(struct pool* pool) {
  shared = pool;
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) abort();
  client = ends[0];
  server = ends[1];
  pthread_t thread;
  pthread_create(&thread, NULL, serve, NULL);
  for (uint64_t value = 1; value <= VALUES; ++value) {
    char answer[6];
    if (write(client, &value, sizeof value) != sizeof value) abort();
    if (read(client, answer, sizeof answer) != sizeof answer) abort();
  }
  shutdown(client, SHUT_WR);
  pthread_join(thread, NULL);
}

static int check(struct pool* pool) {
  return pool->value > VALUES ? wrong("a value that no client has sent") : 0;
}
