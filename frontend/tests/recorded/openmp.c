// Constructs of OpenMP that order accesses, each with a twin that lacks the order: NAME right,
// NAME wrong. Also compiled as C++.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kThreads = 4, kCells = 64 };

static long cells[kCells], other[kCells], total;
static int right;

static long sum_of(const long* from) {
  long sum = 0;
  for (int i = 0; i < kCells; ++i) sum += from[i];
  return sum;
}

static void let_others_run(void) { usleep(1000); }

// The team has ended, or is still running.
static void fork_join(void) {
  if (right) {
#pragma omp parallel for num_threads(kThreads)
    for (int i = 0; i < kCells; ++i) cells[i] = i;
    total = sum_of(cells);
    return;
  }
#pragma omp parallel num_threads(kThreads)
  {
#pragma omp for nowait
    for (int i = 0; i < kCells; ++i) cells[i] = i;
#pragma omp masked
    total = sum_of(cells);
  }
}

static void many_teams(void) {
  for (int round = 0; round < 5; ++round) {
    cells[round] = round;
#pragma omp parallel num_threads(kThreads)
    {
      other[omp_get_thread_num()] = cells[round] + round;
      if (!right) total = round;
    }
    total += other[round % kThreads];
  }
}

static void nested(void) {
  omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
  {
    const int outer = omp_get_thread_num();
#pragma omp parallel num_threads(2)
    cells[right ? 2 * outer + omp_get_thread_num() : 0] = outer;
    other[outer] = cells[right ? 2 * outer + 1 : 1];
  }
  total = other[0] + other[1];
}

static void barrier(void) {
#pragma omp parallel num_threads(kThreads)
  {
    const int me = omp_get_thread_num();
    for (int round = 0; round < 10; ++round) {
      cells[me] = round;
#pragma omp barrier
      other[me] += cells[(me + 1) % kThreads];
      if (right) {
#pragma omp barrier
      }
    }
  }
}

static void implied_barrier(void) {
#pragma omp parallel num_threads(kThreads)
  {
    if (right) {
#pragma omp for schedule(dynamic, 1)
      for (int i = 0; i < kCells; ++i) cells[i] = i;
    } else {
#pragma omp for schedule(dynamic, 1) nowait
      for (int i = 0; i < kCells; ++i) cells[i] = i;
    }
#pragma omp for schedule(dynamic, 3)
    for (int i = 0; i < kCells; ++i) other[i] = cells[kCells - 1 - i];
  }
}

static void critical(void) {
#pragma omp parallel num_threads(kThreads)
  for (int i = 0; i < 20; ++i) {
    if (right || omp_get_thread_num() % 2 == 0) {
#pragma omp critical
      ++total;
    } else {
#pragma omp critical(another)
      ++total;
    }
  }
}

static void critical_hint(void) {
#pragma omp parallel num_threads(kThreads)
  for (int i = 0; i < 20; ++i) {
    if (right || omp_get_thread_num() % 2 == 0) {
#pragma omp critical(hinted) hint(omp_sync_hint_contended)
      ++total;
    } else {
#pragma omp critical(speculative) hint(omp_sync_hint_uncontended)
      ++total;
    }
  }
}

static void atomic(void) {
  static long ready;
#pragma omp parallel num_threads(2)
  {
    if (omp_get_thread_num() == 0) {
      total = 7;
      if (right) {
#pragma omp atomic write release
        ready = 1;
      } else {
        *(volatile long*)&ready = 1;
      }
    } else if (right) {
      long seen = 0;
      while (seen == 0) {
#pragma omp atomic read acquire
        seen = ready;
      }
      cells[0] = total;
    } else {
      cells[0] = total + *(volatile long*)&ready;
    }
  }
}

static void atomic_update(void) {
#pragma omp parallel num_threads(kThreads)
  for (int i = 0; i < 20; ++i) {
    if (right) {
#pragma omp atomic
      total += i;
    } else {
      total += i;
    }
  }
}

static void single(void) {
#pragma omp parallel num_threads(kThreads)
  {
    if (right) {
#pragma omp single
      total = 7;
    } else {
#pragma omp single nowait
      total = 7;
    }
    cells[omp_get_thread_num()] = total;
  }
}

static void copyprivate(void) {
  long value = 0;
#pragma omp parallel num_threads(kThreads) firstprivate(value)
  {
#pragma omp single copyprivate(value)
    value = cells[0] = 7;
    other[omp_get_thread_num()] = value;
    if (!right) cells[0] = value;
  }
}

static void masked(void) {
#pragma omp parallel num_threads(kThreads)
  {
#pragma omp masked
    total = 7;
    if (right) {
#pragma omp barrier
    }
    cells[omp_get_thread_num()] = total;
  }
}

static void sections(void) {
#pragma omp parallel num_threads(kThreads)
  {
#pragma omp sections
    {
#pragma omp section
      cells[0] = 1;
#pragma omp section
      cells[right ? 1 : 0] = 2;
    }
    other[omp_get_thread_num()] = cells[0] + cells[1];
  }
}

static void ordered(void) {
#pragma omp parallel num_threads(kThreads)
  {
#pragma omp for ordered schedule(dynamic, 1)
    for (int i = 0; i < 20; ++i) {
      cells[i] = i;
      let_others_run();
      if (!right) total += i;
#pragma omp ordered
      total += cells[i];
    }
  }
}

static void ordered_static(void) {
#pragma omp parallel num_threads(kThreads)
  {
#pragma omp for ordered schedule(static, 1)
    for (int i = 0; i < 20; ++i) {
      cells[i] = i;
      if (!right) total += i;
#pragma omp ordered
      total += cells[i];
    }
  }
}

static void doacross(void) {
#pragma omp parallel num_threads(kThreads)
  {
#pragma omp for ordered(1) schedule(static, 1)
    for (int i = 1; i < 20; ++i) {
#pragma omp ordered depend(sink : i - 1)
      cells[i] = cells[i - 1] + 1;
#pragma omp ordered depend(source)
      if (!right) total = i;
    }
  }
}

static void task(void) {
#pragma omp parallel num_threads(kThreads)
#pragma omp single
  for (int i = 0; i < 20; ++i) {
    cells[i] = i;
#pragma omp task firstprivate(i)
    other[i] = cells[i];
    if (!right) cells[i] = 0;
  }
  total = sum_of(other);
}

static void taskwait(void) {
#pragma omp parallel num_threads(kThreads)
#pragma omp single
  {
    for (int i = 0; i < 20; ++i) {
#pragma omp task firstprivate(i)
      cells[i] = i;
    }
    if (right) {
#pragma omp taskwait
    }
    total = sum_of(cells);
  }
}

static long fibonacci(int n) {
  long one = 0, other_one = 0;
  if (n < 2) return n;
#pragma omp task shared(one)
  one = fibonacci(n - 1);
#pragma omp task shared(other_one)
  other_one = fibonacci(n - 2);
#pragma omp taskwait
  if (!right) total += n;
  return one + other_one;
}

static void recursion(void) {
#pragma omp parallel num_threads(kThreads)
#pragma omp single
  cells[0] = fibonacci(12);
  if (cells[0] != 144) abort();
}

static void grouped(int depth) {
#pragma omp taskgroup
  for (int i = 0; i < 3 && depth > 0; ++i) {
#pragma omp task untied
    grouped(depth - 1);
  }
  if (right) {
#pragma omp atomic
    ++total;
  } else {
    ++total;
  }
}

static void group_recursion(void) {
#pragma omp parallel num_threads(kThreads)
#pragma omp single
  grouped(5);
  if (total != 1 + 3 + 9 + 27 + 81 + 243) abort();
}

// taskwait does not wait for the children of tasks; taskgroup does.
static void taskgroup(void) {
#pragma omp parallel num_threads(kThreads)
#pragma omp single
  {
#pragma omp taskgroup
    {
      for (int i = 0; i < 10; ++i) {
#pragma omp task firstprivate(i)
        {
#pragma omp task firstprivate(i)
          cells[i] = i;
        }
      }
      if (!right) {
#pragma omp taskwait
        total = sum_of(cells);
      }
    }
    total = sum_of(cells);
  }
}

static void task_barrier(void) {
#pragma omp parallel num_threads(kThreads)
  {
#pragma omp masked
    for (int i = 0; i < 20; ++i) {
#pragma omp task firstprivate(i)
      cells[i] = i;
    }
    if (right) {
#pragma omp barrier
    }
    other[omp_get_thread_num()] = sum_of(cells);
  }
}

static void depend(void) {
#pragma omp parallel num_threads(kThreads)
#pragma omp single
  {
    for (int i = 0; i < 10; ++i) {
#pragma omp task depend(out : cells[0])
      cells[0] = i;
      for (int j = 1; j < 4; ++j) {
        const int on = right ? 0 : 32;
#pragma omp task depend(in : cells[on]) depend(out : other[j]) firstprivate(j)
        other[j] = cells[0];
      }
    }
  }
  total = sum_of(other);
}

static void depend_set(void) {
#pragma omp parallel num_threads(kThreads)
#pragma omp single
  {
    for (int i = 0; i < 8; ++i) {
#pragma omp task depend(inoutset : total) firstprivate(i)
      cells[right ? i : 0] = i;
    }
#pragma omp task depend(in : total)
    other[0] = sum_of(cells);
    for (int i = 0; i < 8; ++i) {
      // Tasks of a set do not exclude each other.
#pragma omp task depend(mutexinoutset : total)
      ++other[1];
    }
  }
}

static void depend_wait(void) {
#pragma omp parallel num_threads(kThreads)
#pragma omp single
  {
#pragma omp task depend(out : cells[0])
    cells[0] = 1;
#pragma omp task depend(out : cells[1])
    cells[1] = 2;
    let_others_run();
#pragma omp taskwait depend(in : cells[0])
    total = cells[right ? 0 : 1];
  }
}

static void undeferred(void) {
#pragma omp parallel num_threads(kThreads)
#pragma omp single
  {
    for (int i = 0; i < 10; ++i) {
#pragma omp task depend(out : cells[0])
      cells[0] = i;
      const int on = right ? 0 : 1;
      let_others_run();
#pragma omp task if (0) depend(in : cells[on])
      total = cells[0];
    }
  }
}

static void taskloop(void) {
#pragma omp parallel num_threads(kThreads)
#pragma omp single
  {
    if (right) {
#pragma omp taskloop grainsize(2)
      for (int i = 0; i < kCells; ++i) cells[i] = i;
    } else {
#pragma omp taskloop grainsize(2) nogroup
      for (int i = 0; i < kCells; ++i) cells[i] = i;
    }
    total = sum_of(cells);
  }
}

static void detach(void) {
#pragma omp parallel num_threads(kThreads)
#pragma omp single
  {
    omp_event_handle_t event;
#pragma omp task detach(event)
    cells[0] = 1;
#pragma omp task firstprivate(event)
    {
      if (right) cells[1] = 2;
      omp_fulfill_event(event);
    }
    let_others_run();
    if (right) {
#pragma omp taskwait
    }
    total = cells[0] + cells[1];
  }
}

static void reduction(void) {
  long sum = 0;
#pragma omp parallel for num_threads(kThreads) reduction(+ : sum)
  for (int i = 0; i < kCells; ++i) {
    sum += i;
    if (!right) total = i;
  }
  total = sum;
}

static void reduction_barrier(void) {
  long sum = 0, most = 0;
#pragma omp parallel num_threads(kThreads)
  {
    if (right) {
#pragma omp for reduction(+ : sum) reduction(max : most)
      for (int i = 0; i < kCells; ++i) sum += i, most = i > most ? i : most;
    } else {
#pragma omp for reduction(+ : sum) reduction(max : most) nowait
      for (int i = 0; i < kCells; ++i) sum += i, most = i > most ? i : most;
    }
    cells[omp_get_thread_num()] = sum + most;
  }
}

static void reduction_array(void) {
  long sums[16] = {0};
#pragma omp parallel for num_threads(8) reduction(+ : sums[ : 16])
  for (int i = 0; i < kCells; ++i) {
    sums[i % 16] += i;
    if (!right) total = i;
  }
  total = sums[3];
}

static void task_reduction(void) {
  long sum = 0;
#pragma omp parallel num_threads(kThreads)
#pragma omp single
  {
#pragma omp taskgroup task_reduction(+ : sum)
    for (int i = 0; i < 20; ++i) {
#pragma omp task in_reduction(+ : sum) firstprivate(i)
      {
        sum += i;
        if (!right) total = i;
      }
    }
    total = sum;
  }
}

static void lock(void) {
  omp_lock_t locks[2];
  omp_init_lock(&locks[0]);
  omp_init_lock_with_hint(&locks[1], omp_sync_hint_contended);
#pragma omp parallel num_threads(kThreads)
  for (int i = 0; i < 20; ++i) {
    omp_lock_t* mine = &locks[right ? 0 : omp_get_thread_num() % 2];
    if (i % 3 != 0 || !omp_test_lock(mine)) omp_set_lock(mine);
    ++total;
    omp_unset_lock(mine);
  }
  omp_destroy_lock(&locks[0]);
  omp_destroy_lock(&locks[1]);
}

static void nest_lock(void) {
  omp_nest_lock_t mine;
  omp_init_nest_lock(&mine);
#pragma omp parallel num_threads(kThreads)
  for (int i = 0; i < 20; ++i) {
    omp_set_nest_lock(&mine);
    omp_set_nest_lock(&mine);
    ++total;
    omp_unset_nest_lock(&mine);
    ++total;
    omp_unset_nest_lock(&mine);
    if (!right) ++total;
  }
  omp_destroy_nest_lock(&mine);
}

static void flush(void) {
  static long ready;
#pragma omp parallel num_threads(2)
  {
    if (omp_get_thread_num() == 0) {
      total = 7;
#pragma omp flush
      if (right) {
#pragma omp atomic write
        ready = 1;
      }
    } else {
      long seen = !right;
      while (seen == 0) {
#pragma omp atomic read
        seen = ready;
      }
#pragma omp flush
      cells[0] = total;
    }
  }
}

static void teams(void) {
#pragma omp teams num_teams(2)
#pragma omp distribute parallel for
  for (int i = 0; i < kCells; ++i) cells[right ? i : 0] = i;
  total = sum_of(cells);
}

static const struct {
  const char* name;
  void (*run)(void);
} constructs[] = {
#define CONSTRUCT(name) {#name, &name}
    CONSTRUCT(fork_join),
    CONSTRUCT(many_teams),
    CONSTRUCT(nested),
    CONSTRUCT(barrier),
    CONSTRUCT(implied_barrier),
    CONSTRUCT(critical),
    CONSTRUCT(critical_hint),
    CONSTRUCT(atomic),
    CONSTRUCT(atomic_update),
    CONSTRUCT(single),
    CONSTRUCT(copyprivate),
    CONSTRUCT(masked),
    CONSTRUCT(sections),
    CONSTRUCT(ordered),
    CONSTRUCT(ordered_static),
    CONSTRUCT(doacross),
    CONSTRUCT(task),
    CONSTRUCT(taskwait),
    CONSTRUCT(recursion),
    CONSTRUCT(group_recursion),
    CONSTRUCT(taskgroup),
    CONSTRUCT(task_barrier),
    CONSTRUCT(depend),
    CONSTRUCT(depend_set),
    CONSTRUCT(depend_wait),
    CONSTRUCT(undeferred),
    CONSTRUCT(taskloop),
    CONSTRUCT(detach),
    CONSTRUCT(reduction),
    CONSTRUCT(reduction_barrier),
    CONSTRUCT(reduction_array),
    CONSTRUCT(task_reduction),
    CONSTRUCT(lock),
    CONSTRUCT(nest_lock),
    CONSTRUCT(flush),
    CONSTRUCT(teams),
};

int main(int count, char** arguments) {
  right = count > 2 && strcmp(arguments[2], "right") == 0;
  for (unsigned i = 0; count > 1 && i < sizeof constructs / sizeof *constructs; ++i) {
    if (strcmp(arguments[1], constructs[i].name) == 0) {
      constructs[i].run();
      return 0;
    }
  }
  for (unsigned i = 0; i < sizeof constructs / sizeof *constructs; ++i) puts(constructs[i].name);
  return 0;
}
