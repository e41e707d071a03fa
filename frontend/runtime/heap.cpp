// A heap at a fixed address that counts as persistent memory (PMEMSIM_PM_HEAP=1), for programs that
// allocate with malloc and flush what they wrote. Its allocations are recorded. Without that
// option, the program keeps its own malloc.
//
// Blocks come from lists by size class: four classes for each power of two. The 16 bytes before a
// block contain its class. Only the holder of the token allocates here, or a thread that the C
// library is starting or ending: hence the lock.
#include "heap.hpp"

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include <dlfcn.h>

#include "exported.hpp"
#include "pmemsim_rt.h"
#include "record.hpp"
#include "reserved_memory.hpp"
#include "scheduler.hpp"
#include "sites.hpp"
#include "status.hpp"
#include "trace_addresses.hpp"

// The runtime's malloc(), which the program uses unless it has an allocator of its own.
extern "C" void* pmemsim_rt_malloc(std::size_t bytes) noexcept;

namespace pmemsim::rt {
namespace {

constexpr std::size_t kHeapBytes = std::size_t{1} << 40;
constexpr std::size_t kBlockAlignment = 16;
constexpr std::size_t kSystemPage = 4096;
constexpr std::uint32_t kClasses = 256;

struct BlockHeader {
  std::uint64_t bytes;  // usable bytes
  std::uint32_t size_class;
  std::uint32_t offset;  // from the block's begin to this header (aligned allocations)
};
static_assert(sizeof(BlockHeader) == kBlockAlignment);
struct FreeBlock {
  FreeBlock* next;
};

bool enabled = false;
std::uintptr_t next_block = kHeapBase;
FreeBlock* free_blocks[kClasses];
bool locked = false;

class HeapLock {
 public:
  HeapLock() {
    while (__atomic_test_and_set(&locked, __ATOMIC_ACQUIRE)) {
    }
  }
  ~HeapLock() { __atomic_clear(&locked, __ATOMIC_RELEASE); }
};

// Sizes 16, 32, 48, 64, then 80, 96, 112, 128, 160, 192, 224, 256, 320, ...
std::uint32_t class_of(std::size_t bytes) {
  if (bytes <= 64) return static_cast<std::uint32_t>((bytes + 15) / 16);
  const auto power =
      static_cast<std::uint32_t>(63 - __builtin_clzll(bytes - 1));  // 2^power < bytes
  const std::size_t step = std::size_t{1} << (power - 2);
  const std::size_t part = (bytes - 1 - (std::size_t{1} << power)) / step;  // 0..3
  return 5 + (power - 6) * 4 + static_cast<std::uint32_t>(part);
}
std::size_t class_bytes(std::uint32_t size_class) {
  if (size_class <= 4) return size_class * std::size_t{16};
  const std::uint32_t power = 6 + (size_class - 5) / 4;
  return (std::size_t{1} << power) + ((size_class - 5) % 4 + 1) * (std::size_t{1} << (power - 2));
}

BlockHeader* header_of(void* memory) { return static_cast<BlockHeader*>(memory) - 1; }
bool is_ours(const void* memory) {
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  return address >= kHeapBase && address < kHeapBase + kHeapBytes;
}

void* allocate_block(std::size_t bytes) {
  if (bytes > kHeapBytes / 2) return nullptr;
  const std::uint32_t size_class = class_of(bytes == 0 ? 1 : bytes);
  const std::size_t usable = class_bytes(size_class);
  const HeapLock lock;
  if (FreeBlock* block = free_blocks[size_class]) {
    free_blocks[size_class] = block->next;
    *header_of(block) = {usable, size_class, 0};
    return block;
  }
  if (next_block + sizeof(BlockHeader) + usable > kHeapBase + kHeapBytes) return nullptr;
  auto* header = reinterpret_cast<BlockHeader*>(next_block);
  next_block += sizeof(BlockHeader) + usable;
  *header = {usable, size_class, 0};
  return header + 1;
}

void* allocate_aligned(std::size_t alignment, std::size_t bytes) {
  if (alignment <= kBlockAlignment) return allocate_block(bytes);
  auto* block = static_cast<char*>(allocate_block(bytes + alignment));
  if (block == nullptr) return nullptr;
  const auto address = reinterpret_cast<std::uintptr_t>(block);
  const std::uintptr_t aligned = (address + alignment - 1) & ~(alignment - 1);
  if (aligned == address) return block;
  const BlockHeader whole = *header_of(block);
  auto* memory = reinterpret_cast<void*>(aligned);
  *header_of(memory) = {whole.bytes - (aligned - address), whole.size_class,
                        static_cast<std::uint32_t>(aligned - address)};
  return memory;
}

void free_block(void* memory) {
  const BlockHeader header = *header_of(memory);
  auto* block = reinterpret_cast<FreeBlock*>(static_cast<char*>(memory) - header.offset);
  const HeapLock lock;
  block->next = free_blocks[header.size_class];
  free_blocks[header.size_class] = block;
}

// The allocator that the program would have without the runtime. The look-up of its functions may
// itself allocate a little memory. That memory is from this buffer and is never released.
char early[4096];
std::size_t early_used = 0;
bool looking_up = false;

struct NextAllocator {
  decltype(&::malloc) malloc;
  decltype(&::free) free;
  decltype(&::calloc) calloc;
  decltype(&::realloc) realloc;
  int (*posix_memalign)(void**, std::size_t, std::size_t);
  void* (*aligned_alloc)(std::size_t, std::size_t);
  void* (*memalign)(std::size_t, std::size_t);
  void* (*valloc)(std::size_t);
  void* (*pvalloc)(std::size_t);
  std::size_t (*malloc_usable_size)(void*);
} next;

bool look_up() {
  if (next.malloc != nullptr) return true;
  if (looking_up) return false;
  looking_up = true;
  const auto find = [](auto& function, const char* name) {
    function =
        reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(RTLD_NEXT, name));
  };
  find(next.free, "free");
  find(next.calloc, "calloc");
  find(next.realloc, "realloc");
  find(next.posix_memalign, "posix_memalign");
  find(next.aligned_alloc, "aligned_alloc");
  find(next.memalign, "memalign");
  find(next.valloc, "valloc");
  find(next.pvalloc, "pvalloc");
  find(next.malloc_usable_size, "malloc_usable_size");
  find(next.malloc, "malloc");
  looking_up = false;
  return true;
}

void* allocate_early(std::size_t bytes) {
  bytes = (bytes + kBlockAlignment - 1) / kBlockAlignment * kBlockAlignment;
  if (early_used + bytes > sizeof(early)) return nullptr;
  void* memory = early + early_used;
  early_used += bytes;
  return memory;
}
bool is_early(const void* memory) { return memory >= early && memory < early + sizeof(early); }

// ---- Allocators that are linked into the program ----------------------------------------------

// Allocators and a function that identifies each.
constexpr struct {
  const char* name;
  const char* function;
} kLibraries[] = {{"jemalloc", "je_malloc"},
                  {"jemalloc", "mallctl"},
                  {"tcmalloc", "tc_malloc"},
                  {"mimalloc", "mi_malloc"}};

bool is_in_program(const void* function) {
  Dl_info found{}, own{};
  return function != nullptr && dladdr(function, &found) != 0 &&
         dladdr(reinterpret_cast<void*>(&configure_heap), &own) != 0 &&
         found.dli_fbase == own.dli_fbase;
}

// Returns the name of an allocator that is linked into the program, whose calls the runtime can't
// intercept; nullptr: there is none.
const char* linked_allocator() {
  for (const auto& [name, function] : kLibraries) {
    if (is_in_program(dlsym(RTLD_DEFAULT, function))) return name;
  }
  const void* used = dlsym(RTLD_DEFAULT, "malloc");
  return used == reinterpret_cast<void*>(&pmemsim_rt_malloc) ? nullptr : "an allocator";
}

void* or_no_memory(void* memory) {
  if (memory == nullptr) errno = ENOMEM;
  return memory;
}

// Calls of code that isn't recorded count, too: the program may use and free their memory.
void record_block(trace::MarkKind kind, void* memory) {
  if (memory == nullptr || !recording() || !active()) return;
  put_mark(kind, reinterpret_cast<std::uintptr_t>(memory), header_of(memory)->bytes);
}
void* allocated(void* memory) {
  record_block(trace::MarkKind::kAllocate, memory);
  return or_no_memory(memory);
}
void free_recorded(void* memory) {
  record_block(trace::MarkKind::kFree, memory);
  free_block(memory);
}

}  // namespace

void configure_heap() {
  const char* wanted = std::getenv("PMEMSIM_PM_HEAP");
  if (wanted == nullptr || *wanted == '\0' || std::strcmp(wanted, "0") == 0) return;
  if (const char* allocator = linked_allocator()) {
    fail(
        "%s has %s linked statically, so --pm-heap can't make its memory persistent; link that "
        "library dynamically, build without it, or declare persistent addresses with --pm-range",
        program_name, allocator);
  }
  reserve(kHeapBase, kHeapBytes);
  enabled = true;
  use_operators_of_heap();
}

std::uint64_t heap_end() {
  return enabled ? (next_block + trace::kImagePageBytes - 1) &
                       ~std::uint64_t{trace::kImagePageBytes - 1}
                 : 0;
}

}  // namespace pmemsim::rt

using namespace pmemsim::rt;

// Weak: a program with an allocator of its own keeps it.
#define PMEMSIM_ALLOCATOR PMEMSIM_EXPORT __attribute__((weak))

extern "C" PMEMSIM_OWN void* pmemsim_rt_malloc(std::size_t bytes) noexcept {
  if (enabled) return allocated(allocate_block(bytes));
  return look_up() ? next.malloc(bytes) : allocate_early(bytes);
}
extern "C" __attribute__((weak, visibility("default"))) void* malloc(std::size_t bytes) noexcept
    __attribute__((alias("pmemsim_rt_malloc")));
PMEMSIM_ALLOCATOR void free(void* memory) noexcept {
  if (memory == nullptr || is_early(memory)) return;
  if (is_ours(memory)) return free_recorded(memory);
  if (look_up()) next.free(memory);
}
PMEMSIM_ALLOCATOR void* calloc(std::size_t count, std::size_t bytes) noexcept {
  if (!enabled) return look_up() ? next.calloc(count, bytes) : allocate_early(count * bytes);
  std::size_t total = 0;
  void* memory = __builtin_mul_overflow(count, bytes, &total) ? nullptr : allocate_block(total);
  if (memory != nullptr) std::memset(memory, 0, total);
  return allocated(memory);
}
PMEMSIM_ALLOCATOR void* realloc(void* memory, std::size_t bytes) noexcept {
  if (!is_ours(memory) && !is_early(memory) && (memory != nullptr || !enabled)) {
    return look_up() ? next.realloc(memory, bytes) : allocate_early(bytes);
  }
  const std::size_t usable =
      memory == nullptr ? 0
      : is_early(memory)
          ? static_cast<std::size_t>(early + sizeof(early) - static_cast<char*>(memory))
          : header_of(memory)->bytes;
  if (memory != nullptr && !is_early(memory) && bytes <= usable && bytes > 0) return memory;
  void* moved = malloc(bytes);
  if (moved != nullptr && memory != nullptr) {
    std::memcpy(moved, memory, bytes < usable ? bytes : usable);
    free(memory);
  }
  return moved;
}
PMEMSIM_ALLOCATOR int posix_memalign(void** memory, std::size_t alignment,
                                     std::size_t bytes) noexcept {
  if (!enabled) return look_up() ? next.posix_memalign(memory, alignment, bytes) : ENOMEM;
  if (alignment % sizeof(void*) != 0 || (alignment & (alignment - 1)) != 0) return EINVAL;
  *memory = allocate_aligned(alignment, bytes);
  allocated(*memory);
  return *memory != nullptr ? 0 : ENOMEM;
}
PMEMSIM_ALLOCATOR void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  if (!enabled) return look_up() ? next.aligned_alloc(alignment, bytes) : nullptr;
  return allocated(allocate_aligned(alignment, bytes));
}
PMEMSIM_ALLOCATOR void* memalign(std::size_t alignment, std::size_t bytes) noexcept {
  if (!enabled) return look_up() ? next.memalign(alignment, bytes) : nullptr;
  return allocated(allocate_aligned(alignment, bytes));
}
PMEMSIM_ALLOCATOR void* valloc(std::size_t bytes) noexcept {
  if (!enabled) return look_up() ? next.valloc(bytes) : nullptr;
  return allocated(allocate_aligned(kSystemPage, bytes));
}
PMEMSIM_ALLOCATOR void* pvalloc(std::size_t bytes) noexcept {
  if (!enabled) return look_up() ? next.pvalloc(bytes) : nullptr;
  return allocated(
      allocate_aligned(kSystemPage, (bytes + kSystemPage - 1) / kSystemPage * kSystemPage));
}
PMEMSIM_ALLOCATOR std::size_t malloc_usable_size(void* memory) noexcept {
  if (memory != nullptr && is_ours(memory)) return header_of(memory)->bytes;
  return look_up() && memory != nullptr && !is_early(memory) ? next.malloc_usable_size(memory) : 0;
}
