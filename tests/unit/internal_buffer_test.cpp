// The inside of a buffered module: when its media and its buffers serve accesses.
#include "pmemsim/machine/memory/internal_buffer.hpp"

#include <gtest/gtest.h>

#include "memory_bench.hpp"

namespace pmemsim {
namespace {

MemoryParameters module() {
  MemoryParameters parameters;
  parameters.device = DeviceKind::kBuffered;
  parameters.read_latency = ns(200);
  parameters.media_read_interval = ns(40);
  parameters.media_write_interval = ns(100);
  return parameters;
}

TEST(InternalBuffer, ReadOfAWrittenLineWaitsForTheTimeAfterItsLastWrite) {
  MemoryParameters parameters = module();
  parameters.read_after_write_latency = ns(700);
  InternalBuffer buffer(parameters);
  buffer.write(Line{0}, at_ns(0));
  buffer.write(Line{1}, at_ns(50));
  EXPECT_EQ(buffer.read(Line{0}, at_ns(100)), ns(650));
  EXPECT_EQ(buffer.read(Line{0}, at_ns(750)), ns(0));
  EXPECT_EQ(buffer.read(Line{64}, at_ns(100)), ns(200)) << "a line that was not written";
}

TEST(InternalBuffer, BlockIsMigratedAfterItsNumberOfWrites) {
  MemoryParameters parameters = module();
  parameters.wear_writes = 2;  // An internal line has four lines
  parameters.wear_block = Bytes{512};
  parameters.wear_latency = ns(5000);
  InternalBuffer buffer(parameters);
  for (int i = 0; i < 7; ++i) buffer.write(Line{0}, at_ns(i));
  buffer.write(Line{8}, at_ns(7));  // in another block
  EXPECT_EQ(buffer.migrations(), 0u);
  buffer.write(Line{7}, at_ns(8));
  EXPECT_EQ(buffer.migrations(), 1u);
  EXPECT_EQ(buffer.takes_writes_at(), at_ns(5008 - 100)) << "a write may start before its media";
  for (int i = 0; i < 7; ++i) buffer.write(Line{0}, at_ns(6000));
  EXPECT_EQ(buffer.migrations(), 1u) << "writes are counted from the migration on";
}

TEST(InternalBuffer, MostWrittenInternalLineCountsWritesOfTheMedia) {
  MemoryParameters parameters = module();
  parameters.write_buffer_lines = 1;
  InternalBuffer buffer(parameters);
  for (int i = 0; i < 3; ++i) {
    buffer.write(Line{0}, at_ns(1000 * i));
    buffer.write(Line{1}, at_ns(1000 * i));  // the same internal line
    buffer.write(Line{64}, at_ns(1000 * i + 500));
  }
  buffer.write(Line{0}, at_ns(3000));
  EXPECT_EQ(buffer.media_lines_written(), 6u);
  EXPECT_EQ(buffer.most_line_writes(), 3u);
}

TEST(InternalBuffer, ModuleWithoutWearLevellingNeverMigrates) {
  InternalBuffer buffer(module());
  for (int i = 0; i < 100'000; ++i) buffer.write(Line{0}, at_ns(i));
  EXPECT_EQ(buffer.migrations(), 0u);
}

}  // namespace
}  // namespace pmemsim
