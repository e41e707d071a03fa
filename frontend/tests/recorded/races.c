// Threads that race: what each of them reads depends on when the others had their turns, and is
// stored, so that the recording tells whether its turns are right.
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { kThreads = 4, kRounds = 200, kMeetEvery = 50, kWords = 6 };

volatile uint64_t shared;          // races
uint64_t block[kWords];            // races, by copies
uint64_t seen[kThreads][kRounds];  // what was in `shared`
uint64_t copies[kThreads][kRounds][kWords];
_Atomic int arrived;

__attribute__((noinline)) static void note(uint64_t* to, uint64_t value) { *to = value; }

__attribute__((noinline)) static void copy_by_one_instruction(void* to, const void* from,
                                                              uint64_t words) {
  __asm__ volatile("rep movsq" : "+D"(to), "+S"(from), "+c"(words) : : "memory");
}

static void meet(int round) {
  atomic_fetch_add(&arrived, 1);
  while (atomic_load(&arrived) < kThreads * (round / kMeetEvery + 1)) {
  }
}

static void* race(void* argument) {
  const uint64_t self = (uintptr_t)argument;
  uint64_t own[kWords];
  for (int round = 0; round < kRounds; ++round) {
    note(&seen[self][round], shared);
    shared = self << 32 | (uint64_t)round;
    for (int word = 0; word < kWords; ++word) own[word] = self << 32 | (uint64_t)(round * 8 + word);
    if (round % 3 == 0) {
      copy_by_one_instruction(copies[self][round], block, kWords);
      copy_by_one_instruction(block, own, kWords);
    } else if (round % 3 == 1) {
      memcpy(copies[self][round], block, sizeof(block));
      memset(block, (int)(self * 16 + (uint64_t)round % 16), sizeof(block));
    } else {
      memcpy(copies[self][round], block, sizeof(block));
      memcpy(block, own, sizeof(block));
    }
    if (round % kMeetEvery == 0) meet(round);
  }
  return NULL;
}

int main(void) {
  printf("%p %p %p\n", (void*)&shared, (void*)seen, (void*)block);
  fflush(stdout);
  pthread_t threads[kThreads];
  for (uintptr_t i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, race, (void*)i);
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  return 0;
}
