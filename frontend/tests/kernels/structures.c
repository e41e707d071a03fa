#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define N 2000
struct node {
  struct node *next, *left, *right;
  unsigned long key, value;
};
static struct node pool[N];
static int used;
static struct node* root;
static unsigned long rng = 88172645463325252ul;
static unsigned long next_random(void) {
  rng ^= rng << 13;
  rng ^= rng >> 7;
  rng ^= rng << 17;
  return rng;
}
static struct node* insert(struct node* n, unsigned long key) {
  if (!n) {
    n = &pool[used++];
    n->key = key;
    n->left = n->right = 0;
    return n;
  }
  if (key < n->key)
    n->left = insert(n->left, key);
  else if (key > n->key)
    n->right = insert(n->right, key);
  return n;
}
static unsigned long sum(struct node* n) {
  return n ? sum(n->left) + n->key % 7 + sum(n->right) : 0;
}
static struct node* table[256];
static struct node* find(unsigned long key) {
  for (struct node* n = table[key * 0x9E3779B97F4A7C15ul >> 56]; n; n = n->next)
    if (n->key == key) return n;
  return 0;
}
static int cmp(const void* a, const void* b) {
  int x = *(const int*)a, y = *(const int*)b;
  return x < y ? -1 : x > y;
}
static void isort(int* a, int n) {
  for (int i = 1; i < n; i++) {
    int v = a[i], j = i;
    while (j > 0 && cmp(&a[j - 1], &v) > 0) {
      a[j] = a[j - 1];
      j--;
    }
    a[j] = v;
  }
}
static double mat[32][32], out[32][32];
int dispatch(int op, int x) {
  switch (op) {
    case 0:
      return x + 1;
    case 1:
      return x * 3;
    case 2:
      return x ^ 5;
    case 3:
      return x - 7;
    case 4:
      return x << 1;
    case 5:
      return ~x;
    default:
      return 0;
  }
}
int main(void) {
  for (int i = 0; i < N; i++) root = insert(root, next_random() % 10000);
  unsigned long s = sum(root);
  for (int i = 0; i < used; i++) {
    struct node** b = &table[pool[i].key * 0x9E3779B97F4A7C15ul >> 56];
    pool[i].next = *b;
    *b = &pool[i];
  }
  int hits = 0;
  for (int i = 0; i < 5000; i++) hits += find(next_random() % 10000) != 0;
  int a[500];
  for (int i = 0; i < 500; i++) a[i] = next_random() % 1000;
  isort(a, 500);
  for (int i = 0; i < 32; i++)
    for (int j = 0; j < 32; j++) mat[i][j] = i * j + 0.5;
  for (int i = 0; i < 32; i++)
    for (int j = 0; j < 32; j++) {
      double x = 0;
      for (int k = 0; k < 32; k++) x += mat[i][k] * mat[k][j];
      out[i][j] = x;
    }
  int v = 1;
  for (int i = 0; i < 5000; i++) v = dispatch(next_random() % 7, v);
  char buf[64];
  for (int i = 0; i < 1000; i++) {
    memset(buf, i, 40);
    memcpy(buf + 8, a + (i % 100), 24);
    v += buf[i % 40];
  }
  volatile int sink = v + hits + (int)s + (int)out[3][4] + a[7];
  (void)sink;
  return 0;
}
