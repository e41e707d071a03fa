#include "pmemsim/designs/backend/passing_reads.hpp"

namespace pmemsim {

PassingReads::PassingReads(EventQueue& queue, Memory& pm, const BackendParts& parts)
    : queue_(queue), pm_(pm), parts_(parts) {
  for (const auto& operation : parts.operations) after_read_ += operation->traits().after_read;
}

void PassingReads::read(Line line, Completion done) {
  const std::uint32_t slot = reads_.take();
  reads_[slot] = {line, done, 1, {}};
  const Completion known = completion<&PassingReads::located>(*this, slot);
  for (const auto& operation : parts_.operations) {
    reads_[slot].unanswered += !operation->locate(line, known);
  }
  located(slot, queue_.now());
}

void PassingReads::located(std::uint64_t number, Time) {
  const auto slot = static_cast<std::uint32_t>(number);
  Reading& reading = reads_[slot];
  if (--reading.unanswered > 0) return;
  reading.unanswered = 1;
  const Completion done = completion<&PassingReads::answered>(*this, slot);
  for (const auto& operation : parts_.operations) {
    reads_[slot].unanswered += !operation->read(reading.line, done);
  }
  pm_.read(parts_.place(reading.line), completion<&PassingReads::arrived>(*this, slot));
}

void PassingReads::arrived(std::uint64_t slot, Time now) {
  reads_[static_cast<std::uint32_t>(slot)].arrived = now;
  if (after_read_ == Picoseconds{}) return answered(slot, now);
  queue_.schedule(now + after_read_, Phase::kController,
                  completion<&PassingReads::answered>(*this, slot));
}

void PassingReads::answered(std::uint64_t number, Time now) {
  const auto slot = static_cast<std::uint32_t>(number);
  if (--reads_[slot].unanswered > 0) return;
  const Completion done = reads_[slot].done;
  if (waits_ != nullptr) waits_->read_decoded(reads_[slot].line, now - reads_[slot].arrived);
  reads_.release(slot);
  if (done) done(now);
}

}  // namespace pmemsim
