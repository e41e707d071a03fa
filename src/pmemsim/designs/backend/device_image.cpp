#include "pmemsim/designs/backend/device_image.hpp"

#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>

#include <fmt/format.h>

#include "pmemsim/common/error.hpp"

namespace pmemsim {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::string_view kMagic = "pmemsim device 1";
constexpr std::uint64_t kPlaces = std::uint64_t{1} << 58;  // number of places that have an address

struct Record {
  std::uint64_t place;
  LineData data;
  CheckBits check;
  std::uint64_t others;
};
static_assert(sizeof(Record) == 88);

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

File open_file(const std::string& path, const char* mode) {
  File file(std::fopen(path.c_str(), mode), &std::fclose);
  if (!file) throw Error(fmt::format("{}: {}", path, std::strerror(errno)));
  return file;
}

void write_bytes(std::FILE* file, const void* bytes, std::size_t size, const std::string& path) {
  if (std::fwrite(bytes, 1, size, file) == size) return;
  throw Error(
      fmt::format("{}: the device's image could not be written: {}", path, std::strerror(errno)));
}

std::string damage(const Record& record, const DeviceImage& before) {
  if (record.place >= kPlaces) return fmt::format("there is no line {:#x}", record.place);
  if (!before.empty() && record.place <= before.rbegin()->first.number) {
    return fmt::format("line {:#x} follows line {:#x}, but addresses must ascend", record.place,
                       before.rbegin()->first.number);
  }
  if (record.others > 1) return fmt::format("line {:#x} has unknown bits", record.place);
  return {};
}

}  // namespace

DeviceImage device_image(const Image& device) {
  DeviceImage lines;
  device.for_each_page([&](std::uint64_t address, const std::byte*) {
    for (std::uint64_t at = 0; at < Image::kPageBytes; at += kLineBytes) {
      const Line place = Line::of(address + at);
      const LineData data = device.read(place);
      if (data != LineData{}) lines[place].data = data;
    }
  });
  return lines;
}

void write_device_image(const DeviceImage& image, const std::string& path) {
  File file = open_file(path, "wb");
  write_bytes(file.get(), kMagic.data(), kMagic.size(), path);
  for (const auto& [place, line] : image) {
    const Record record{place.number, line.data, line.check, line.compressed};
    write_bytes(file.get(), &record, sizeof record, path);
  }
  if (std::fclose(file.release()) != 0) {
    throw Error(
        fmt::format("{}: the device's image could not be written: {}", path, std::strerror(errno)));
  }
}

DeviceImage read_device_image(const std::string& path) {
  const File file = open_file(path, "rb");
  std::array<char, kMagic.size()> magic{};
  if (std::fread(magic.data(), 1, magic.size(), file.get()) != magic.size() ||
      std::string_view(magic.data(), magic.size()) != kMagic) {
    throw Error(fmt::format(
        "{}: the file is not a device's image as written by the crash engine (save-image)", path));
  }
  DeviceImage image;
  Record record{};
  std::size_t bytes = 0;
  while ((bytes = std::fread(&record, 1, sizeof record, file.get())) == sizeof record) {
    if (const std::string what = damage(record, image); !what.empty()) {
      throw Error(fmt::format("{}: the file is damaged: {}", path, what));
    }
    image[{record.place}] = {record.data, record.check, record.others == 1};
  }
  if (bytes != 0) throw Error(fmt::format("{}: the file is damaged: it ends within a line", path));
  if (std::ferror(file.get()) != 0) throw Error(fmt::format("{}: can't be read", path));
  return image;
}

}  // namespace pmemsim
