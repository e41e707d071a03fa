// A region stores to a line while a flush of the line is in flight to the controller. The new data
// may not leave the caches before they are logged, but the data that the flush has read may.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <span>

#include "unit/platform.hpp"

#include "pmemsim/designs/atomicity/atomicity.hpp"
#include "pmemsim/designs/backend/backend.hpp"

namespace pmemsim {
namespace {

using LineWords = std::array<std::uint64_t, 8>;

const Line kFlushedLine = Line::of(kPmBase);

class OvertakenFlush : public testing::Test {
 protected:
  OvertakenFlush() { platform_.caches.warm(std::array{Hierarchy::Touch{1, kFlushedLine}}); }

  // Stores a word by core 1.
  void store(std::uint64_t word) {
    platform_.caches.private_caches(1).write(kFlushedLine);
    write(word);
  }
  // Stores a word in a region of core 1.
  void overtake(std::uint64_t word) {
    Atomicity& log = platform_.design.atomicity();
    ASSERT_TRUE(log.region_begin(1, 1, platform_.now(), {}));
    const auto value = std::as_bytes(std::span(&kStored, 1));
    ASSERT_TRUE(log.store(
        {1, 0, address(word), sizeof kStored, value.data(), platform_.pm_space.newest(), 1},
        platform_.now(), {}));
    store(word);
  }
  // A non-temporal store of core 0's.
  void stream(std::uint64_t word) {
    write(word);
    platform_.caches.combine(0, kFlushedLine, bytes_from(word * 8, 8), platform_.now(),
                             acknowledgement());
  }
  void send_streamed() { platform_.caches.send_combined(0, platform_.now()); }
  // Flushes the line by core 0.
  void flush() {
    platform_.caches.flush(0, kFlushedLine, false, false, platform_.now(), acknowledgement());
  }
  // Contents of the line that a crash would leave at the time of core 0's acknowledgement.
  LineWords acknowledged() {
    platform_.until([this] { return acknowledged_; });
    LineWords words;
    std::memcpy(words.data(), platform_.design.backend().surviving(kFlushedLine).data(),
                sizeof words);
    return words;
  }

 private:
  static constexpr std::uint64_t kStored = 1;

  static std::uint64_t address(std::uint64_t word) { return kFlushedLine.address() + word * 8; }
  void write(std::uint64_t word) {
    platform_.pm_space.newest().write(address(word), std::as_bytes(std::span(&kStored, 1)).data(),
                                      sizeof kStored);
  }
  Completion acknowledgement() { return completion<&OvertakenFlush::acknowledge>(*this); }
  void acknowledge(std::uint64_t, Time) { acknowledged_ = true; }

  const Configuration configuration_ =
      configure(settings({{"atomicity", "hw-undo"}, {"core.count", "2"}}));
  Platform platform_{configuration_};
  bool acknowledged_ = false;
};

TEST_F(OvertakenFlush, WritesTheEarlierStoreOfAnotherCoreWithoutTheRegionsStore) {
  store(0);
  flush();
  overtake(1);
  EXPECT_EQ(acknowledged(), (LineWords{1, 0}));
}

TEST_F(OvertakenFlush, WritesAllStoresOfTheCombiningBufferWithoutTheRegionsStore) {
  stream(0);
  stream(1);
  send_streamed();
  overtake(2);
  EXPECT_EQ(acknowledged(), (LineWords{1, 1, 0}));
}

}  // namespace
}  // namespace pmemsim
