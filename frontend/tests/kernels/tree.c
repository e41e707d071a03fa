// A balanced binary tree (AVL): insertions, look-ups, a walk, removals of the smallest.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct Node {
  struct Node *left, *right;
  int64_t key;
  int height;
} Node;

static int height(const Node* node) { return node != NULL ? node->height : 0; }

static void update(Node* node) {
  const int left = height(node->left), right = height(node->right);
  node->height = 1 + (left > right ? left : right);
}

static Node* rotate_right(Node* node) {
  Node* left = node->left;
  node->left = left->right;
  left->right = node;
  update(node);
  update(left);
  return left;
}

static Node* rotate_left(Node* node) {
  Node* right = node->right;
  node->right = right->left;
  right->left = node;
  update(node);
  update(right);
  return right;
}

static Node* balance(Node* node) {
  update(node);
  const int difference = height(node->left) - height(node->right);
  if (difference > 1) {
    if (height(node->left->left) < height(node->left->right)) node->left = rotate_left(node->left);
    return rotate_right(node);
  }
  if (difference < -1) {
    if (height(node->right->right) < height(node->right->left)) {
      node->right = rotate_right(node->right);
    }
    return rotate_left(node);
  }
  return node;
}

static Node* insert(Node* node, int64_t key) {
  if (node == NULL) {
    node = malloc(sizeof *node);
    *node = (Node){NULL, NULL, key, 1};
    return node;
  }
  if (key < node->key) {
    node->left = insert(node->left, key);
  } else if (key > node->key) {
    node->right = insert(node->right, key);
  } else {
    return node;
  }
  return balance(node);
}

static int contains(const Node* node, int64_t key) {
  while (node != NULL && node->key != key) node = key < node->key ? node->left : node->right;
  return node != NULL;
}

static int64_t sum(const Node* node) {
  return node == NULL ? 0 : sum(node->left) * 3 + node->key + sum(node->right);
}

static Node* remove_least(Node* node, int64_t* key) {
  if (node->left == NULL) {
    Node* right = node->right;
    *key = node->key;
    free(node);
    return right;
  }
  node->left = remove_least(node->left, key);
  return balance(node);
}

int main(void) {
  Node* root = NULL;
  for (int64_t i = 0; i < 800; ++i) root = insert(root, i * 7919 % 1009);
  int64_t found = 0, key = 0;
  for (int64_t i = 0; i < 1009; ++i) found += contains(root, i);
  found ^= sum(root);
  for (int i = 0; i < 300; ++i) {
    root = remove_least(root, &key);
    found += key;
  }
  printf("%lld\n", (long long)found);
  return 0;
}
