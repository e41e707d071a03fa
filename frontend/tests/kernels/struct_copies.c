// Structures that are passed, returned, assigned and swapped by value.
#include <stdint.h>
#include <stdio.h>

typedef struct {
  double x, y, z;
} Vector;

typedef struct {
  Vector rows[3];
} Rotation;

typedef struct {
  char name[24];
  uint32_t id, flags;
  Vector position;
} Entry;

__attribute__((noinline)) static Vector add(Vector a, Vector b) {
  return (Vector){a.x + b.x, a.y + b.y, a.z + b.z};
}

static double dot(Vector a, Vector b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

__attribute__((noinline)) static Vector turn(Rotation by, Vector v) {
  return (Vector){dot(by.rows[0], v), dot(by.rows[1], v), dot(by.rows[2], v)};
}

__attribute__((noinline)) static Rotation combine(Rotation a, Rotation b) {
  Rotation result;
  for (int i = 0; i < 3; ++i) {
    const Vector row = a.rows[i];
    result.rows[i] = (Vector){
        row.x * b.rows[0].x + row.y * b.rows[1].x + row.z * b.rows[2].x,
        row.x * b.rows[0].y + row.y * b.rows[1].y + row.z * b.rows[2].y,
        row.x * b.rows[0].z + row.y * b.rows[1].z + row.z * b.rows[2].z,
    };
  }
  return result;
}

__attribute__((noinline)) static Entry make(uint32_t id) {
  Entry entry = {.name = "entry", .id = id, .flags = id % 3, .position = {id, id * 0.5, -1}};
  entry.name[5] = (char)('0' + id % 10);
  return entry;
}

__attribute__((noinline)) static void sort(Entry* entries, int count) {
  for (int i = 1; i < count; ++i) {
    const Entry entry = entries[i];
    int at = i;
    for (; at > 0 &&
           entries[at - 1].flags * 1000 - entries[at - 1].id > entry.flags * 1000 - entry.id;
         --at) {
      entries[at] = entries[at - 1];
    }
    entries[at] = entry;
  }
}

int main(void) {
  static Entry entries[60];
  const Rotation step = {{{0.8, -0.6, 0}, {0.6, 0.8, 0}, {0, 0, 1}}};
  Rotation rotation = step;
  Vector sum = {0, 0, 0};
  for (int round = 0; round < 5; ++round) {
    for (uint32_t i = 0; i < 60; ++i) {
      entries[i] = make(i * 37 % 60);
      rotation = combine(rotation, step);
      entries[i].position = turn(rotation, entries[i].position);
      sum = add(sum, entries[i].position);
    }
    sort(entries, 60);
  }
  printf("%.6f %.6f %u %s\n", sum.x, sum.y, entries[7].id, entries[9].name);
  return 0;
}
