#include "openmp_library.hpp"

#include <dlfcn.h>
#include <link.h>

namespace pmemsim::rt {

Range openmp_code{};

namespace {

const char* path = nullptr;

}  // namespace

void* openmp_function(const char* name) {
  void* function = dlsym(RTLD_NEXT, name);
  if (function != nullptr || path == nullptr) return function;
  return dlsym(dlopen(path, RTLD_LAZY | RTLD_NOLOAD), name);
}

void note_openmp_library(const void* inside) {
  dl_find_object object{};
  if (_dl_find_object(const_cast<void*>(inside), &object) != 0) return;
  openmp_code = {reinterpret_cast<std::uintptr_t>(object.dlfo_map_start),
                 reinterpret_cast<std::uintptr_t>(object.dlfo_map_end)};
  path = object.dlfo_link_map->l_name;
}

}  // namespace pmemsim::rt
