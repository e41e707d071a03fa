#include "openmp_library.hpp"

#include <dlfcn.h>

namespace pmemsim::rt {

Range openmp_code{};

void note_openmp_library(const void* inside) {
  dl_find_object object{};
  if (_dl_find_object(const_cast<void*>(inside), &object) != 0) return;
  openmp_code = {reinterpret_cast<std::uintptr_t>(object.dlfo_map_start),
                 reinterpret_cast<std::uintptr_t>(object.dlfo_map_end)};
}

}  // namespace pmemsim::rt
