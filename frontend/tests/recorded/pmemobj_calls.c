// Uses of libpmemobj, by name. The ones whose names begin with `no_` lack a step.
#include <libpmemobj.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

POBJ_LAYOUT_BEGIN(calls);
POBJ_LAYOUT_ROOT(calls, struct root);
POBJ_LAYOUT_TOID(calls, struct node);
POBJ_LAYOUT_END(calls);

struct node {
  uint64_t value;
  TOID(struct node) next;
  POBJ_LIST_ENTRY(struct node) entry;
  char text[40];
};
struct root {
  TOID(struct node) head;
  uint64_t count;
  uint64_t other;
  PMEMmutex lock;
  PMEMoid text;
  POBJ_LIST_HEAD(nodes, struct node) nodes;
  POBJ_LIST_HEAD(more_nodes, struct node) more;
  char big[1000];
};

static PMEMobjpool* pool;
static TOID(struct root) root;
#define ROOT D_RW(root)

// ---- Transactions
// --------------------------------------------------------------------------------

static void push(uint64_t value) {
  TX_BEGIN(pool) {
    TOID(struct node) node = TX_NEW(struct node);
    D_RW(node)->value = value;
    D_RW(node)->next = ROOT->head;
    TX_ADD_FIELD(root, head);
    TX_ADD_FIELD(root, count);
    ROOT->head = node;
    ROOT->count++;
  }
  TX_END
}
static void transaction(void) {
  for (uint64_t i = 0; i < 5; ++i) push(i);
}
static void nested(void) {
  TX_BEGIN(pool) {
    TX_ADD(root);
    push(1);
    ROOT->other = 7;
  }
  TX_ONCOMMIT { (void)ROOT->count; }
  TX_FINALLY { (void)ROOT->other; }
  TX_END
}
static void aborted(void) {
  push(1);
  TX_BEGIN(pool) {
    TX_ADD_FIELD(root, other);
    ROOT->other = 9;
    TX_ALLOC(struct node, 500);
    pmemobj_tx_free(ROOT->head.oid);
    pmemobj_tx_abort(5);
  }
  TX_END
  D_RW(ROOT->head)->value = 3;  // it was not freed
  pmemobj_persist(pool, &D_RW(ROOT->head)->value, 8);
  ROOT->other++;
  pmemobj_persist(pool, &ROOT->other, 8);
}
static void aborted_inside(void) {
  TX_BEGIN(pool) {
    TX_ADD_FIELD(root, other);
    ROOT->other = 9;
    TX_BEGIN(pool) {
      TX_ADD_FIELD(root, count);
      ROOT->count = 8;
      TX_ALLOC(struct node, (size_t)1 << 40);  // fails, and aborts both
    }
    TX_END
  }
  TX_ONABORT { (void)ROOT->other; }
  TX_END
  push(4);
}
static void with_lock(void) {
  TX_BEGIN_PARAM(pool, TX_PARAM_MUTEX, &ROOT->lock) {
    TX_ADD_FIELD(root, other);
    ROOT->other = 1;
  }
  TX_END
}
static void by_functions(void) {
  if (pmemobj_tx_begin(pool, NULL, TX_PARAM_NONE)) exit(1);
  pmemobj_tx_add_range(root.oid, offsetof(struct root, other), 8);
  pmemobj_tx_xadd_range_direct(ROOT->big, 100, POBJ_XADD_NO_SNAPSHOT);
  ROOT->other = 6;
  memset(ROOT->big, 3, 100);
  pmemobj_tx_commit();
  if (pmemobj_tx_end()) exit(1);
}
static void objects(void) {
  TX_BEGIN(pool) {
    TX_ADD(root);
    ROOT->head = TX_ZNEW(struct node);
    D_RW(ROOT->head)->value = 2;
    ROOT->text = TX_STRDUP("some text", 5);
    ((char*)pmemobj_direct(ROOT->text))[0] = 'S';
    pmemobj_tx_wcsdup(L"wide", 6);
    TOID(struct node) large = TX_XALLOC(struct node, 700, POBJ_XALLOC_ZERO);
    ((char*)D_RW(large))[pmemobj_alloc_usable_size(large.oid) - 1] = 1;
    ROOT->head = TX_REALLOC(ROOT->head, 3000);
    ((char*)D_RW(ROOT->head))[2999] = 1;
  }
  TX_END
  TX_BEGIN(pool) {
    TX_ADD_FIELD(root, head);
    ROOT->head = TX_ZREALLOC(ROOT->head, 6000);
    pmemobj_tx_free(ROOT->text);
    TX_MEMSET(ROOT->big, 4, 500);
    TX_SET(root, other, 5);
  }
  TX_END
}
static void* push_many(void* own) {
  for (uint64_t i = 0; i < 10; ++i) {
    TX_BEGIN_PARAM(pool, TX_PARAM_MUTEX, &ROOT->lock) { push((uint64_t)own + i); }
    TX_END
    TX_BEGIN(pool) {  // a byte of its own in a line that others also change
      TX_ADD_DIRECT(&ROOT->big[(uint64_t)own]);
      ROOT->big[(uint64_t)own]++;
    }
    TX_END
  }
  return NULL;
}
static void threads(void) {
  pthread_t all[3];
  for (uint64_t i = 0; i < 3; ++i) pthread_create(&all[i], NULL, push_many, (void*)(i + 1));
  for (int i = 0; i < 3; ++i) pthread_join(all[i], NULL);
}

// The log saves bytes: the other fields of the line aren't safe.
static void no_add(void) {
  TX_BEGIN(pool) {
    TX_ADD_FIELD(root, count);
    ROOT->count++;
    ROOT->other = 1;  // not-logged
  }
  TX_END
}
static void no_add_before_store(void) {
  TX_BEGIN(pool) {
    ROOT->other = 1;
    TX_ADD_FIELD(root, other);  // logged-late
  }
  TX_END
}
static void no_allocation_of_neighbour(void) {
  TX_BEGIN(pool) {
    TOID(struct node) node = TX_NEW(struct node);
    D_RW(node)->value = 1;
    TX_ADD_FIELD(root, head);
    ROOT->head = node;
  }
  TX_END
  TX_BEGIN(pool) {
    D_RW(ROOT->head)->value = 2;  // not-logged
  }
  TX_END
}

// ---- Without transactions
// ------------------------------------------------------------------------

static void persisted(void) {
  ROOT->count = 1;
  pmemobj_persist(pool, &ROOT->count, 8);
  ROOT->count = 2;
  pmemobj_xpersist(pool, &ROOT->count, 8, 0);
  ROOT->other = 3;
  pmemobj_flush(pool, &ROOT->other, 8);
  ROOT->big[900] = 1;
  pmemobj_xflush(pool, &ROOT->big[900], 1, PMEMOBJ_F_RELAXED);
  pmemobj_drain(pool);
  char bytes[700] = "bytes";
  pmemobj_memcpy_persist(pool, ROOT->big, bytes, 700);
  pmemobj_memset_persist(pool, ROOT->big, 1, 50);
  pmemobj_memcpy(pool, ROOT->big, bytes, 700, PMEMOBJ_F_MEM_NODRAIN);
  pmemobj_memmove(pool, ROOT->big + 3, ROOT->big, 700, 0);
  pmemobj_memset(pool, ROOT->big, 2, 300, PMEMOBJ_F_MEM_TEMPORAL);
}
static void no_persist(void) {
  ROOT->count = 1;  // never-flushed
}
static void no_drain(void) {
  ROOT->count = 1;
  pmemobj_flush(pool, &ROOT->count, 8);  // flushed-not-fenced
}
static void no_drain_of_copy(void) {
  char* big = ROOT->big;
  pmemobj_memset(pool, big, 2, 900, PMEMOBJ_F_MEM_NODRAIN);  // nt-not-fenced flushed-not-fenced
}

static int construct(PMEMobjpool* of, void* object, void* value) {
  struct node* node = object;
  node->value = *(uint64_t*)value;
  pmemobj_persist(of, node, sizeof *node);
  return 0;
}
static int no_persist_in_constructor(PMEMobjpool* of, void* object, void* value) {
  (void)of;
  ((struct node*)object)->value = *(uint64_t*)value;  // no_persist_of_object: never-flushed
  return 0;
}
static void allocated(void) {
  uint64_t value = 5;
  POBJ_NEW(pool, &ROOT->head, struct node, construct, &value);
  POBJ_FREE(&ROOT->head);
  POBJ_ZNEW(pool, &ROOT->head, struct node);
  POBJ_REALLOC(pool, &ROOT->head, struct node, 2000);
  POBJ_ZREALLOC(pool, &ROOT->head, struct node, 5000);
  pmemobj_strdup(pool, &ROOT->text, "text", 7);
  PMEMoid outside;
  pmemobj_alloc(pool, &outside, 64, 8, NULL, NULL);
  pmemobj_xalloc(pool, NULL, 64, 8, POBJ_XALLOC_ZERO, NULL, NULL);
  for (int i = 0; i < 20; ++i) {  // freed memory is allocated again
    POBJ_FREE(&ROOT->head);
    POBJ_NEW(pool, &ROOT->head, struct node, construct, &value);
  }
}
static void no_persist_of_object(void) {
  uint64_t value = 5;
  POBJ_NEW(pool, &ROOT->head, struct node, no_persist_in_constructor, &value);
}
static void no_use_after_free(void) {
  uint64_t value = 5;
  POBJ_ALLOC(pool, &ROOT->head, struct node, 200, construct, &value);
  char* bytes = (char*)D_RW(ROOT->head);
  POBJ_FREE(&ROOT->head);
  bytes[100] = 1;  // used-after-free
  pmemobj_persist(pool, bytes + 100, 1);
}
static void actions(void) {
  struct pobj_action action[3];
  TOID(struct node) node = POBJ_RESERVE_NEW(pool, struct node, &action[0]);
  D_RW(node)->value = 4;
  pmemobj_persist(pool, D_RW(node), sizeof(struct node));
  pmemobj_set_value(pool, &action[1], &ROOT->count, 1);
  pmemobj_set_value(pool, &action[2], &ROOT->head.oid.off, node.oid.off);
  pmemobj_publish(pool, action, 3);
  POBJ_RESERVE_NEW(pool, struct node, &action[0]);
  pmemobj_cancel(pool, action, 1);
  node = POBJ_RESERVE_NEW(pool, struct node, &action[0]);
  D_RW(node)->value = 4;
  pmemobj_persist(pool, D_RW(node), sizeof(struct node));
  TX_BEGIN(pool) {
    pmemobj_tx_publish(action, 1);
    TX_ADD_FIELD(root, head);
    ROOT->head = node;
  }
  TX_END
}
static void lists(void) {
  uint64_t value = 1;
  for (int i = 0; i < 4; ++i) {
    POBJ_LIST_INSERT_NEW_HEAD(pool, &ROOT->nodes, entry, sizeof(struct node), construct, &value);
  }
  TOID(struct node) node;
  POBJ_NEW(pool, &node, struct node, construct, &value);
  POBJ_LIST_INSERT_TAIL(pool, &ROOT->nodes, node, entry);
  POBJ_LIST_MOVE_ELEMENT_HEAD(pool, &ROOT->nodes, &ROOT->more, node, entry, entry);
  POBJ_LIST_REMOVE(pool, &ROOT->more, node, entry);
  POBJ_LIST_REMOVE_FREE(pool, &ROOT->nodes, POBJ_LIST_FIRST(&ROOT->nodes), entry);
  uint64_t sum = 0;
  POBJ_LIST_FOREACH(node, &ROOT->nodes, entry) sum += D_RO(node)->value;
  if (sum != 3) exit(1);
}

#define USE(name) {#name, name}
static const struct use {
  const char* name;
  void (*function)(void);
} uses[] = {
    USE(transaction),
    USE(nested),
    USE(aborted),
    USE(aborted_inside),
    USE(with_lock),
    USE(by_functions),
    USE(objects),
    USE(threads),
    USE(no_add),
    USE(no_add_before_store),
    USE(no_allocation_of_neighbour),
    USE(persisted),
    USE(no_persist),
    USE(no_drain),
    USE(no_drain_of_copy),
    USE(allocated),
    USE(no_persist_of_object),
    USE(no_use_after_free),
    USE(actions),
    USE(lists),
};

int main(int count, char** words) {
  pool = pmemobj_create(words[count - 1], POBJ_LAYOUT_NAME(calls), PMEMOBJ_MIN_POOL, 0600);
  if (!pool) return fprintf(stderr, "%s\n", pmemobj_errormsg()), 1;
  root = POBJ_ROOT(pool, struct root);
  for (unsigned i = 0; i < sizeof uses / sizeof uses[0]; ++i) {
    if (!strcmp(uses[i].name, words[1])) uses[i].function();
  }
  return 0;
}
