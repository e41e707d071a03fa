// Replaces functions of libraries that pmemsim-cc did not compile, in recorded code alone.
//
// 1. Recorded code calls a library's function through a table of addresses in its own file, which
//    the dynamic linker has filled in. The runtime changes the address there. So calls between
//    libraries stay as they are, and a program may have functions of the same names.
// 2. A function counts by its name and its library, unless recorded code has been compiled into
//    that library: its own stores are recorded then.
#pragma once

#include <cstddef>

namespace pmemsim::rt {

struct Replacement {
  const char* library;  // beginning of its file's name
  const char* name;
  void* function;
  void** original;  // gets the library's function
};

struct Replacements {
  const Replacement* begin;
  std::size_t count;
};

// Replaces functions in the object that contains the address.
void replace_functions(const void* module, const Replacements* lists, std::size_t count);

}  // namespace pmemsim::rt
