#include "pmemsim/mem/image_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "pmemsim/core/error.hpp"

namespace pmemsim {
namespace {

class OutputFile {
 public:
  explicit OutputFile(const std::string& path)
      : path_(path),
        descriptor_(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
    check(descriptor_ >= 0);
  }
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  void resize(std::uint64_t bytes) {
    check(ftruncate(descriptor_, static_cast<off_t>(bytes)) == 0);
  }
  void write(std::uint64_t offset, const std::byte* bytes, std::size_t size) {
    while (size > 0) {
      const ssize_t written = pwrite(descriptor_, bytes, size, static_cast<off_t>(offset));
      check(written > 0);
      offset += static_cast<std::uint64_t>(written);
      bytes += written;
      size -= static_cast<std::size_t>(written);
    }
  }
  void close() { check(::close(std::exchange(descriptor_, -1)) == 0); }

 private:
  void check(bool good) const {
    if (!good) throw Error(path_ + ": the image could not be written: " + std::strerror(errno));
  }

  const std::string& path_;
  int descriptor_;
};

}  // namespace

void write_image(const Image& image, std::uint64_t begin, std::uint64_t end,
                 const std::string& path) {
  OutputFile file(path);
  file.resize(end - begin);
  image.for_each_page([&](std::uint64_t address, const std::byte* page) {
    const std::uint64_t first = std::max(address, begin);
    const std::uint64_t last = std::min(address + Image::kPageBytes, end);
    if (first < last) file.write(first - begin, page + (first - address), last - first);
  });
  file.close();
}

}  // namespace pmemsim
