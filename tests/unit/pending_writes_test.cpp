// The writes of a channel and of the backend, by themselves: identities, the order of a line's
// writes, the order of acceptance, and data that overtake others.
#include "pmemsim/machine/memory/pending_writes.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "pmemsim/designs/backend/coalesced_acknowledgements.hpp"
#include "pmemsim/designs/backend/departures.hpp"

namespace pmemsim {
namespace {

using WriteState = PendingWrite::State;

constexpr Line kWrittenLine{5};

Write filled_write(Line line, std::uint8_t value, ByteMask bytes = kWholeLine) {
  Write write{.line = line, .data = {}, .persisted = {}, .written = {}, .bytes = bytes};
  write.data.fill(std::byte{value});
  return write;
}

class PendingWritesTest : public testing::Test {
 protected:
  std::uint32_t add(const Write& write, WriteState state = WriteState::kQueued) {
    const std::uint32_t slot = writes.add(write, {.channel = 0, .bank = 0, .row = 0}, ++order, {});
    writes[slot].state = state;
    return slot;
  }
  std::uint32_t accept(std::uint32_t slot) {
    writes[slot].persistent = true;
    writes.accepted(slot);
    return slot;
  }
  std::array<std::uint32_t, 16> operations{};
  PendingWrites writes{MemoryParameters{}, operations};
  std::uint64_t order = 0;
};

TEST_F(PendingWritesTest, NumberOfAFormerWriteInTheSameSlotIsUnknown) {
  const std::uint32_t slot = add(filled_write(kWrittenLine, 1));
  const std::uint64_t number = writes.number_of(slot);
  EXPECT_EQ(writes.slot_of(number), slot);
  EXPECT_EQ(operations[0], 1u);
  writes.remove(slot);
  EXPECT_EQ(writes.slot_of(number), kNoSlot);
  EXPECT_EQ(add(filled_write(kWrittenLine, 2)), slot);
  EXPECT_EQ(writes.slot_of(number), kNoSlot);
  EXPECT_EQ(operations[0], 1u);
  EXPECT_EQ(writes.most(), 1);
}

TEST_F(PendingWritesTest, NewestBytesOfALineWinWhenWritesAreCombined) {
  add(filled_write(kWrittenLine, 1));
  add(filled_write(kWrittenLine, 2, bytes_from(0, 8)));
  add(filled_write(Line{6}, 3));
  const Write all = writes.combined(kWrittenLine);
  EXPECT_EQ(all.bytes, kWholeLine);
  EXPECT_EQ(all.data[7], std::byte{2});
  EXPECT_EQ(all.data[8], std::byte{1});
}

TEST_F(PendingWritesTest, WriteInItsBankNeitherMergesNorAnswersReads) {
  const std::uint32_t slot = add(filled_write(kWrittenLine, 1));
  EXPECT_EQ(writes.merge_candidate(filled_write(kWrittenLine, 2)), slot);
  EXPECT_TRUE(writes.whole_line_waits(kWrittenLine));
  writes[slot].state = WriteState::kWriting;
  EXPECT_EQ(writes.merge_candidate(filled_write(kWrittenLine, 2)), kNoSlot);
  EXPECT_FALSE(writes.whole_line_waits(kWrittenLine));
  std::uint64_t number = 0;
  EXPECT_FALSE(writes.find(kWrittenLine, WriteKind::kData, number));
}

TEST_F(PendingWritesTest, AcceptedWritesApplyInTheOrderOfAcceptance) {
  const std::uint32_t late = add(filled_write(kWrittenLine, 1));
  accept(add(filled_write(kWrittenLine, 2)));
  accept(late);
  LineData data{};
  writes.apply_accepted(kWrittenLine, data);
  EXPECT_EQ(data[0], std::byte{1});
  writes.leave_accepted(late);
  writes.apply_accepted(kWrittenLine, data);
  EXPECT_EQ(data[0], std::byte{2});
}

TEST(Departures, EarlierDataThatArriveLaterAreOvertaken) {
  Departures departures;
  Write early = filled_write(kWrittenLine, 1), late = filled_write(kWrittenLine, 2);
  early.departure = departures.next();
  late.departure = departures.next();
  EXPECT_FALSE(departures.overtaken(late));
  EXPECT_TRUE(departures.overtaken(early));
  EXPECT_FALSE(departures.overtaken(filled_write(Line{6}, 1)));
  EXPECT_FALSE(departures.overtaken(filled_write(kWrittenLine, 3)));  // leaves when it arrives
  EXPECT_TRUE(departures.overtaken(late));
}

TEST(CoalescedAcknowledgements, AllSendersAreNotifiedOnce) {
  std::vector<int> notified(3);
  const auto sender = [&](std::uint64_t number) {
    return Completion{[](void* all, std::uint64_t which, Time) {
                        ++(*static_cast<std::vector<int>*>(all))[which];
                      },
                      &notified, number};
  };
  CoalescedAcknowledgements acknowledgements;
  std::uint32_t slot = kNoSlot;
  Completion persisted = sender(0);
  acknowledgements.add(slot, persisted, sender(1));
  acknowledgements.add(slot, persisted, {});
  acknowledgements.add(slot, persisted, sender(2));
  EXPECT_EQ(notified, (std::vector<int>{0, 0, 0}));
  persisted(Time{});
  EXPECT_EQ(notified, (std::vector<int>{1, 1, 1}));
}

}  // namespace
}  // namespace pmemsim
