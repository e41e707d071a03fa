#include "pmemsim/designs/atomicity/adr_buffer.hpp"

namespace pmemsim {

AdrBuffer::AdrBuffer(Backend& pm, std::uint32_t channels, std::uint32_t header_lines,
                     bool from_controllers, Completion space_freed)
    : pm_(pm),
      header_lines_(header_lines),
      from_controllers_(from_controllers),
      space_freed_(space_freed),
      complete_(channels),
      awaited_(channels) {}

void AdrBuffer::occupy(std::uint32_t channel) {
  for (std::uint32_t line = 0; line < header_lines_; ++line) pm_.reserve(channel);
}

// Rules 2 and 3 (adr_buffer.hpp).
void AdrBuffer::vacate(HeaderId header, std::uint32_t channel) {
  std::erase(complete_[channel], header);
  for (std::uint32_t line = 0; line < header_lines_; ++line) pm_.release(channel);
}

void AdrBuffer::complete(HeaderId header, std::uint32_t channel) {
  complete_[channel].push_back(header);
}

// Rule 3 (adr_buffer.hpp).
std::optional<HeaderId> AdrBuffer::spill(std::uint32_t channel) {
  std::deque<HeaderId>& headers = complete_[channel];
  if (headers.empty()) return {};
  const HeaderId oldest = headers.front();
  headers.pop_front();
  return oldest;
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
