/* The allocation of an array persists the pointer to it. A description with a pointer counts as
 * complete, but its name isn't durable yet. */
#define ANSWERS
#include "case.h"

enum { ARRAYS = 2, NAME = 20, LENGTH = 2 };
struct description {
  IN_LINE char name[LINE];
  IN_LINE uint64_t array; /* its number, from 1 on */
};
struct array {
  IN_LINE uint64_t values[LENGTH];
};
struct pool {
  struct description descriptions[ARRAYS];
  struct array arrays[1 + ARRAYS];
};

static void allocate(struct pool* pool, uint64_t* number, uint64_t value) {
  struct array* array = &pool->arrays[value];
  for (int i = 0; i < LENGTH; ++i) array->values[i] = value;
  persist(array, sizeof *array);
  *number = value;
  persist(number, sizeof *number);
}

OPERATION create(struct pool* pool, uint64_t number) {
  struct description* description = &pool->descriptions[number - 1];
  memset(description->name, (int)('a' + number), NAME);
  IF_FIXED(persist(description->name, sizeof description->name);)
  allocate(pool, &description->array, number);
  IF_BUG(persist(description->name, sizeof description->name);)
}

static void run(struct pool* pool) {
  for (uint64_t number = 1; number <= ARRAYS; ++number) create(pool, number);
}

static int check(struct pool* pool) {
  for (int i = 0; i < ARRAYS; ++i) {
    const struct description* description = &pool->descriptions[i];
    if (description->array == 0) continue;
    if (pool->arrays[description->array].values[LENGTH - 1] == 0) return wrong("no array");
    if (strlen(description->name) != NAME) return wrong("an array has lost its name");
  }
  return 0;
}

static void answer(struct pool* pool) {
  for (int i = 0; i < ARRAYS; ++i)
    if (pool->descriptions[i].array) printf("%s\n", pool->descriptions[i].name);
}
