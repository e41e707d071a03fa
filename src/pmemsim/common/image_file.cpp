#include "pmemsim/common/image_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "pmemsim/common/error.hpp"

namespace pmemsim {
namespace {

class OutputFile {
 public:
  OutputFile(const std::string& path, std::uint64_t begin, std::uint64_t end)
      : path_(path),
        begin_(begin),
        end_(end),
        descriptor_(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
    check(descriptor_ >= 0);
  }
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  void reserve() { check(ftruncate(descriptor_, static_cast<off_t>(end_ - begin_)) == 0); }
  void write(std::uint64_t address, const std::byte* bytes, std::size_t size) {
    while (size > 0) {
      const auto offset = static_cast<off_t>(address - begin_);
      const ssize_t written = pwrite(descriptor_, bytes, size, offset);
      check(written > 0);
      address += static_cast<std::uint64_t>(written);
      bytes += written;
      size -= static_cast<std::size_t>(written);
    }
  }
  void close() { check(::close(std::exchange(descriptor_, -1)) == 0); }

 private:
  void check(bool good) const {
    if (good) return;
    throw Error(fmt::format(
        "{}: the image of the trace's persistent memory from {:#x} to {:#x}, {} bytes, could not "
        "be written: {}; choose a file system with enough space, or record with a smaller pool",
        path_, begin_, end_, end_ - begin_, std::strerror(errno)));
  }

  const std::string& path_;
  const std::uint64_t begin_, end_;
  int descriptor_;
};

}  // namespace

void write_image(const Image& image, std::uint64_t begin, std::uint64_t end,
                 const std::string& path) {
  OutputFile file(path, begin, end);
  file.reserve();
  image.for_each_page([&](std::uint64_t address, const std::byte* page) {
    const std::uint64_t first = std::max(address, begin);
    const std::uint64_t last = std::min(address + Image::kPageBytes, end);
    if (first < last) file.write(first, page + (first - address), last - first);
  });
  file.close();
}

}  // namespace pmemsim
