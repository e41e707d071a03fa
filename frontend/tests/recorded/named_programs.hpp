// Selects what a test program does by its first argument.
//
// A plain table: recordings step through calls of the C library, and those that fill a map would be
// most of what some of these programs make.
#include <cstddef>
#include <cstdlib>
#include <cstring>

struct NamedProgram {
  const char* name;
  void (*run)();
};

template <std::size_t kCount>
void run_program(const NamedProgram (&programs)[kCount], const char* name) {
  for (const NamedProgram& program : programs) {
    if (std::strcmp(program.name, name) == 0) return program.run();
  }
  std::abort();
}
