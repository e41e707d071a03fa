/* A thread sends messages to another one through an array; both spin. Prints the address of the
 * number of messages. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum { MESSAGES = 200 };

static _Alignas(64) atomic_ulong sent;
static _Alignas(64) atomic_ulong received;
static unsigned long messages[MESSAGES], sum;

static void* receive(void* nothing) {
  for (unsigned long i = 0; i < MESSAGES; ++i) {
    while (atomic_load_explicit(&sent, memory_order_acquire) <= i) {
    }
    sum += messages[i];
    atomic_store_explicit(&received, i + 1, memory_order_release);
  }
  return nothing;
}

int main(void) {
  pthread_t receiver;
  if (pthread_create(&receiver, NULL, receive, NULL) != 0) return 2;
  for (unsigned long i = 0; i < MESSAGES; ++i) {
    while (atomic_load_explicit(&received, memory_order_acquire) + 16 <= i) {
    }
    messages[i] = i;
    atomic_store_explicit(&sent, i + 1, memory_order_release);
  }
  pthread_join(receiver, NULL);
  printf("%p\n", (void*)&sent);
  return sum == MESSAGES * (MESSAGES - 1ul) / 2 ? 0 : 1;
}
