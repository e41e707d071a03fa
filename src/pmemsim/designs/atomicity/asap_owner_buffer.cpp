#include "pmemsim/designs/atomicity/asap_owner_buffer.hpp"

namespace pmemsim {
namespace {

// Returns the DRAM location of an evicted line's owner, beyond all addresses that a program can
// have. The paper leaves the organisation of its "small buffer" open: here the line's number is the
// index, and an entry has 8 bytes (a tag and the RID's 4).
Line buffer_line(Line line) {
  constexpr std::uint64_t kBase = std::uint64_t{1} << 54, kEntries = 1u << 16, kEntryBytes = 8;
  return Line::of(kBase + line.number % kEntries * kEntryBytes);
}

}  // namespace

void AsapOwnerBuffer::save(Line line) {
  filters_[context_->pm.channel_of(line)].insert(line);
  context_->dram.write({.line = buffer_line(line), .data = {}, .persisted = {}, .written = {}});
}

bool AsapOwnerBuffer::may_have(Line line) const {
  return filters_[context_->pm.channel_of(line)].contains(line);
}

void AsapOwnerBuffer::read_with_owner(Line line, Completion done) {
  const std::uint32_t slot = fetches_.take();
  fetches_[slot] = {done, 2};
  context_->dram.read(buffer_line(line), completion<&AsapOwnerBuffer::answered>(*this, slot));
  context_->pm.read(line, completion<&AsapOwnerBuffer::answered>(*this, slot));
}

void AsapOwnerBuffer::answered(std::uint64_t number, Time now) {
  const auto slot = static_cast<std::uint32_t>(number);
  if (--fetches_[slot].unanswered > 0) return;
  fetches_.release(slot);
  fetches_[slot].done(now);
}

// All Dependence Lists count: a line and its owner's entry may be in different channels.
void AsapOwnerBuffer::clear() {
  for (BloomFilter& filter : filters_) filter.clear();
}

}  // namespace pmemsim
