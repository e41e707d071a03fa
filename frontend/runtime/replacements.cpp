#include "replacements.hpp"

#include <cstdint>
#include <cstring>

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "real.hpp"
#include "sites.hpp"

namespace pmemsim::rt {
namespace {

constexpr std::uintptr_t kPage = 4096;

struct Search {
  const void* module;
  const Replacements* lists;
  std::size_t count;
};

// The parts of a loaded object that list the addresses it imports: symbols, names, relocations.
struct Object {
  std::uintptr_t base;
  const ElfW(Sym) * symbols;
  const char* names;
  const ElfW(Rela) * tables[2];
  std::size_t bytes[2];
};

bool contains(const dl_phdr_info& object, const void* address) {
  const auto at = reinterpret_cast<std::uintptr_t>(address) - object.dlpi_addr;
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = object.dlpi_phdr[i];
    if (part.p_type == PT_LOAD && at - part.p_vaddr < part.p_memsz) return true;
  }
  return false;
}

const ElfW(Dyn) * dynamic_section(const dl_phdr_info& object) {
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    if (object.dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    return reinterpret_cast<const ElfW(Dyn)*>(object.dlpi_addr + object.dlpi_phdr[i].p_vaddr);
  }
  return nullptr;
}

Object describe(const dl_phdr_info& info) {
  Object object{};
  object.base = info.dlpi_addr;
  const ElfW(Dyn)* entry = dynamic_section(info);
  for (; entry != nullptr && entry->d_tag != DT_NULL; ++entry) {
    const auto value = entry->d_un.d_val;
    switch (entry->d_tag) {  // the dynamic linker has made absolute addresses of these
      case DT_SYMTAB:
        object.symbols = reinterpret_cast<const ElfW(Sym)*>(value);
        break;
      case DT_STRTAB:
        object.names = reinterpret_cast<const char*>(value);
        break;
      case DT_RELA:
        object.tables[0] = reinterpret_cast<const ElfW(Rela)*>(value);
        break;
      case DT_RELASZ:
        object.bytes[0] = value;
        break;
      case DT_JMPREL:
        object.tables[1] = reinterpret_cast<const ElfW(Rela)*>(value);
        break;
      case DT_PLTRELSZ:
        object.bytes[1] = value;
        break;
      default:
        break;
    }
  }
  return object;
}

// True if the function is in the library, and the library's code isn't recorded.
bool is_in_library(const void* function, const char* library) {
  dl_find_object found{};
  if (_dl_find_object(const_cast<void*>(function), &found) != 0) return false;
  const char* path = found.dlfo_link_map->l_name;
  const char* slash = std::strrchr(path, '/');
  return std::strncmp(slash != nullptr ? slash + 1 : path, library, std::strlen(library)) == 0 &&
         !is_recorded_code(function);
}

// The table is read-only once the object is loaded, unless the program was linked otherwise.
void write_address(void** slot, void* function) {
  const auto page = reinterpret_cast<std::uintptr_t>(slot) & ~(kPage - 1);
  dl_find_object found{};
  const bool known = _dl_find_object(slot, &found) == 0;
  bool read_only = false;
  if (known) {
    auto is_relro = [](dl_phdr_info* info, std::size_t, void* data) {
      const auto address = *static_cast<std::uintptr_t*>(data);
      for (int i = 0; i < info->dlpi_phnum; ++i) {
        const ElfW(Phdr)& part = info->dlpi_phdr[i];
        if (part.p_type != PT_GNU_RELRO) continue;
        if (address - info->dlpi_addr - part.p_vaddr < part.p_memsz) return 1;
      }
      return 0;
    };
    auto address = reinterpret_cast<std::uintptr_t>(slot);
    read_only = dl_iterate_phdr(is_relro, &address) != 0;
  }
  if (read_only) real.syscall(SYS_mprotect, page, kPage, PROT_READ | PROT_WRITE);
  *slot = function;
  if (read_only) real.syscall(SYS_mprotect, page, kPage, PROT_READ);
}

void replace(void** slot, const char* name, const Search& search) {
  for (std::size_t list = 0; list < search.count; ++list) {
    for (std::size_t i = 0; i < search.lists[list].count; ++i) {
      const Replacement& each = search.lists[list].begin[i];
      if (std::strcmp(each.name, name) != 0 || !is_in_library(*slot, each.library)) continue;
      *each.original = *slot;
      return write_address(slot, each.function);
    }
  }
}

void replace_in(const Object& object, const Search& search) {
  for (int table = 0; table < 2; ++table) {
    const std::size_t count = object.bytes[table] / sizeof(ElfW(Rela));
    for (std::size_t i = 0; i < count; ++i) {
      const ElfW(Rela)& entry = object.tables[table][i];
      const auto type = ELF64_R_TYPE(entry.r_info);
      if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT && type != R_X86_64_64) continue;
      const char* name = object.names + object.symbols[ELF64_R_SYM(entry.r_info)].st_name;
      if (std::strncmp(name, "pmem", 4) != 0) continue;
      replace(reinterpret_cast<void**>(object.base + entry.r_offset), name, search);
    }
  }
}

int visit_object(dl_phdr_info* info, std::size_t, void* data) {
  const Search& search = *static_cast<const Search*>(data);
  if (!contains(*info, search.module)) return 0;
  const Object object = describe(*info);
  if (object.symbols != nullptr && object.names != nullptr) replace_in(object, search);
  return 1;
}

}  // namespace

void replace_functions(const void* module, const Replacements* lists, std::size_t count) {
  Search search{module, lists, count};
  dl_iterate_phdr(&visit_object, &search);
}

}  // namespace pmemsim::rt
