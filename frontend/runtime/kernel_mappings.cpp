// Reads the kernel's list of mappings.
#include "kernel_mappings.hpp"

#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "persistent.hpp"
#include "real.hpp"
#include "thread.hpp"

namespace pmemsim::rt {
namespace {

// Parses a line such as "7ffff7fbc000-7ffff7fbe000 r--p 00000000 08:01 1234   /path".
bool parse(const char* line, MappedRange& mapping) {
  unsigned long begin = 0, end = 0;
  char access[5] = "";
  int name = 0;
  if (std::sscanf(line, "%lx-%lx %4s %*s %*s %*s %n", &begin, &end, access, &name) != 3)
    return false;
  mapping = {{begin, end}, access[0] == 'r', access[3] == 's', line + name};
  return true;
}

}  // namespace

void visit_mappings(void (*visit)(void*, const MappedRange&), void* data) {
  const int descriptor = static_cast<int>(
      real.syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC, 0));
  if (descriptor < 0) return;
  char text[8192];
  std::size_t used = 0;
  for (;;) {
    const ssize_t got = real.read(descriptor, text + used, sizeof(text) - 1 - used);
    if (got <= 0) break;
    used += static_cast<std::size_t>(got);
    text[used] = '\0';
    char* line = text;
    for (char* newline; (newline = std::strchr(line, '\n')) != nullptr; line = newline + 1) {
      *newline = '\0';
      MappedRange mapping{};
      if (parse(line, mapping)) visit(data, mapping);
    }
    used = static_cast<std::size_t>(text + used - line);
    std::memmove(text, line, used);
  }
  close(descriptor);
}

}  // namespace pmemsim::rt
