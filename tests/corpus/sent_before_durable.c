/* A thread sends a value to a client that another thread has not made durable yet. */
#include "case.h"

enum { VALUES = 3 };

struct pool {
  IN_LINE uint64_t value;
};
struct message {
  uint64_t kind, value;
};
static struct pool* shared;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int client, server; /* the ends of a pipe */

static void* update(void* unused) {
  for (uint64_t value = 1; value <= VALUES; ++value) {
    pthread_mutex_lock(&lock);
    shared->value = value;
    IF_FIXED(persist(&shared->value, sizeof shared->value);)
    pthread_mutex_unlock(&lock);
    IF_BUG(persist(&shared->value, sizeof shared->value);)
  }
  return unused;
}

static uint64_t current(void) {
  pthread_mutex_lock(&lock);
  const uint64_t value = shared->value;
  pthread_mutex_unlock(&lock);
  return value;
}

static void* serve(void* unused) {
  struct message message = {.kind = 1};
  do {
    message.value = current();
    struct message sent;
    memcpy(&sent, &message, sizeof sent);
    if (write(server, &sent, sizeof sent) != sizeof sent) abort();
  } while (message.value < VALUES);
  return unused;
}

static void run(struct pool* pool) {
  shared = pool;
  int ends[2];
  if (pipe(ends) != 0) abort();
  client = ends[0];
  server = ends[1];
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, serve, NULL);
  pthread_create(&threads[1], NULL, update, NULL);
  struct message message;
  do {
    if (read(client, &message, sizeof message) != sizeof message) abort();
  } while (message.value < VALUES);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
}

static int check(struct pool* pool) {
  return pool->value > VALUES ? wrong("a value that no thread has stored") : 0;
}
