#include "real.hpp"

#include <cstdlib>
#include <type_traits>

#include <dlfcn.h>
#include <sched.h>
#include <unistd.h>

#include "reserved_memory.hpp"

namespace pmemsim::rt {

RealFunctions real;

void find_real_functions() {
  const auto find = [](auto& function, const char* name) {
    function =
        reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(RTLD_NEXT, name));
  };
#define PMEMSIM_FIND(name) find(real.name, #name);
  PMEMSIM_REAL_FUNCTIONS(PMEMSIM_FIND)
#undef PMEMSIM_FIND
  find(real.syscall, "syscall");
}

}  // namespace pmemsim::rt
