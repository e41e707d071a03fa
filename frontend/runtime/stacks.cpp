// The recorded program's stacks are at fixed addresses. The kernel's own would move with the size
// of the environment, the C library's with the timing of threads that end.
#include "stacks.hpp"

#include <sys/mman.h>

#include "reserved_memory.hpp"

namespace pmemsim::rt {
namespace {

constexpr std::size_t kStackSpace = std::size_t{1} << 40;
constexpr std::size_t kGuardBytes = 4096;

struct FreeStack {
  void* begin;
  std::size_t bytes;
};
List<FreeStack, 1u << 20> free_stacks;
std::uintptr_t next_stack = 0;

}  // namespace

void* take_stack(std::size_t bytes) {
  for (FreeStack& stack : free_stacks) {
    if (stack.bytes != bytes) continue;
    void* begin = stack.begin;
    stack = free_stacks[free_stacks.size() - 1];
    free_stacks.shrink(free_stacks.size() - 1);
    return begin;
  }
  if (next_stack == 0) {
    reserve(kStackBase, kStackSpace);
    next_stack = kStackBase;
  }
  auto* guard = reinterpret_cast<void*>(next_stack);
  mprotect(guard, kGuardBytes, PROT_NONE);
  next_stack += kGuardBytes + bytes;
  return static_cast<char*>(guard) + kGuardBytes;
}

void return_stack(void* begin, std::size_t bytes) { free_stacks.push({begin, bytes}); }

bool is_stack(std::uint64_t address) { return address >= kStackBase && address < next_stack; }

}  // namespace pmemsim::rt
