// Decoding of an image without a simulator: with its registers, with other registers, and from
// damaged files. tests/contract/decoded_image_test.cpp compares the result with that of crash runs.
#include "pmemsim/designs/backend/decoded_image.hpp"
#include "pmemsim/designs/backend/entry_layout.hpp"
#include "pmemsim/designs/backend/surviving_registers.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "pmemsim/common/error.hpp"
#include "pmemsim/designs/backend/bdi.hpp"
#include "sealed_bench.hpp"

namespace pmemsim {
namespace {

class Saved : public Sealed {
 public:
  Saved() : Sealed(true) { write_at_random(300); }
  DeviceImage device() const { return device_image(memory.device()); }
  SurvivingRegisters registers() const { return backend->parts().registers(); }
  bool is(const DecodedImage& image) const {
    for (const auto& [number, value] : plain) {
      if (image.plain.read({number}) != data_of(value)) return false;
    }
    return image.problem.empty() && image.unreadable.empty();
  }
};

TEST(DecodedImage, EqualsTheWrittenData) {
  const Saved saved;
  const DecodedImage image = decode(saved.device(), saved.registers());
  EXPECT_TRUE(saved.is(image)) << image.problem;
  EXPECT_GT(image.duplicated_lines, 10u);
}

// Tree nodes belong to no data line, and the decoder does not trust their contents.
TEST(DecodedImage, TreeNodesAreNotDecodedAsData) {
  IntegrityParameters integrity;
  integrity.cache = {.size_per_core = {128}, .ways = 2};
  Sealed bench(false, integrity);
  bench.write_at_random(300);
  const DeviceImage device = device_image(bench.memory.device());
  EXPECT_TRUE(device.lower_bound({std::uint64_t{1} << 54}) != device.end());
  const DecodedImage image = decode(device, bench.backend->parts().registers());
  EXPECT_EQ(image.problem, "");
  EXPECT_EQ(image.unreadable, std::vector<Line>{});
  for (const auto& [line, value] : bench.plain) {
    EXPECT_EQ(image.plain.read({line}), data_of(value));
  }
}

TEST(DecodedImage, RegistersNameTheOperationsOfTheBackend) {
  const SurvivingRegisters registers = Saved().registers();
  EXPECT_EQ(registers.operations,
            (std::vector<std::string>{"deduplication", "encryption", "integrity"}));
  EXPECT_TRUE(registers.encryption_key && registers.authentication_key && registers.tree);
  EXPECT_FALSE(registers.levelling);
  EXPECT_GT(registers.write_counter, 10u);
}

TEST(DecodedImage, WrongRootIsReported) {
  const Saved saved;
  SurvivingRegisters registers = saved.registers();
  ++registers.tree->roots.begin()->second;
  EXPECT_EQ(decode(saved.device(), registers).problem,
            "the root of the integrity tree does not match the entries in PM");
}

TEST(DecodedImage, WrongKeysMakeLinesUnreadable) {
  const Saved saved;
  SurvivingRegisters registers = saved.registers();
  registers.authentication_key = Key{};
  EXPECT_EQ(decode(saved.device(), registers).unreadable.size(), saved.plain.size());
  registers = saved.registers();
  registers.encryption_key = Key{};
  EXPECT_FALSE(saved.is(decode(saved.device(), registers)));
}

TEST(DecodedImage, DamagedLineIsNamed) {
  Saved saved;
  saved.write({40}, 123456);  // found nowhere else
  saved.settle();
  DeviceImage device = saved.device();
  const SurvivingRegisters registers = saved.registers();
  std::optional<Line> place;
  for (const auto& [line, _] : device) {
    DeviceImage changed = device;
    changed[line].data[7] ^= std::byte{1};
    const DecodedImage image = decode(changed, registers);
    if (image.problem.empty() && image.unreadable == std::vector<Line>{{40}}) place = line;
  }
  EXPECT_TRUE(place) << "where its data are";
}

TEST(DecodedImage, MissingRegistersAreNamed) {
  SurvivingRegisters registers;
  registers.operations = {"encryption", "integrity", "wear-leveling"};
  try {
    decode({}, registers);
    FAIL() << "must throw";
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.problems().size(), 4u);
  }
}

// Lines 0 to 2 of a region of four: the gap was after line 3 and has moved by two lines.
TEST(DecodedImage, WearLevelingGapIsUndone) {
  SurvivingRegisters registers;
  registers.operations = {"wear-leveling"};
  registers.levelling = {.region_lines = 4, .regions = {{0, StartGap(4, 0, 2)}}};
  DeviceImage device;
  device[{0}].data = data_of(10);
  device[{1}].data = data_of(11);
  device[{2}].data = data_of(666);  // the gap: what was there before
  device[{3}].data = data_of(12);
  device[{std::uint64_t{1} << 56}].data = data_of(13);
  const DecodedImage image = decode(device, registers);
  for (std::uint64_t line = 0; line < 4; ++line) {
    EXPECT_EQ(image.plain.read({line}), data_of(10 + line));
  }
}

TEST(DecodedImage, OneFlippedBitIsCorrectedAndTwoAreAnError) {
  SurvivingRegisters registers;
  registers.operations = {"error-correction"};
  CodedLine line = coded(data_of(77));
  flip(line, 0, 5);
  flip(line, 3, 70);
  DecodedImage image = decode({{{9}, {line.data, line.check}}}, registers);
  EXPECT_EQ(image.plain.read({9}), data_of(77));
  EXPECT_EQ(image.corrected, 1u);
  EXPECT_EQ(image.problem, "");
  flip(line, 0, 6);
  image = decode({{{9}, {line.data, line.check}}}, registers);
  EXPECT_EQ(image.problem, "1 lines have errors that can't be corrected");
}

// The bit belongs to the location, and so to all lines whose data are in this location.
TEST(DecodedImage, LinesMarkedAsCompressedAreDecompressed) {
  SurvivingRegisters registers;
  registers.operations = {"compression", "deduplication"};
  const LineData small = compress(data_of(3))->line;
  DeviceImage device;
  device[{0}] = {.data = small, .compressed = true};
  device[{1}] = {.data = small};
  const EntryLayout layout(false);
  layout.put(device[layout.line_of({2})].data, {2}, {.place = {0}, .counter = 1});
  const DecodedImage image = decode(device, registers);
  EXPECT_EQ(image.plain.read({0}), data_of(3));
  EXPECT_EQ(image.plain.read({1}), small);
  EXPECT_EQ(image.plain.read({2}), data_of(3));
}

// ---- Files

class DeviceFiles : public testing::Test {
 protected:
  DeviceFiles()
      : path_((std::filesystem::temp_directory_path() /
               ("pmemsim-device-test-" + std::to_string(getpid())))
                  .string()) {}
  ~DeviceFiles() override { std::filesystem::remove(path_); }

  // Returns the error message for a file of two lines, with one byte changed or the end cut off.
  std::string said_of(std::size_t at, char byte, std::size_t size = kBytes) {
    write_device_image({{{3}, {.data = data_of(1)}}, {{5}, {.compressed = true}}}, path_);
    std::filesystem::resize_file(path_, size);
    if (at < size) {
      std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(static_cast<std::streamoff>(at));
      file.put(byte);
    }
    try {
      read_device_image(path_);
    } catch (const Error& error) {
      return std::string(error.what()).substr(path_.size() + 2);
    }
    return {};
  }
  static constexpr std::size_t kMagic = 16, kRecord = 88, kBytes = kMagic + 2 * kRecord;
  const std::string path_;
};

TEST_F(DeviceFiles, ReadBackEqualsTheWrittenImage) {
  const DeviceImage image{{{0}, {.data = data_of(7), .check = {1, 2, 3, 4, 5, 6, 7, 8}}},
                          {{std::uint64_t{1} << 56}, {.data = data_of(8), .compressed = true}}};
  write_device_image(image, path_);
  EXPECT_EQ(read_device_image(path_), image);
  EXPECT_EQ(std::filesystem::file_size(path_), kBytes);
}

TEST_F(DeviceFiles, DamagedFileIsRejected) {
  const std::string foreign =
      "the file is not a device's image as written by the crash engine (save-image)";
  EXPECT_EQ(said_of(kMagic, 3), "");
  EXPECT_EQ(said_of(0, 'P'), foreign);
  EXPECT_EQ(said_of(0, 'p', 0), foreign);
  EXPECT_EQ(said_of(0, 'p', 15), foreign);
  EXPECT_EQ(said_of(0, 'p', kBytes - 1), "the file is damaged: it ends within a line");
  EXPECT_EQ(said_of(kMagic, 5),
            "the file is damaged: line 0x5 follows line 0x5, but addresses must ascend");
  EXPECT_EQ(said_of(kMagic, 6),
            "the file is damaged: line 0x5 follows line 0x6, but addresses must ascend");
  EXPECT_EQ(said_of(kMagic + 7, 4), "the file is damaged: there is no line 0x400000000000003");
  EXPECT_EQ(said_of(kBytes - 8, 2), "the file is damaged: line 0x5 has unknown bits");
}

TEST_F(DeviceFiles, MissingFileIsRejected) {
  EXPECT_THROW(read_device_image(path_), Error);
  EXPECT_THROW(write_device_image({}, path_ + "/no/folder"), Error);
}

}  // namespace
}  // namespace pmemsim
