#include "pmemsim/checks/checkers/shared_reads.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

namespace pmemsim {

SharedReads::~SharedReads() {
  if (bytes_ != nullptr) munmap(bytes_, count_);
  if (file_ >= 0) close(file_);
}

bool SharedReads::make(std::size_t pages) {
  file_ = memfd_create("pmemsim-reads", MFD_CLOEXEC);
  return file_ >= 0 && ftruncate(file_, static_cast<off_t>(pages)) == 0 && map(pages);
}

bool SharedReads::join(const std::string& path, std::size_t pages) {
  file_ = open(path.c_str(), O_RDWR | O_CLOEXEC);
  return file_ >= 0 && map(pages);
}

bool SharedReads::map(std::size_t pages) {
  void* bytes = mmap(nullptr, pages, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
  if (bytes == MAP_FAILED) return false;
  bytes_ = static_cast<std::byte*>(bytes);
  count_ = pages;
  return true;
}

std::string SharedReads::path() const {
  return "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(file_);
}

}  // namespace pmemsim
