// The recorded program's stacks are at fixed addresses. The address of the kernel's stack would
// depend on the size of the environment, and the addresses of the C library's stacks on the timing
// of ending threads.
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
