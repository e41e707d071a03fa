// A runtime for the tests of the pass: prints the table of sites and each operation as a line of
// JSON to the file that PRINT_RUNTIME names (or just counts instructions, see below).
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pmemsim_rt.h"

#define MAX_MODULES 64
#define FIRST_SITE 64

static struct pmemsim_rt_module* modules[MAX_MODULES];
static unsigned module_count;
static FILE* output;
static int printing;
static uint64_t instructions;  // total of all reported sites

static const struct pmemsim_rt_site* find(uint32_t site, uint32_t* module) {
  for (unsigned i = 0; i < module_count; ++i) {
    if (site - *modules[i]->base < modules[i]->sites) {
      *module = i;
      return &modules[i]->site[site - *modules[i]->base];
    }
  }
  fprintf(stderr, "site %u is of no module\n", site);
  abort();
}

static void finish(void) {
  fprintf(output, "{\"op\": \"end\", \"instructions\": %" PRIu64 "}\n", instructions);
  fclose(output);
}

// Prints inlined calls as lists of file, line and function, the innermost first.
static void print_inlined_calls(const struct pmemsim_rt_module* module, uint32_t number) {
  fprintf(output, ", \"inlined_at\": [");
  for (const char* before = ""; number != 0; before = ", ") {
    const struct pmemsim_rt_inlined_call* call = &module->inlined_call[number - 1];
    fprintf(output, "%s[\"%s\", %u, \"%s\"]", before, call->file, call->line, call->function);
    number = call->outer;
  }
  fprintf(output, "]");
}

static void print_dependences(const char* name, const uint32_t* dependences, unsigned count) {
  fprintf(output, ", \"%s\": [", name);
  for (unsigned i = 0; i < count; ++i) {
    const uint32_t site = (dependences[i] & ~(1u << 31)) >> 8; /* dependence.hpp */
    fprintf(output, "%s[%u, %u]", i ? ", " : "", site, dependences[i] & 255);
  }
  fprintf(output, "]");
}

void pmemsim_rt_register(struct pmemsim_rt_module* module) {
  if (!output) {
    const char* path = getenv("PRINT_RUNTIME");
    output = fopen(path ? path : "/dev/null", "w");
    printing = path && !getenv("PRINT_RUNTIME_COUNT_ONLY");
    atexit(finish);
  }
  if (module->version != PMEMSIM_RT_VERSION || module_count == MAX_MODULES) abort();
  uint32_t first = FIRST_SITE;
  if (module_count) {
    first = *modules[module_count - 1]->base + modules[module_count - 1]->sites;
  }
  *module->base = first;
  modules[module_count++] = module;
  if (!printing) return;
  fprintf(output, "{\"op\": \"module\", \"inlined_calls\": %u}\n", module->inlined_calls);
  for (uint32_t i = 0; i < module->sites; ++i) {
    const struct pmemsim_rt_site* site = &module->site[i];
    fprintf(output,
            "{\"op\": \"site\", \"module\": %u, \"site\": %u, \"kind\": %u, \"detail\": %u, "
            "\"size\": %u, \"flags\": %u, \"instructions\": %u, \"file\": \"%s\", "
            "\"function\": \"%s\", \"line\": %u",
            module_count - 1, i, site->kind, site->detail, site->size, site->flags,
            site->instructions, site->file, site->function, site->line);
    print_dependences("address", site->dependences, site->address_dependences);
    print_dependences("data", site->dependences + site->address_dependences,
                      site->data_dependences);
    print_inlined_calls(module, site->inlined_call);
    fprintf(output, "}\n");
  }
}

static void print(const char* op, uint32_t site, const volatile void* address, uint64_t bytes,
                  int flag) {
  uint32_t module;
  const struct pmemsim_rt_site* record = find(site, &module);
  flockfile(output);
  instructions += record->instructions;
  if (printing) {
    fprintf(output,
            "{\"op\": \"%s\", \"module\": %u, \"site\": %u, \"address\": %" PRIuPTR
            ", \"bytes\": %" PRIu64 ", \"flag\": %d, \"value\": \"",
            op, module, site - *modules[module]->base, (uintptr_t)address, bytes, flag);
    const int writes = strstr(op, "store") || strstr(op, "update") || strstr(op, "wrote");
    for (uint64_t i = 0; writes && i < bytes; ++i) {
      fprintf(output, "%02x", ((const volatile uint8_t*)address)[i]);
    }
    fprintf(output, "\"}\n");
  }
  funlockfile(output);
}

void pmemsim_rt_load(uint32_t site, const volatile void* address) {
  print("load", site, address, 0, 0);
}
void pmemsim_rt_store(uint32_t site, volatile void* address, uint32_t size) {
  print("store", site, address, size, 0);
}
void pmemsim_rt_pushed(uint32_t site, volatile void* address, const void* caller) {
  (void)caller;
  print("pushed_store", site, address, 8, 0);
}
void pmemsim_rt_atomic_before(uint32_t site, const volatile void* address) {
  (void)site, (void)address;
}
void pmemsim_rt_atomic_load(uint32_t site, const volatile void* address, uint32_t size) {
  print("atomic_load", site, address, size, 0);
}
void pmemsim_rt_atomic_store(uint32_t site, volatile void* address, uint32_t size) {
  print("atomic_store", site, address, size, 0);
}
void pmemsim_rt_atomic_update(uint32_t site, volatile void* address, uint32_t size, int wrote) {
  print("atomic_update", site, address, size, wrote);
}
void* pmemsim_rt_memcpy(uint32_t site, void* to, const void* from, uint64_t bytes) {
  memcpy(to, from, bytes);
  print("memcpy", site, to, bytes, 0);
  instructions += 2 * ((bytes + 15) / 16);
  return to;
}
void* pmemsim_rt_memmove(uint32_t site, void* to, const void* from, uint64_t bytes) {
  memmove(to, from, bytes);
  print("memmove", site, to, bytes, 0);
  instructions += 2 * ((bytes + 15) / 16);
  return to;
}
void* pmemsim_rt_memset(uint32_t site, void* to, int byte, uint64_t bytes) {
  memset(to, byte, bytes);
  print("memset", site, to, bytes, byte);
  instructions += (bytes + 15) / 16;
  return to;
}
void pmemsim_rt_copied(uint32_t site, void* to, const void* from, uint64_t bytes) {
  print(from ? "copied" : "filled", site, to, bytes, 0);
  instructions += (from ? 2 : 1) * ((bytes + 15) / 16);
}
void pmemsim_rt_wrote(uint32_t site, void* to, uint64_t bytes) {
  print("wrote", site, to, bytes, 0);
}
void pmemsim_rt_wrote_string(uint32_t site, char* to) {
  if (to) print("wrote", site, to, strlen(to) + 1, 0);
}
void pmemsim_rt_printed(uint32_t site, void* to, uint64_t bytes) {
  print("printed", site, to, bytes, 0);
}
void pmemsim_rt_branch(uint32_t site, int taken) { print("branch", site, 0, 0, taken); }
void pmemsim_rt_indirect_branch(uint32_t site, const void* target) {
  print("indirect_branch", site, target, 0, 0);
}
void pmemsim_rt_table_jump(uint32_t site, uint32_t target) {
  if (target != PMEMSIM_RT_NO_TARGET) print("table_jump", site, 0, 0, (int)target);
}
void pmemsim_rt_execute(uint32_t site) { print("execute", site, 0, 0, 0); }
void pmemsim_rt_recurrence(uint32_t site, int loop_carried) {
  print("recurrence", site, 0, 0, loop_carried);
}
void pmemsim_rt_flush(uint32_t site, const volatile void* address) {
  print("flush", site, address, 0, 0);
}
void pmemsim_rt_fence(uint32_t site) { print("fence", site, 0, 0, 0); }
static void print_lock(const char* op, const volatile void* lock, int acquired) {
  if (!printing) return;
  fprintf(output, "{\"op\": \"%s\", \"address\": %" PRIuPTR ", \"flag\": %d}\n", op,
          (uintptr_t)lock, acquired);
}
void pmemsim_rt_lock_acquired(const volatile void* lock, int acquired) {
  print_lock("lock_acquired", lock, acquired);
}
void pmemsim_rt_lock_released(const volatile void* lock) { print_lock("lock_released", lock, 0); }
uint64_t pmemsim_rt_external_before(uint32_t site, const char* name, const void* callee) {
  (void)name, (void)callee;
  print("external_before", site, 0, 0, 0);
  return site;
}
void pmemsim_rt_external_after(uint32_t site, uint64_t before, uint64_t first, uint64_t second,
                               uint64_t third, uint64_t result) {
  (void)first, (void)second, (void)third, (void)result;
  if (before != site) abort();
}
void pmemsim_rt_mark(uint32_t mark, uint64_t first, uint64_t second) {
  (void)mark, (void)first, (void)second;
}
void pmemsim_rt_partial(const char* text, const volatile void* address) {
  (void)text, (void)address;
}
