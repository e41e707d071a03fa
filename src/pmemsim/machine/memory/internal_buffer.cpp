#include "pmemsim/machine/memory/internal_buffer.hpp"

#include <algorithm>
#include <bit>

namespace pmemsim {

namespace {

bool buffered(const MemoryParameters& p) { return p.device == DeviceKind::kBuffered; }

}  // namespace

InternalBuffer::InternalBuffer(const MemoryParameters& p)
    : part_bits_(static_cast<unsigned>(std::countr_zero(p.internal_line.count / kLineBytes))),
      read_latency_(p.read_latency),
      read_interval_(p.media_read_interval),
      write_interval_(p.media_write_interval),
      read_after_write_latency_(p.read_after_write_latency),
      lines_of_wear_block_(p.wear_block.count / kLineBytes),
      most_wear_(p.wear_writes * (p.internal_line.count / kLineBytes)),
      wear_latency_(p.wear_latency),
      reads_(buffered(p) ? p.read_buffer_lines : 0),
      writes_(buffered(p) ? p.write_buffer_lines : 0) {}

Picoseconds InternalBuffer::read(Line line, Time now) {
  const std::uint64_t number = internal(line);
  const WrittenLine* written = find_written(number);
  if (written != nullptr && (written->parts & part(line)) != 0) {
    return max(written->readable - now, Picoseconds{0});
  }
  ReadLine* found = find_read(number);
  if (found == nullptr) {
    ++media_lines_read_;
    found = &reads_[oldest_read_];
    oldest_read_ = (oldest_read_ + 1) % reads_.size();
    *found = {number, use_media(now, read_interval_) + read_latency_};
  }
  return max(found->ready - now, Picoseconds{0});
}

void InternalBuffer::write(Line line, Time now) {
  const std::uint64_t number = internal(line);
  WrittenLine* found = find_written(number);
  if (found == nullptr) {
    if (written_ < writes_.size()) {
      found = &writes_[written_++];
    } else {
      found = &writes_[random_slot()];
      ++media_lines_written_;
      written_lines_.write({found->number});
      use_media(now, write_interval_);
    }
    *found = {number, 0, {}};
    if (ReadLine* read = find_read(number); read != nullptr) read->number = kNone;
  }
  found->parts |= part(line);
  found->readable = now + read_after_write_latency_;
  if (most_wear_ > 0) wear(line, now);
}

// Implements rule 6 (internal_buffer.hpp).
void InternalBuffer::wear(Line line, Time now) {
  std::uint64_t& written = wear_[line.number / lines_of_wear_block_];
  if (++written < most_wear_) return;
  written = 0;
  ++migrations_;
  use_media(now, wear_latency_);
}

InternalBuffer::ReadLine* InternalBuffer::find_read(std::uint64_t number) {
  const auto found = std::ranges::find(reads_, number, &ReadLine::number);
  return found == reads_.end() ? nullptr : &*found;
}

InternalBuffer::WrittenLine* InternalBuffer::find_written(std::uint64_t number) {
  const auto found = std::ranges::find(writes_, number, &WrittenLine::number);
  return found == writes_.end() ? nullptr : &*found;
}

// Implements rule 1 (internal_buffer.hpp). Returns the start of the operation.
Time InternalBuffer::use_media(Time now, Picoseconds interval) {
  const Time begin = max(now, media_free_);
  media_free_ = begin + interval;
  return begin;
}

// xorshift64*, so that every run draws the same numbers.
std::uint32_t InternalBuffer::random_slot() {
  random_ ^= random_ >> 12;
  random_ ^= random_ << 25;
  random_ ^= random_ >> 27;
  return static_cast<std::uint32_t>((random_ * 0x2545F4914F6CDD1Du >> 32) % writes_.size());
}

}  // namespace pmemsim
