#include "pmemsim/checker/host/library.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <stdexcept>
#include <system_error>

namespace pmemsim {
namespace {

pmemsim_region map(const HostRegion& region) {
  const int file = open(region.image.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) throw std::system_error(errno, std::generic_category());
  const auto at = [&](std::uint64_t address, int flags) {
    return mmap(reinterpret_cast<void*>(address), region.size, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_NORESERVE | flags, file, 0);
  };
  void* bytes = at(region.recorded_at, MAP_FIXED_NOREPLACE);
  if (bytes == MAP_FAILED) bytes = at(0, 0);
  if (bytes == MAP_FAILED) throw std::system_error(errno, std::generic_category());
  close(file);
  return {.bytes = bytes, .size = region.size, .recorded_at = region.recorded_at};
}

bool elsewhere(const pmemsim_region& region) {
  return reinterpret_cast<std::uint64_t>(region.bytes) != region.recorded_at;
}

std::string in_hex(std::uint64_t number) {
  char text[2 + 16 + 1];
  std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(number));
  return text;
}

}  // namespace

// The regions come first, before the library takes their place.
Library::Library(const std::vector<HostRegion>& regions, const std::string& path) {
  for (const HostRegion& region : regions) regions_.push_back(map(region));
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw std::runtime_error("can't be loaded: " + std::string(dlerror()));
  }
  check_ = reinterpret_cast<decltype(check_)>(dlsym(library, "pmemsim_check"));
  if (check_ == nullptr) {
    throw std::runtime_error(
        "has no function pmemsim_check; define it as pmemsim/check.h says (in C++ within extern "
        "\"C\")");
  }
  if (dlsym(library, "pmemsim_check_needs_recorded_addresses") == nullptr) return;
  for (const pmemsim_region& region : regions_) {
    if (!elsewhere(region)) continue;
    throw std::runtime_error(
        "needs persistent memory where it was recorded, but " + in_hex(region.recorded_at) +
        " is taken or isn't the beginning of a page; record again with PM at another address, or "
        "write a checker that does without");
  }
}

void Library::check(Watch::Told& told) const {
  const int status = check_(regions_.data(), regions_.size());
  std::fflush(nullptr);
  told.status = status;
  told.returned = true;
}

}  // namespace pmemsim
