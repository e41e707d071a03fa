// The kernel places a mapping below the lowest one, or in a gap. Without randomisation, addresses
// then depend on the sizes of all earlier mappings. Three of these vary between computers:
//
// 1. While the dynamic linker looks for libraries, it maps its cache, which lists all installed
//    ones. LD_PRELOAD with the paths of the libraries makes that unnecessary.
// 2. The area of mappings begins below the largest stack (ulimit -s).
// 3. Mappings of the kernel (vdso). Filling the area down to a fixed address makes later mappings
//    independent of them, and of libraries that are not preloaded.
#include "placement.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <link.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "address_range.hpp"
#include "exported.hpp"
#include "kernel_mappings.hpp"
#include "real.hpp"
#include "reserved_memory.hpp"
#include "status.hpp"

namespace pmemsim::rt {
namespace {

constexpr char kPreload[] = "LD_PRELOAD";
constexpr char kUsersPreload[] = "PMEMSIM_LD_PRELOAD";
constexpr char kUsersStack[] = "PMEMSIM_STACK_LIMIT";
constexpr std::size_t kPathsBytes = 1 << 16;
constexpr rlim_t kStackBytes = rlim_t{8} << 20;  // Linux's default

// Below all addresses that randomisation can yield.
constexpr std::uint64_t kFillerBegin = 0x7e00'0000'0000;

List<Range, 1u << 16> filler;

// ---- The dynamic linker's cache ----------------------------------------------------------------

struct Paths {
  char text[kPathsBytes];
  std::size_t used;
};

// Appends the library's path. LD_PRELOAD can't name a path with a space or a colon.
int add_path(dl_phdr_info* library, std::size_t, void* data) {
  auto& paths = *static_cast<Paths*>(data);
  const char* path = library->dlpi_name;
  const bool is_linker = library->dlpi_addr == getauxval(AT_BASE);
  if (is_linker || std::strchr(path, '/') == nullptr || path[std::strcspn(path, " :")] != '\0') {
    return 0;
  }
  const std::size_t length = std::strlen(path);
  if (paths.used + length + 2 > kPathsBytes) return 1;
  if (paths.used > 0) paths.text[paths.used++] = ':';
  std::memcpy(paths.text + paths.used, path, length + 1);
  paths.used += length;
  return 0;
}

void preload_libraries() {
  auto* paths = static_cast<Paths*>(allocate(sizeof(Paths)));
  dl_iterate_phdr(&add_path, paths);
  if (paths->used == 0) return;
  if (const char* users = std::getenv(kPreload)) setenv(kUsersPreload, users, 1);
  setenv(kPreload, paths->text, 1);
}

void restore_preload() {
  if (const char* users = std::getenv(kUsersPreload)) {
    setenv(kPreload, users, 1);
  } else {
    unsetenv(kPreload);
  }
  unsetenv(kUsersPreload);
}

// ---- The largest stack -----------------------------------------------------------------------

// The C library's functions are replaced below.
int stack_limit(const rlimit* wanted, rlimit* found) {
  return static_cast<int>(real.syscall(SYS_prlimit64, 0, RLIMIT_STACK, wanted, found));
}

void limit_stack() {
  rlimit limit{};
  if (stack_limit(nullptr, &limit) != 0) return;
  char text[32];
  std::snprintf(text, sizeof(text), "%lu", limit.rlim_cur);
  limit.rlim_cur = limit.rlim_max < kStackBytes ? limit.rlim_max : kStackBytes;
  if (stack_limit(&limit, nullptr) == 0) setenv(kUsersStack, text, 1);
}

void restore_stack_limit() {
  const char* text = std::getenv(kUsersStack);
  rlimit limit{};
  if (text == nullptr || stack_limit(nullptr, &limit) != 0) return;
  limit.rlim_cur = std::strtoul(text, nullptr, 10);
  stack_limit(&limit, nullptr);
}

bool changes_stack_limit = false;  // the program has called setrlimit

// ---- The filler ------------------------------------------------------------------------------

void fill(std::uint64_t begin, std::uint64_t end) {
  const long got =
      real.syscall(SYS_mmap, begin, end - begin, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (got == -1) return;
  madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTDUMP);
  filler.push({begin, end});
}

// Fills the gaps between the fixed address and the highest mapping below the stack.
void fill_gaps() {
  List<Range, 1u << 16> gaps;
  std::uint64_t last_end = kFillerBegin;
  bool below_stack = true;
  for_each_mapping([&](const MappedRange& mapping) {
    if (std::strcmp(mapping.name, "[stack]") == 0) below_stack = false;
    if (!below_stack || mapping.range.end <= last_end) return;
    if (mapping.range.begin > last_end) gaps.push({last_end, mapping.range.begin});
    last_end = mapping.range.end;
  });
  for (const Range& gap : gaps) fill(gap.begin, gap.end);
}

}  // namespace

void prepare_placement() {
  preload_libraries();
  limit_stack();
}

void abandon_placement() {
  restore_preload();
  restore_stack_limit();
  unsetenv(kUsersStack);
}

void fix_placement() {
  restore_stack_limit();
  fill_gaps();
}

void release_filler(std::uint64_t begin, std::uint64_t end) {
  for (std::size_t i = 0; i < filler.size(); ++i) {
    const Range whole = filler[i];
    if (whole.end <= begin || end <= whole.begin) continue;
    const Range part{begin > whole.begin ? begin : whole.begin, end < whole.end ? end : whole.end};
    real.syscall(SYS_munmap, part.begin, part.end - part.begin);
    filler[i] = {whole.begin, part.begin};
    if (part.end < whole.end) filler.push({part.end, whole.end});
  }
}

const char* users_variable(const char* variable) {
  constexpr std::size_t kPrefix = sizeof("PMEMSIM_") - 1;
  const std::size_t length = std::strlen(kUsersPreload);
  const bool is_users = std::strncmp(variable, kUsersPreload, length) == 0;
  return is_users && variable[length] == '=' ? variable + kPrefix : nullptr;
}

}  // namespace pmemsim::rt

using namespace pmemsim::rt;

// OpenMP's library, for example, chooses its threads' stacks by the largest stack. The program's
// children inherit the user's limit all the same.
PMEMSIM_EXPORT int getrlimit(__rlimit_resource_t resource, rlimit* limit) noexcept {
  const long error = real.syscall(SYS_prlimit64, 0, resource, nullptr, limit);
  if (error == 0 && resource == RLIMIT_STACK && mode != Mode::kOff && !changes_stack_limit) {
    *limit = {kStackBytes, RLIM_INFINITY};
  }
  return static_cast<int>(error);
}
PMEMSIM_EXPORT int getrlimit64(__rlimit_resource_t resource, rlimit64* limit) noexcept {
  static_assert(sizeof(rlimit64) == sizeof(rlimit));
  return getrlimit(resource, reinterpret_cast<rlimit*>(limit));
}
PMEMSIM_EXPORT int setrlimit(__rlimit_resource_t resource, const rlimit* limit) noexcept {
  changes_stack_limit |= resource == RLIMIT_STACK;
  return static_cast<int>(real.syscall(SYS_prlimit64, 0, resource, limit, nullptr));
}
PMEMSIM_EXPORT int setrlimit64(__rlimit_resource_t resource, const rlimit64* limit) noexcept {
  return setrlimit(resource, reinterpret_cast<const rlimit*>(limit));
}
