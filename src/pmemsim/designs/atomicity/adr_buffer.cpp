#include "pmemsim/designs/atomicity/adr_buffer.hpp"

namespace pmemsim {

AdrBuffer::AdrBuffer(Backend& pm, std::uint32_t channels, std::uint32_t header_lines,
                     bool from_controllers, Completion space_freed)
    : HeaderBuffer(channels),
      pm_(pm),
      header_lines_(header_lines),
      from_controllers_(from_controllers),
      space_freed_(space_freed),
      awaited_(channels) {}

void AdrBuffer::occupy(std::uint32_t channel) {
  for (std::uint32_t line = 0; line < header_lines_; ++line) pm_.reserve(channel);
}

// Rules 2 and 3 (adr_buffer.hpp).
void AdrBuffer::vacate(std::uint32_t channel) {
  for (std::uint32_t line = 0; line < header_lines_; ++line) pm_.release(channel);
}

void AdrBuffer::await_space(std::uint32_t channel) {
  if (awaited_[channel]) return;
  awaited_[channel] = true;
  pm_.await_entry(channel, completion<&AdrBuffer::entry_free>(*this, channel));
}

void AdrBuffer::entry_free(std::uint64_t channel, Time now) {
  awaited_[channel] = false;
  space_freed_(now);
}

}  // namespace pmemsim
