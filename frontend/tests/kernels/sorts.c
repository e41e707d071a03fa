// Sorts: insertion, heap, merge and quick.
#include <stdint.h>
#include <stdio.h>

enum { COUNT = 2000 };

static void insertion(int32_t* values, int count) {
  for (int i = 1; i < count; ++i) {
    const int32_t value = values[i];
    int at = i;
    for (; at > 0 && values[at - 1] > value; --at) values[at] = values[at - 1];
    values[at] = value;
  }
}

static void sift(int32_t* values, int at, int count) {
  for (;;) {
    int child = 2 * at + 1;
    if (child >= count) return;
    if (child + 1 < count && values[child + 1] > values[child]) ++child;
    if (values[at] >= values[child]) return;
    const int32_t value = values[at];
    values[at] = values[child];
    values[child] = value;
    at = child;
  }
}

static void heap(int32_t* values, int count) {
  for (int i = count / 2 - 1; i >= 0; --i) sift(values, i, count);
  for (int last = count - 1; last > 0; --last) {
    const int32_t value = values[0];
    values[0] = values[last];
    values[last] = value;
    sift(values, 0, last);
  }
}

static void merge(int32_t* values, int count, int32_t* space) {
  if (count < 2) return;
  const int half = count / 2;
  merge(values, half, space);
  merge(values + half, count - half, space);
  int left = 0, right = half;
  for (int i = 0; i < count; ++i) {
    const int from_left = right == count || (left < half && values[left] <= values[right]);
    space[i] = from_left ? values[left++] : values[right++];
  }
  for (int i = 0; i < count; ++i) values[i] = space[i];
}

static void quick(int32_t* values, int first, int last) {
  while (last - first > 8) {
    const int32_t pivot = values[(first + last) / 2];
    int low = first, high = last;
    while (low <= high) {
      while (values[low] < pivot) ++low;
      while (values[high] > pivot) --high;
      if (low > high) break;
      const int32_t value = values[low];
      values[low++] = values[high];
      values[high--] = value;
    }
    quick(values, first, high);
    first = low;
  }
  if (last > first) insertion(values + first, last - first + 1);
}

static void fill(int32_t* values) {
  uint32_t random = 12345;
  for (int i = 0; i < COUNT; ++i) {
    random = random * 1664525u + 1013904223u;
    values[i] = (int32_t)(random >> 8);
  }
}

static uint64_t check(const int32_t* values, int count) {
  uint64_t sum = 0;
  for (int i = 1; i < count; ++i) {
    if (values[i - 1] > values[i]) return 0;
    sum = sum * 31 + (uint64_t)values[i];
  }
  return sum;
}

int main(void) {
  static int32_t values[COUNT], space[COUNT];
  fill(values);
  insertion(values, 300);
  uint64_t sum = check(values, 300);
  fill(values);
  heap(values, COUNT);
  sum ^= check(values, COUNT);
  fill(values);
  merge(values, COUNT, space);
  sum += check(values, COUNT);
  fill(values);
  quick(values, 0, COUNT - 1);
  sum ^= check(values, COUNT);
  printf("%llu\n", (unsigned long long)sum);
  return 0;
}
